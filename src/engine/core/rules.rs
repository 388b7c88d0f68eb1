//! The table's rules, and a stage left by a call.

use super::{Conditions, Context, Core, Note, Truth, stage_of};
use crate::engine::guard::Identities;
use crate::engine::mutant::{self, Mutant};
use crate::table::model::{Action, At, Next};
use crate::table::{RuleId, StageId};

impl<W: Identities> Core<W> {
    fn rule_applies(&self, cx: Context<'_>, rule: RuleId, tool: Option<&str>) -> bool {
        cx.table.rules.get(rule.index()).is_some_and(|r| {
            r.stage.is_none_or(|s| s == self.stage)
                && (r.tools.is_empty() || tool.is_some_and(|t| r.tools.iter().any(|p| p.matches(t))))
        })
    }

    /// The first `call` rule of a kind that holds. A condition that fails counts as true for `deny` and `ask`.
    pub(in crate::engine) fn call_rule(
        &mut self,
        cx: Context<'_>,
        tool: &str,
        conditions: &mut impl Conditions<W>,
        kind: impl Fn(&Action) -> bool,
    ) -> Option<RuleId> {
        let [at_call, ..] = &cx.table.rules_at;
        for rule in at_call {
            let wanted = cx.table.rules.get(rule.index()).is_some_and(|r| kind(&r.action));
            if !wanted || !self.rule_applies(cx, *rule, Some(tool)) {
                continue;
            }
            let only_hint = kind(&Action::Hint);
            match conditions.holds(self, *rule) {
                Truth::No => continue,
                Truth::Failed => {
                    self.notes.push(Note::RuleNoted(*rule, "its condition could not be evaluated"));
                    if only_hint {
                        continue;
                    }
                }
                Truth::Yes => {}
            }
            self.notes.push(Note::RuleFired(*rule));
            if !only_hint {
                return Some(*rule);
            }
        }
        None
    }

    /// Asks the rules of `result`, `reply` or `step`: hints add up, the first that acts is taken.
    pub fn ask_rules(&mut self, cx: Context<'_>, at: At, tool: Option<&str>, conditions: &mut impl Conditions<W>) {
        let Some(rules) = cx.table.rules_at.get(at as usize) else { return };
        for id in rules {
            let Some(rule) = cx.table.rules.get(id.index()) else { continue };
            if !self.rule_applies(cx, *id, tool) {
                continue;
            }
            match conditions.holds(self, *id) {
                Truth::No => continue,
                Truth::Failed => {
                    self.notes.push(Note::RuleNoted(*id, "its condition could not be evaluated"));
                    continue;
                }
                Truth::Yes => {}
            }
            if self.act(cx, *id, &rule.action, conditions) && !matches!(rule.action, Action::Hint) {
                return;
            }
        }
    }

    /// Takes a rule's action; `false` = it could not be taken (and that is noted).
    fn act(&mut self, cx: Context<'_>, id: RuleId, action: &Action, conditions: &mut impl Conditions<W>) -> bool {
        let refused = match action {
            Action::Hint | Action::Deny(_) | Action::Ask(_) => None,
            Action::Goto(stage) => self.goto(cx, *stage, id),
            Action::Set(_) => {
                for (fact, value) in conditions.values(self, id) {
                    match value {
                        Some(value) => self.set_fact(cx, fact, Some(value)),
                        None => self.notes.push(Note::RuleNoted(id, "a value could not be evaluated")),
                    }
                }
                None
            }
            Action::Extend(stage, steps) => self.extend(*stage, *steps, id),
            Action::End(completed) => {
                self.reply.end.get_or_insert((id, *completed));
                None
            }
            Action::Forget(keep) => {
                self.reply.forget = Some((*keep, id));
                None
            }
        };
        match refused {
            Some(why) => {
                self.notes.push(Note::RuleNoted(id, why));
                false
            }
            None => {
                self.notes.push(Note::RuleFired(id));
                if matches!(action, Action::Extend(..)) {
                    self.notes.push(Note::Extended(id));
                }
                true
            }
        }
    }

    fn goto(&mut self, cx: Context<'_>, stage: StageId, id: RuleId) -> Option<&'static str> {
        if self.reply.goto.is_some() {
            return Some("another rule sends the run elsewhere already");
        }
        if stage == self.stage {
            return Some("the run is in that stage already");
        }
        if self.left(cx.table, stage) == 0 && !mutant::on(Mutant::GotoIntoSpent) {
            return Some("that stage has no steps left");
        }
        self.reply.goto = Some((stage, id));
        None
    }

    fn extend(&mut self, stage: StageId, steps: u32, id: RuleId) -> Option<&'static str> {
        if self.extended.contains(&id) && !mutant::on(Mutant::UnboundedExtension) {
            return Some("it widened the budget already");
        }
        self.extended.push(id);
        if let Some(widened) = self.widened.get_mut(stage.index()) {
            *widened = widened.saturating_add(steps);
        }
        None
    }

    /// Moves the run to the stage that `next` leads to and that allows `tool`, if the stage may be left by a call.
    pub(super) fn move_by_call(&mut self, cx: Context<'_>, tool: &str) -> bool {
        let Some(stage) = self.stage_in(cx) else { return false };
        if !stage.leave_by.call || !self.missing(&stage.requires).is_empty() || cx.observe {
            return false;
        }
        // A rule sends the run elsewhere: a call that moved it there first could spend the steps the rule counts on.
        if self.reply.goto.is_some() {
            return false;
        }
        let from = self.stage;
        let mut passed = Vec::new();
        let mut next = stage.next;
        // A stage is passed at most once: the walk cannot be longer than the table.
        for _ in 0..cx.table.stages.len() {
            let to = match next {
                Next::End => return false,
                Next::Back => match self.origin(self.stage) {
                    Some(origin) => origin,
                    None => return false,
                },
                Next::Stage(to) => to,
            };
            let Some(stage) = stage_of(cx.table, to) else { return false };
            let spent = self.left(cx.table, to) == 0 && !mutant::on(Mutant::LeaveByCallIntoSpent);
            if !spent && !stage.allowed.is_none() {
                if stage.approval || !stage.allowed.allows(tool) {
                    return false;
                }
                self.reply.moved = true;
                // It has left by the call: what was said of leaving the stage before opens no gate of this one.
                self.reply.advance = false;
                self.set_stage(cx, to, from);
                self.notes.push(Note::Moved { from, passed, to });
                return true;
            }
            // Passed through: nothing can be called there, or nothing is left of it.
            if !self.missing(&stage.requires).is_empty() || (!spent && stage.approval) {
                return false;
            }
            if !spent {
                passed.push(to);
            }
            next = stage.next;
        }
        false
    }
}
