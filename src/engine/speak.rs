//! What is said to the model: the texts of the table, filled in.

use super::core::Because;
use super::frame::Frame;
use super::guard::{Guard, Telling};
use super::roster::Resolved;
use super::scene::{Names, base};
use super::verdict::Check;
use crate::table::messages::Message as Say;
use crate::table::model::{Allowed, Next, Stage};
use crate::table::script::Text;
use crate::table::{FactId, RuleId};
use minijinja::Value;

/// Sets our text apart from a tool's own; stands between the two, never inside.
pub const DELIMITER: &str = "\n\n[stagekeeper] ";
/// Most names of a list that are spelled out.
const MAX_NAMES: usize = 40;

/// `text` cut to `most` characters, with a mark where it was cut.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

/// The head and the tail of a text, `most` characters in all, with `between` where characters are left out.
#[must_use]
pub fn head_and_tail(text: &str, most: usize, between: impl FnOnce(usize, usize) -> String) -> String {
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    let head = most - most / 3;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    let (head_end, tail_start) = (at(head), at(chars - (most - head)));
    let (head, tail) = (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default());
    format!("{head}{}{tail}", between(chars - most, chars))
}

pub(super) fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).copied().collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Frame {
    pub(super) fn names(&self, more: Names) -> Value {
        let mut names = base(self.cx(), &self.core, &self.task);
        let products = self.products().map(|(stage, text)| (stage.to_owned(), Value::from(text)));
        names.push(("products", Value::from_pairs(products)));
        names.extend(more);
        Value::from_pairs(names)
    }

    pub(super) fn say(&self, say: Say, more: impl FnOnce() -> Names) -> String {
        match self.table.messages.get(say as usize) {
            Some(text) => self.table.scripts.render(text, || self.names(more())),
            None => String::new(),
        }
    }

    pub(super) fn text(&self, text: &Text) -> String {
        self.table.scripts.render(text, || self.names(Names::new()))
    }

    pub(super) fn system_prompt(&self) -> String {
        match &self.table.instructions {
            Some(own) => self.text(own),
            None => self.say(Say::Instructions, || {
                vec![
                    ("workflow", Value::from(&*self.table.workflow)),
                    ("about", self.table.about.as_deref().map_or(Value::from(()), Value::from)),
                ]
            }),
        }
    }

    fn here(&self) -> Option<&Stage> {
        self.core.stage_in(self.cx())
    }

    fn left(&self) -> Value {
        self.core.left(&self.table, self.core.stage).into()
    }

    pub(super) fn allowed(&self) -> String {
        match self.here().map(|s| &s.allowed) {
            Some(Allowed::All) => "all".into(),
            Some(Allowed::These { list, .. }) if !list.is_empty() => joined(list.iter().map(|p| p.as_str())),
            _ => "none".into(),
        }
    }

    pub(super) fn leave_text(&self) -> String {
        let Some(stage) = self.here() else { return String::new() };
        let next = match stage.next {
            Next::Stage(next) => Some(next),
            Next::Back => self.core.origin(self.core.stage),
            Next::End => None,
        };
        let by = stage.leave_by;
        let toolless = stage.is_final() && !by.answer && !by.advance;
        self.say(Say::Leave, || {
            vec![
                ("final", stage.is_final().into()),
                ("next", next.map_or(Value::from(()), |s| Value::from(&*self.stage_name(s)))),
                ("answer", (by.answer || toolless).into()),
                ("advance", by.advance.into()),
                ("call", by.call.into()),
            ]
        })
    }

    /// The message on entering the current stage.
    pub(super) fn stage_text(&self) -> String {
        let Some(stage) = self.here() else { return String::new() };
        let passed: Vec<Value> = self
            .passed
            .iter()
            .filter_map(|s| self.table.stages.get(s.index()))
            .map(|s| Value::from_pairs([("stage", s.name.to_string()), ("goal", self.text(&s.goal))]))
            .collect();
        self.say(Say::StageEntered, || {
            vec![
                ("number", (self.core.stage.index() + 1).into()),
                ("of", self.table.stages.len().into()),
                ("goal", self.text(&stage.goal).into()),
                ("tools", self.allowed().into()),
                ("steps", self.left()),
                ("leave", self.leave_text().into()),
                ("passed", passed.into()),
            ]
        })
    }

    pub(super) fn reasons(&self, requires: &[(FactId, Text)], missing: &[usize]) -> String {
        let said: Vec<String> =
            missing.iter().filter_map(|i| requires.get(*i)).map(|(_, text)| self.text(text)).collect();
        said.join("\n")
    }

    pub(super) fn stage_reasons(&self, missing: &[usize]) -> String {
        self.here().map(|s| self.reasons(&s.requires, missing)).unwrap_or_default()
    }

    /// A text of a rule, which may read the moment it fired at.
    pub(super) fn rule_text(&self, text: &Text, moment: &dyn Fn() -> Names) -> String {
        self.table.scripts.render(text, || self.names(moment()))
    }

    pub(super) fn rule_hint(&self, rule: RuleId, moment: &dyn Fn() -> Names) -> Option<String> {
        let hint = self.table.rules.get(rule.index())?.hint.as_ref()?;
        Some(self.rule_text(hint, moment))
    }

    /// What the model is told instead of running its call, and who objected by name.
    pub(super) fn refusal(
        &self,
        check: Check,
        because: &Because,
        tool: &str,
        resolved: &Resolved,
        why_malformed: &str,
        moment: &dyn Fn() -> Names,
    ) -> (Option<String>, String) {
        use super::roster::ADVANCE;
        let named = |more: Names| {
            let mut names: Names = vec![("tool", tool.into())];
            names.extend(more);
            names
        };
        let with_leave = || {
            named(vec![("allowed", self.allowed().into()), ("leave", self.leave_text().into()), ("left", self.left())])
        };
        let by_rule = |rule: &RuleId| Some(self.rule_name(*rule).to_string());
        match (check, because) {
            (Check::Ended, _) => (None, self.say(Say::RefusedEnded, || named(Names::new()))),
            (Check::Malformed, _) if why_malformed.is_empty() => {
                (None, self.say(Say::RefusedCut, || named(Names::new())))
            }
            (Check::Malformed, _) => {
                (None, self.say(Say::RefusedMalformed, || named(vec![("why", why_malformed.into())])))
            }
            (Check::UnknownTool, _) => {
                let near = match resolved {
                    Resolved::Unknown(near) => joined(near.iter().map(|n| &**n)),
                    _ => String::new(),
                };
                let said = self.say(Say::RefusedUnknown, || {
                    let mut names = with_leave();
                    names.push(("near", near.into()));
                    names
                });
                (None, said)
            }
            (Check::NotAllowed, _) => {
                let hint = self.here().and_then(|s| s.hints.iter().find(|(p, _)| p.matches(tool)));
                let hint = hint.map(|(_, text)| self.text(text)).unwrap_or_default();
                let reasons = self.here().map(|s| self.core.missing(&s.requires)).unwrap_or_default();
                let reasons = self.stage_reasons(&reasons);
                let elsewhere = self.table.stages.iter().filter(|s| s.allowed.allows(tool) && tool != ADVANCE);
                let elsewhere = joined(elsewhere.map(|s| &*s.name).take(5));
                let said = self.say(Say::RefusedNotAllowed, || {
                    let mut names = with_leave();
                    names.push(("hint", hint.into()));
                    names.push(("reasons", reasons.into()));
                    names.push(("elsewhere", elsewhere.into()));
                    names
                });
                (None, said)
            }
            (Check::Requires, Because::Missing(missing)) if tool == ADVANCE => {
                let reasons = self.stage_reasons(missing);
                (None, self.say(Say::RefusedAdvance, || vec![("reasons", reasons.into()), ("left", self.left())]))
            }
            (Check::Requires, Because::Missing(missing)) => {
                let requires = &self.roster.entry_by_name(&self.table, tool).requires;
                let reasons = self.reasons(requires, missing);
                let facts: Vec<&str> = missing
                    .iter()
                    .filter_map(|i| requires.get(*i))
                    .filter_map(|(fact, _)| self.table.facts.get(fact.index()))
                    .map(|f| &*f.name)
                    .collect();
                let said =
                    self.say(Say::RefusedRequires, || named(vec![("reasons", reasons.into()), ("left", self.left())]));
                (Some(facts.join(", ")), said)
            }
            (Check::Deny, Because::Rule(rule)) => {
                let reason = match self.table.rules.get(rule.index()).map(|r| &r.action) {
                    Some(crate::table::model::Action::Deny(text)) => self.rule_text(text, moment),
                    _ => String::new(),
                };
                let hint = self.rule_hint(*rule, moment);
                let mut said =
                    self.say(Say::RefusedDeny, || named(vec![("reason", reason.into()), ("left", self.left())]));
                if let Some(hint) = hint {
                    said = format!("{said}\n{hint}");
                }
                (by_rule(rule), said)
            }
            (_, Because::Limit(scope, limit)) if check == Check::MaxCalls => {
                let said = self.say(Say::RefusedMaxCalls, || {
                    let mut names = with_leave();
                    names.push(("scope", (*scope).into()));
                    names.push(("limit", (*limit).into()));
                    names
                });
                (Some((*scope).to_owned()), said)
            }
            (Check::Conservative, _) => {
                let proven = self.here().is_some_and(|s| s.guards.conservative.proven);
                let said = self.say(Say::RefusedConservative, || {
                    let mut names = with_leave();
                    names.push(("proven", proven.into()));
                    names
                });
                (None, said)
            }
            (Check::SameTool, _) => {
                let times = self.here().map_or(0, |s| s.guards.same_tool.in_a_row);
                (None, self.say(Say::RefusedSameTool, || named(vec![("times", times.into())])))
            }
            (_, Because::Above { by, reason, limit }) => {
                let said = self.say(Say::RefusedAbove, || {
                    let limit = limit.map_or(Value::from(()), Value::from);
                    named(vec![("reason", reason.as_str().into()), ("limit", limit), ("left", self.left())])
                });
                (Some(by.clone()), said)
            }
            (_, Because::TooDeep(deep)) => {
                let say = if check == Check::Reentry { Say::RefusedReentry } else { Say::RefusedDepth };
                let chain = super::recursion::arrows(&deep.chain);
                let said = self.say(say, || {
                    named(vec![("limit", deep.limit.into()), ("chain", chain.clone().into()), ("left", self.left())])
                });
                let by = if check == Check::Reentry { chain } else { deep.limit.to_string() };
                (Some(by), said)
            }
            (_, Because::Grant(grant)) => {
                let said = self.say(Say::RefusedGrant, || {
                    let mut names = with_leave();
                    names.push(("grant", (*grant).into()));
                    names
                });
                (None, said)
            }
            (_, Because::Withheld) => (None, self.say(Say::RefusedWithheld, || named(Names::new()))),
            (_, Because::Limit(_, limit)) => {
                (None, self.say(Say::RefusedCallsPerStep, || named(vec![("limit", (*limit).into())])))
            }
            (_, Because::Guard(guard, telling, _)) => {
                let say = match (guard, telling) {
                    (Guard::Cycle, _) => Say::RefusedCircle,
                    (_, Telling::FailsTheSame) => Say::RefusedFailsTheSame,
                    (_, Telling::Known) => Say::RefusedTwiceInReply,
                    _ => Say::RefusedRepeated,
                };
                (Some(guard.as_str().to_owned()), self.say(say, || named(Names::new())))
            }
            _ => (None, self.say(Say::RefusedApproval, || named(Names::new()))),
        }
    }

    /// What is said with a result.
    pub(super) fn telling(&self, telling: Telling, tool: &str, fails: u32) -> String {
        let say = match telling {
            Telling::Known | Telling::Repeated => Say::HintKnown,
            Telling::AlreadyDone => Say::HintAlreadyDone,
            Telling::SameResult | Telling::FailsTheSame => Say::HintSameResult,
            Telling::Circle => Say::HintCircle,
            Telling::NothingNew => Say::HintNothingNew,
            Telling::KeepsFailing => Say::HintKeepsFailing,
        };
        self.say(say, || vec![("tool", tool.into()), ("times", fails.into())])
    }
}
