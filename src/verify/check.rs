//! What is checked on every edge, said a second time and apart from the engine: if both are wrong, they must be wrong
//! in the same way.

use super::oracle::Chosen;
use super::plan::Plan;
use super::property::Property;
use super::state::Monitor;
use crate::engine::core::{Core, Judgement, Note, Proposed, Target, is_true, stage_of};
use crate::engine::guard::Identities;
use crate::engine::outcome::{LimitKind, Outcome};
use crate::engine::roster::ToolIdx;
use crate::engine::settle::{By, Move};
use crate::engine::verdict::Check;
use crate::table::model::{Action, At, Guarantee, Next, OnExhausted};
use crate::table::names::NamePattern;
use crate::table::{FactId, RuleId, StageId};

/// What an edge breaks.
pub type Broken = Vec<Property>;

/// Adds a property once.
pub fn note(broken: &mut Broken, holds: bool, property: Property) {
    if !holds && !broken.contains(&property) {
        broken.push(property);
    }
}

impl Plan {
    /// Steps are charged to the current stage, one a reply, and never given back; budgets widen as declared.
    pub fn check_steps<W>(&self, before: &Core<W>, after: &Core<W>, reply: bool, broken: &mut Broken) {
        let table = &self.table;
        let mut holds = after.steps == before.steps + u32::from(reply);
        for (at, (was, is)) in before.spent.iter().zip(&after.spent).enumerate() {
            let charged = reply && at == before.stage.index();
            holds &= *is == *was + u32::from(charged);
            let Some(stage) = table.stages.get(at) else { continue };
            let widened = after.widened.get(at).copied().unwrap_or(0);
            holds &= *is <= stage.budget() + widened;
            // Most stages are not widened, and need no look at the rules.
            let declared = || self.declared(StageId(u16::try_from(at).unwrap_or(u16::MAX)));
            holds &= widened == 0 || widened <= declared().saturating_add(after.granted);
        }
        note(broken, holds, Property::Ceiling);
    }

    /// Steps that rules may add to a stage.
    fn declared(&self, stage: StageId) -> u32 {
        let steps = |action: &Action| match action {
            Action::Extend(to, steps) if *to == stage => *steps,
            _ => 0,
        };
        self.table.rules.iter().map(|r| steps(&r.action)).sum()
    }

    /// What must hold of a reply that was just charged.
    pub fn check_begun<W: Identities>(&self, before: &Core<W>, after: &Core<W>, broken: &mut Broken) {
        let closing = before.closing.is_some() || self.on_last_step(before);
        note(broken, after.reply.closing == closing, Property::Closing);
    }

    /// The last step of a final stage: it is for the answer and nothing else may spend it.
    fn on_last_step<W: Identities>(&self, core: &Core<W>) -> bool {
        stage_of(&self.table, core.stage).is_some_and(|stage| {
            let elsewhere = matches!(stage.on_exhausted, OnExhausted::Stage(to) if self.steps_left(core, to) > 0);
            stage.next == Next::End && self.steps_left(core, core.stage) <= 1 && !elsewhere
        })
    }

    fn steps_left<W>(&self, core: &Core<W>, stage: StageId) -> u32 {
        let of = |list: &[u32]| list.get(stage.index()).copied().unwrap_or(0);
        let budget = stage_of(&self.table, stage).map_or(0, |s| s.budget());
        (budget + of(&core.widened)).saturating_sub(of(&core.spent))
    }

