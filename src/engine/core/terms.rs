//! What goes into a decision and what comes out of it, in the core's own terms.

use super::Core;
use crate::engine::args::Identity;
use crate::engine::guard::{Guard, Telling, Then};
use crate::engine::input::{CallNo, Usage};
use crate::engine::outcome::{LimitKind, Outcome};
use crate::engine::recursion::TooDeep;
use crate::engine::roster::{Roster, ToolIdx};
use crate::engine::verdict::Check;
use crate::table::{FactId, Model, RuleId, StageId};
use serde_json::Value;

/// What does not change during a run.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The table.
    pub table: &'a Model,
    /// The tools.
    pub roster: &'a Roster,
    /// Judge and record everything, refuse nothing.
    pub observe: bool,
}

/// How a condition came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// It could not be evaluated.
    Failed,
}

/// Who evaluates conditions: the session by the table's expressions, a proof by trying both.
pub trait Conditions<W> {
    /// Whether the rule's condition holds.
    fn holds(&mut self, core: &Core<W>, rule: RuleId) -> Truth;
    /// The values a `set` rule gives.
    fn values(&mut self, core: &Core<W>, rule: RuleId) -> Vec<(FactId, Option<Value>)>;
    /// A check of the public order is about to be made; what it sees may be taken down for `explain`.
    fn asks(&mut self, _core: &Core<W>, _check: Check) {}
    /// What the runs above this one say of a call of `tool` at a gate; nothing when this is the outermost.
    fn above(&mut self, gate: Gate, tool: &str) -> Option<(Check, Because)> {
        let _ = (gate, tool);
        None
    }
}

/// Where in the public order the runs above a nested one are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// With `requires` and the `deny` rules.
    Deny,
    /// With `max_calls`.
    MaxCalls,
    /// With `ask` rules and `approval`.
    Ask,
}

/// Something worth an event, said by the core in its own terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A rule acted.
    RuleFired(RuleId),
    /// A rule's action was not taken, or its condition failed.
    RuleNoted(RuleId, &'static str),
    /// A rule widened a budget.
    Extended(RuleId),
    /// A fact got a value.
    FactSet(FactId),
    /// A fact was unset.
    FactCleared(FactId),
    /// A guard spoke; `true` = observed only.
    GuardFired(Guard, &'static str, bool),
    /// A call that only a later stage allows moved the run there, past the stages between.
    Moved {
        /// The stage left.
        from: StageId,
        /// Stages without tools on the way.
        passed: Vec<StageId>,
        /// The stage entered.
        to: StageId,
    },
}

/// A call as the core judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Proposed {
    /// The engine's number.
    pub no: CallNo,
    /// What the name means; `None` = unknown.
    pub what: Option<Target>,
    /// Its identity; `None` = malformed or cut short.
    pub identity: Option<Identity>,
}

/// What a call is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A tool.
    Tool(ToolIdx),
    /// The control tool.
    Advance,
}

/// Why exactly a check objected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    /// The check says it all.
    Itself,
    /// These requirements are missing (indices into the tool's or stage's `requires`).
    Missing(Vec<usize>),
    /// This rule.
    Rule(RuleId),
    /// `max_calls` of the tool, the stage or the run, with its number.
    Limit(&'static str, u32),
    /// An identity guard.
    Guard(Guard, Telling, Then),
    /// `batch: atomic`: another call of the reply would not run.
    Withheld,
    /// The function runs inside itself too often already.
    TooDeep(Box<TooDeep>),
    /// A nested run could be given so many steps only.
    Grant(u32),
    /// A run above objects.
    Above {
        /// The rule, the facts or the limit by name.
        by: String,
        /// Its own words, for a rule and for `requires`.
        reason: String,
        /// The limit, for `max_calls`.
        limit: Option<u32>,
    },
}

/// The core's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Judgement {
    /// Run it.
    Run,
    /// The control tool: the stage is left after this reply.
    Advance,
    /// Answer it with an earlier result.
    Reuse {
        /// Whose.
        of: CallNo,
        /// What is said with it.
        telling: Telling,
    },
    /// The same call stands earlier in this reply: it gets that one's answer.
    Share(CallNo),
    /// Not run.
    Refuse(Check, Because),
    /// A person must say yes.
    Ask(Because),
}

/// What is known of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolState {
    /// Calls judged *run*, failed or not.
    pub runs: u32,
    /// A call of it succeeded.
    pub succeeded: bool,
    /// Failures in a row.
    pub fails: u32,
}

/// Why the run is closing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closing {
    /// The outcome it will have.
    pub outcome: Outcome,
    /// The limit, its use and its size.
    pub limit: Option<(LimitKind, StageId, u64, u64)>,
}

/// What a reply is, as far as deciding goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplyFacts {
    /// It holds text.
    pub text: bool,
    /// It holds calls.
    pub calls: bool,
    /// It was cut short.
    pub cut: bool,
    /// The model declines.
    pub declined: bool,
    /// A failure marker stands in the window, or all success markers do.
    pub marker: Option<bool>,
    /// What it cost.
    pub usage: (u64, u64, u64),
}

impl ReplyFacts {
    /// With the cost of a reply.
    #[must_use]
    pub fn costing(mut self, usage: Usage) -> Self {
        self.usage = (usage.input, usage.output, usage.cost_micros);
        self
    }
}

/// The reply under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplyState {
    /// What it is.
    pub facts: ReplyFacts,
    /// It answers a closing request.
    pub closing: bool,
    /// It holds a violation.
    pub violation: bool,
    /// Calls that run or would, once the answer is yes.
    pub running: u32,
    /// Nested runs among them that spend the steps of this run.
    pub nested: u32,
    /// A call that may change the world is judged *run*.
    pub changing: bool,
    /// `batch: atomic` withholds what would run.
    pub withhold: bool,
    /// A call beyond the run's `max_calls` was refused.
    pub out_of_calls: bool,
    /// Identities judged *run* or *ask*, for repeats within the reply.
    pub seen: Vec<(Identity, CallNo)>,
    /// Facts that a call judged *run* in this reply unsets if it succeeds: to the calls after it they do not hold.
    pub unsure: Vec<FactId>,
    /// The run moved by a call.
    pub moved: bool,
    /// The model called `advance`.
    pub advance: bool,
    /// A rule ends the run.
    pub end: Option<(RuleId, bool)>,
    /// A rule sends the run elsewhere.
    pub goto: Option<(StageId, RuleId)>,
    /// What a guard wants.
    pub then: Then,
    /// Which.
    pub then_by: Option<Guard>,
    /// Results that stay in view.
    pub forget: Option<(u32, RuleId)>,
}
