//! What bounds a nested run: the chain it stands in, the steps it is given, and what is left of every limit above.

use super::core::{Because, Context, Core, Judgement};
use super::guard::Identities;
use super::outcome::LimitKind;
use super::recursion::{self, Kind};
use super::roster::ToolIdx;
use super::verdict::Check;
use crate::table::model::{NestedRun, Spend, Stage};
use crate::table::{Model, Name};

/// Steps a nested run needs at least: one to look, one to answer.
pub const LEAST_GRANT: u32 = 2;

/// What the runs above leave to a nested one. Fixed when it opens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The functions it stands inside, the outermost first.
    pub chain: Vec<Name>,
    /// How deep these may nest.
    pub recursion: recursion::Limits,
    /// Steps it may spend, the last of them on its answer; `None` = those of its own table.
    pub steps: Option<u32>,
    /// Calls of one reply that may run.
    pub calls_per_step: u32,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Cost, in millionths.
    pub cost_micros: Option<u64>,
    /// Time, in milliseconds.
    pub time_ms: Option<u64>,
    /// Whether a run above counts the time a person takes.
    pub waiting_counts: bool,
    /// Messages of the user.
    pub user_turns: u32,
}

impl<W: Identities> Core<W> {
    /// Steps left of a nested run's grant.
    pub(super) fn granted_left(&self) -> Option<u32> {
        Some(self.bound.as_ref()?.steps?.saturating_sub(self.steps))
    }

    /// Steps left in the whole run.
    #[must_use]
    pub fn run_left(&self, table: &Model) -> u32 {
        let own = table.ceiling().saturating_add(self.granted).saturating_sub(self.steps);
        self.granted_left().map_or(own, |granted| own.min(granted))
    }

    /// Steps that each of `among` nested runs of one reply can be given: those left in the stage, less the one that a
    /// final stage keeps for the answer.
    #[must_use]
    pub fn grant(&self, cx: Context<'_>, among: u32) -> u32 {
        let kept = u32::from(self.stage_in(cx).is_none_or(Stage::is_final));
        self.left(cx.table, self.stage).saturating_sub(kept) / among.max(1)
    }

    /// What this run leaves to a nested one that it opens; `steps` is the grant.
    #[must_use]
    pub fn bound_of(&self, cx: Context<'_>, name: &Name, steps: Option<u32>, timeout_ms: Option<u64>) -> Bound {
        let (limits, above) = (&cx.table.limits, self.bound.as_deref());
        let rest =
            |own: Option<u64>, above: Option<u64>, used: u64| least(own, above).map(|most| most.saturating_sub(used));
        let mut chain = above.map(|b| b.chain.clone()).unwrap_or_default();
        chain.push(name.clone());
        Bound {
            chain,
            recursion: self.recursion(cx),
            steps,
            calls_per_step: self.calls_per_step(cx),
            tokens: rest(limits.max_tokens, above.and_then(|b| b.tokens), self.tokens.0.saturating_add(self.tokens.1)),
            cost_micros: rest(limits.max_cost_micros, above.and_then(|b| b.cost_micros), self.cost_micros),
            time_ms: least(rest(limits.max_time_ms, above.and_then(|b| b.time_ms), self.time_ms), timeout_ms),
            waiting_counts: limits.waiting_counts || above.is_some_and(|b| b.waiting_counts),
            user_turns: self.most_user_turns(cx).saturating_sub(self.user_turns),
        }
    }

    /// A nested run ended; `steps` of this run's it has spent.
    pub fn nested_done<V>(&mut self, nested: &Core<V>, steps: u32) {
        self.steps = self.steps.saturating_add(steps);
        if let Some(spent) = self.spent.get_mut(self.stage.index()) {
            *spent = spent.saturating_add(steps);
        }
        self.tokens.0 = self.tokens.0.saturating_add(nested.tokens.0);
        self.tokens.1 = self.tokens.1.saturating_add(nested.tokens.1);
        self.cost_micros = self.cost_micros.saturating_add(nested.cost_micros);
        self.user_turns = self.user_turns.saturating_add(nested.user_turns);
    }

    /// A call of `tool` runs in a nested run, or after all does not: it counts towards `max_calls` here.
    pub fn ran_below(&mut self, tool: ToolIdx, runs: bool) {
        let count = |n: &mut u32| *n = if runs { n.saturating_add(1) } else { n.saturating_sub(1) };
        count(&mut self.calls);
        self.stage_calls.get_mut(self.stage.index()).map(count);
        self.tool_mut(tool).map(|t| &mut t.runs).map(count);
    }

    pub(super) fn recursion(&self, cx: Context<'_>) -> recursion::Limits {
        let own = recursion::Limits { depth: cx.table.limits.depth, reentry: cx.table.limits.reentry };
        self.bound.as_ref().map_or(own, |b| own.narrowed(b.recursion))
    }

    pub(super) fn calls_per_step(&self, cx: Context<'_>) -> u32 {
        let own = cx.table.limits.calls_per_step;
        self.bound.as_ref().map_or(own, |b| own.min(b.calls_per_step))
    }

    pub(super) fn most_user_turns(&self, cx: Context<'_>) -> u32 {
        let own = cx.table.limits.user_turns;
        self.bound.as_ref().map_or(own, |b| own.min(b.user_turns))
    }

    /// A nested run keeps the last step of its grant for its answer. In a final stage that is its last step anyway.
    pub(super) fn used_grant(&self, cx: Context<'_>) -> Option<(LimitKind, u64, u64)> {
        let grant = self.bound.as_ref()?.steps?;
        let ends_here = self.stage_in(cx).is_none_or(Stage::is_final);
        (!ends_here && self.steps.saturating_add(1) >= grant).then_some((
            LimitKind::Run,
            self.steps.into(),
            grant.into(),
        ))
    }

    /// Depth, re-entry, and whether there are steps enough to give.
    pub(super) fn may_nest(&self, cx: Context<'_>, nested: &NestedRun, name: &str) -> Result<(), Judgement> {
        let chain = self.bound.as_ref().map(|b| &b.chain[..]).unwrap_or_default();
        if let Err(deep) = self.recursion(cx).check(chain.iter(), name) {
            let check = if deep.kind == Kind::Reentry { Check::Reentry } else { Check::Depth };
            return Err(Judgement::Refuse(check, Because::TooDeep(Box::new(deep))));
        }
        let grant = match nested.spend {
            _ if self.used_limit(cx).is_some() => 0,
            Spend::Parent => self.grant(cx, self.reply.nested + 1),
            Spend::Own => return Ok(()),
        };
        if grant < LEAST_GRANT {
            return Err(Judgement::Refuse(Check::Grant, Because::Grant(grant)));
        }
        Ok(())
    }
}

/// The smaller of two limits that may be missing.
pub(super) fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