    /// A verdict, against what the table says of the call.
    pub fn check_judged<W: Identities>(
        &self,
        before: &Core<W>,
        core: &Core<W>,
        call: &Proposed,
        judgement: &Judgement,
        asked: &Chosen,
        broken: &mut Broken,
    ) {
        if before.reply.closing || before.reply.facts.declined {
            let ended = matches!(judgement, Judgement::Refuse(Check::Ended, _));
            return note(broken, ended, Property::InStage);
        }
        let runs = matches!(judgement, Judgement::Run | Judgement::Ask(_));
        let Some(Target::Tool(tool)) = call.what else {
            return note(broken, !runs, Property::InStage);
        };
        if !runs {
            return;
        }
        let name = self.roster.name(tool);
        let Some(stage) = stage_of(&self.table, core.stage) else { return };
        note(broken, call.identity.is_some() && stage.allowed.allows(&name), Property::InStage);
        let entry = self.roster.entry(&self.table, tool);
        note(broken, entry.requires.iter().all(|(fact, _)| has(before, *fact)), Property::Gates);
        let answer = |rule: RuleId| asked.iter().find(|(id, _)| *id == rule).map(|(_, holds)| *holds);
        for (at, rule) in self.table.rules.iter().enumerate() {
            let id = RuleId(u16::try_from(at).unwrap_or(u16::MAX));
            let applies = rule.at == At::Call
                && rule.stage.is_none_or(|s| s == core.stage)
                && (rule.tools.is_empty() || rule.tools.iter().any(|p| p.matches(&name)));
            match &rule.action {
                Action::Deny(_) if applies => note(broken, answer(id) == Some(false), Property::Gates),
                Action::Ask(_) if applies && *judgement == Judgement::Run => {
                    note(broken, answer(id) == Some(false), Property::Gates);
                }
                _ => {}
            }
        }
        note(broken, !entry.approval || matches!(judgement, Judgement::Ask(_)), Property::Gates);
        self.check_counts(core, tool, broken);
    }

    fn check_counts<W: Identities>(&self, core: &Core<W>, tool: ToolIdx, broken: &mut Broken) {
        let within = |n: u32, most: Option<u32>| most.is_none_or(|most| n <= most);
        let stage = stage_of(&self.table, core.stage);
        let in_stage = core.stage_calls.get(core.stage.index()).copied().unwrap_or(0);
        let counted = self.runs.get(tool.index()).copied().flatten();
        let holds = within(core.tool(tool).runs, counted)
            && within(in_stage, stage.and_then(|s| s.max_calls))
            && within(core.calls, self.table.limits.max_calls)
            && core.reply.running <= self.table.limits.calls_per_step;
        note(broken, holds, Property::Calls);
    }

    /// A call starts: what the guarantees say of it. `before`: the core that judged it, before this reply's results.
    pub fn check_start<W: Identities>(
        &self,
        before: &Core<W>,
        stage: StageId,
        tool: ToolIdx,
        monitor: &mut Monitor,
        broken: &mut Broken,
    ) {
        let name = self.roster.name(tool);
        for (at, guarantee) in self.table.guarantees.iter().enumerate() {
            // With a nested run start all calls it could make.
            let calls =
                |pattern: &NamePattern| u32::from(pattern.matches(&name)).saturating_add(self.calls_below(tool, at));
            let holds = match guarantee {
                Guarantee::Never { tool, before: first } if calls(tool) > 0 => {
                    let mut awaited =
                        before.tools.iter().enumerate().filter(|(t, _)| {
                            u16::try_from(*t).is_ok_and(|t| first.matches(&self.roster.name(ToolIdx(t))))
                        });
                    awaited.any(|(_, state)| state.succeeded)
                }
                Guarantee::AtMost { tool, times } => {
                    let Some(count) = monitor.counts.get_mut(at) else { continue };
                    *count = count.saturating_add(calls(tool)).min(times.saturating_add(1));
                    *count <= *times
                }
                Guarantee::OnlyIn { tool, stage: only } if calls(tool) > 0 => stage == *only,
                _ => true,
            };
            note(broken, holds, Property::Guarantee(at));
        }
    }

    /// `within`.
    pub fn check_within<W>(&self, core: &Core<W>, broken: &mut Broken) {
        for (at, guarantee) in self.table.guarantees.iter().enumerate() {
            if let Guarantee::Within { steps, .. } = guarantee {
                // A bound that is not below the ceiling needs no counting.
                let most = steps.saturating_add(core.granted);
                let holds = self.steps.is_none() || core.steps <= most || *steps >= self.table.ceiling();
                note(broken, holds, Property::Guarantee(at));
            }
        }
    }

    /// Stages that were entered: each needs a step, and `reaches` may be fulfilled.
    pub fn entered<W>(&self, core: &Core<W>, moves: &[Move], monitor: &mut Monitor, broken: &mut Broken) {
        let notes = &core.notes;
        let to = notes.iter().filter_map(|n| if let Note::Moved { to, .. } = n { Some(to) } else { None });
        let by_move = moves.iter().filter_map(|m| if let Move::Entered(to, _) = m { Some(to) } else { None });
        let has_steps = to.chain(by_move).all(|to| self.steps_left(core, *to) > 0);
        note(broken, has_steps, Property::Ceiling);
        let mut enter = |stage: StageId| {
            for (guarantee, reached) in self.table.guarantees.iter().zip(&mut monitor.reached) {
                if let Guarantee::Reaches(stages) = guarantee {
                    *reached |= stages.contains(&stage);
                }
            }
        };
        for note in notes {
            if let Note::Moved { passed, to, .. } = note {
                passed.iter().chain([to]).for_each(|s| enter(*s));
            }
        }
        for step in moves {
            if let Move::Entered(stage, _) = step {
                enter(*stage);
            }
        }
    }

