//! How a call came out: guards, facts, rules.

use super::{Conditions, Context, Core, Note};
use crate::engine::guard::{Done, Fired, Guard, Identities, Noted, Seen, Then, errors};
use crate::engine::mutant::{self, Mutant};
use crate::engine::past::Ran;
use crate::engine::roster::ToolIdx;
use crate::table::FactId;
use crate::table::model::{At, Effect, Keep, Mode};
use serde_json::Value;

/// Most values of a fact with `keep: all`.
pub const MAX_FACT_VALUES: usize = 1_000;

impl<W: Identities> Core<W> {
    /// Notes a failure of `tool`; returns what the `errors` guard says.
    pub(super) fn failed(&mut self, cx: Context<'_>, tool: ToolIdx) -> Option<Fired> {
        let guard = self.stage_in(cx)?.guards.errors;
        if guard.mode == Mode::Off {
            return None;
        }
        let (telling, then) = errors::note(&mut self.tool_mut(tool)?.fails, guard);
        if telling.is_none() && then == Then::Nothing {
            return None;
        }
        let observed = guard.mode == Mode::Observe || cx.observe;
        if !observed {
            self.wants(Guard::Errors, then, cx);
        }
        Some(Fired { guard: Guard::Errors, telling, then, observed })
    }

    /// Notes how a call came out: guards, facts, then the `result` rules. Returns what is said with the result.
    pub fn finish(
        &mut self,
        cx: Context<'_>,
        call: (&Seen, ToolIdx),
        done: &Done,
        learned: Vec<(FactId, Option<Value>)>,
        ran: Option<Ran>,
        conditions: &mut impl Conditions<W>,
    ) -> Noted {
        let (seen, tool) = call;
        let mut noted = self.note(cx, seen, done);
        if let Some(ran) = ran {
            self.past.ran(ran);
        }
        if mutant::on(Mutant::FailedCallsRefunded)
            && done.failed
            && let Some(state) = self.tool_mut(tool)
        {
            state.runs = state.runs.saturating_sub(1);
        }
        if done.failed {
            noted.fired.extend(self.failed(cx, tool));
        } else if let Some(state) = self.tool_mut(tool) {
            state.fails = 0;
            state.succeeded = true;
            if seen.effect == Effect::Write {
                self.tools.iter_mut().for_each(|t| t.fails = 0);
            }
        }
        self.clear_facts(cx, tool, done);
        for (fact, value) in learned {
            self.set_fact(cx, fact, value);
        }
        let name = cx.roster.name(tool);
        if !self.reply.closing {
            self.ask_rules(cx, At::Result, Some(&name), conditions);
        }
        noted
    }

    /// Notes an answer from memory for the guards.
    pub fn note(&mut self, cx: Context<'_>, seen: &Seen, done: &Done) -> Noted {
        let Some(stage) = self.stage_in(cx) else { return Noted::default() };
        let mut noted = self.watch.note(seen, done, &stage.guards);
        for fired in &mut noted.fired {
            fired.observed |= cx.observe;
            if !fired.observed {
                self.wants(fired.guard, fired.then, cx);
            }
        }
        noted
    }

    pub(super) fn wants(&mut self, guard: Guard, then: Then, cx: Context<'_>) {
        if then > self.reply.then && !cx.observe {
            self.reply.then = then;
            self.reply.then_by = Some(guard);
        }
    }

    fn clear_facts(&mut self, cx: Context<'_>, tool: ToolIdx, done: &Done) {
        if !done.failed || done.unknown {
            self.cleared_by(cx, &cx.roster.name(tool));
        }
    }

    /// Unsets the facts that a call of the tool unsets, here or in a run nested in this one.
    pub(in crate::engine) fn cleared_by(&mut self, cx: Context<'_>, name: &str) {
        for (i, decl) in cx.table.facts.iter().enumerate() {
            if decl.cleared_by.iter().any(|p| p.matches(name))
                && let Some(fact) = self.facts.get_mut(i)
                && fact.take().is_some()
            {
                self.notes.push(Note::FactCleared(FactId(u16::try_from(i).unwrap_or(u16::MAX))));
            }
        }
    }

    /// Gives a fact a value as its `keep` says; `None` unsets it.
    pub fn set_fact(&mut self, cx: Context<'_>, fact: FactId, value: Option<Value>) {
        let keep = cx.table.facts.get(fact.index()).map(|f| f.keep).unwrap_or_default();
        let Some(kept) = self.facts.get_mut(fact.index()) else { return };
        let before = kept.clone();
        match (value, keep, kept.as_mut()) {
            (None, ..) => *kept = None,
            (Some(_), Keep::First, Some(_)) => {}
            (Some(value), Keep::All, Some(Value::Array(all))) => {
                if !all.contains(&value) && all.len() < MAX_FACT_VALUES {
                    all.push(value);
                }
            }
            (Some(value), Keep::All, _) => *kept = Some(Value::Array(vec![value])),
            (Some(value), ..) => *kept = Some(value),
        }
        if *kept != before {
            self.notes.push(if kept.is_some() { Note::FactSet(fact) } else { Note::FactCleared(fact) });
        }
    }
}