    /// How a settled reply moved the run. `before`: the reply with its last answer given, not settled.
    pub fn check_settled<W: Identities>(&self, before: &Core<W>, after: &Core<W>, moves: &[Move], broken: &mut Broken) {
        let Some(stage) = stage_of(&self.table, before.stage) else { return };
        let met = stage.requires.iter().all(|(fact, _)| has(before, *fact));
        let most = stage.guards.violations.max_rollbacks;
        let rolled = moves.iter().filter(|m| matches!(m, Move::RolledBack(..))).count();
        let in_limit = match rolled {
            0 => after.rollbacks == before.rollbacks,
            1 => before.rollbacks < most && after.rollbacks == before.rollbacks + 1,
            _ => false,
        };
        note(broken, in_limit, Property::Rollbacks);
        let entered: Vec<By> =
            moves.iter().filter_map(|m| if let Move::Entered(_, by) = m { Some(*by) } else { None }).collect();
        note(broken, entered.len() <= 1, Property::Ends);
        for by in entered {
            let opens = match by {
                By::Answer | By::Advance => met,
                By::Exhausted => met || matches!(stage.on_exhausted, OnExhausted::Next | OnExhausted::Stage(_)),
                By::Guard(_) => met || matches!(stage.on_exhausted, OnExhausted::Stage(_)),
                _ => true,
            };
            note(broken, opens, Property::Gates);
        }
        if before.reply.closing {
            note(broken, after.life.is_ended(), Property::Ends);
        }
        if let Some(outcome) = after.life.outcome().filter(|_| after.life.is_ended()) {
            self.check_end(before, outcome, met, broken);
        }
    }

    fn check_end<W: Identities>(&self, before: &Core<W>, outcome: Outcome, met: bool, broken: &mut Broken) {
        let forced = matches!(outcome, Outcome::Exhausted | Outcome::Looped | Outcome::Violations);
        if forced && !before.reply.closing {
            // Nobody was asked for the answer: only if no step was left for it.
            note(broken, self.last_left(before) == 0, Property::Closing);
        }
        let by_rule = before.reply.end.is_some_and(|(_, completed)| completed);
        if outcome == Outcome::Completed && !by_rule {
            note(broken, met, Property::Gates);
        }
    }

    /// Steps left in the final stage that `next` leads to.
    fn last_left<W: Identities>(&self, core: &Core<W>) -> u32 {
        let mut at = core.stage;
        for _ in 0..=self.table.stages.len() {
            let Some(stage) = stage_of(&self.table, at) else { return 0 };
            at = match stage.next {
                Next::End => return self.steps_left(core, at),
                Next::Stage(to) => to,
                Next::Back => match core.came_from.iter().find(|(aside, _)| *aside == at) {
                    Some((_, from)) => *from,
                    None => return 0,
                },
            };
        }
        0
    }

    /// The end of a run: what it should have reached.
    pub fn check_reached<W: Identities>(&self, core: &Core<W>, monitor: &Monitor, broken: &mut Broken) {
        let outcome = core.life.outcome();
        let from_outside = core.closing.as_ref().and_then(|c| c.limit).is_some_and(|(kind, ..)| {
            matches!(kind, LimitKind::Tokens | LimitKind::Cost | LimitKind::Time | LimitKind::UserTurns)
        });
        if from_outside || matches!(outcome, Some(Outcome::Declined | Outcome::ContextOverflow)) {
            return;
        }
        for (at, guarantee) in self.table.guarantees.iter().enumerate() {
            if matches!(guarantee, Guarantee::Reaches(_)) {
                let reached = monitor.reached.get(at).copied().unwrap_or(false);
                note(broken, reached, Property::Guarantee(at));
            }
        }
    }
}

fn has<W>(core: &Core<W>, fact: FactId) -> bool {
    core.facts.get(fact.index()).is_some_and(|v| v.as_ref().is_some_and(is_true))
}
