//! One state of a proof: the engine's core, the reply under way, and what the guarantees remember.

use super::oracle::Chosen;
use crate::engine::core::{Core, Proposed};
use crate::engine::guard::{Identities, Seen};
use crate::engine::past::Past;
use crate::engine::roster::ToolIdx;
use crate::table::{FactId, RuleId, StageId};
use serde_json::Value;

/// How far the reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No reply is under way.
    Idle,
    /// Calls of a reply are judged, one at a time.
    Judging,
    /// All are judged; the results come, in the model's order. Only where results are kept waiting.
    Answering,
}

/// A call that is judged and not answered, where results are kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pending {
    /// The call.
    pub call: Proposed,
    /// Its tool.
    pub tool: ToolIdx,
    /// The stage it was judged in.
    pub stage: StageId,
    /// What the guards know of it.
    pub seen: Seen,
    /// It runs, waits for a person, or is answered from memory with this result.
    pub how: How,
}

/// What a pending call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Its result.
    Running,
    /// A person.
    Asked,
    /// Nothing: an earlier result is used.
    Memory,
}

/// What the results given so far have changed. Judging must not see it, since the engine judges all calls of a reply
/// before any of them is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Late<W> {
    pub tools: Vec<(u32, bool)>,
    pub facts: Vec<Option<Value>>,
    pub extended: Vec<RuleId>,
    pub widened: Vec<u32>,
    pub past: Past,
    pub watch: W,
}

impl<W: Identities> Late<W> {
    /// The part of a core that results change.
    pub fn of(core: &Core<W>) -> Self {
        Self {
            tools: core.tools.iter().map(|t| (t.fails, t.succeeded)).collect(),
            facts: core.facts.clone(),
            extended: core.extended.clone(),
            widened: core.widened.clone(),
            past: core.past.clone(),
            watch: core.watch.clone(),
        }
    }

    /// Whether a core holds the same already.
    pub fn is_in(&self, core: &Core<W>) -> bool {
        let Self { tools, facts, extended, widened, past, watch } = self;
        core.tools.iter().map(|t| (t.fails, t.succeeded)).eq(tools.iter().copied())
            && core.facts == *facts
            && core.extended == *extended
            && core.widened == *widened
            && core.past == *past
            && core.watch == *watch
    }

    /// Puts it into a core.
    pub fn lay_over(&self, core: &mut Core<W>) {
        if core.tools.len() < self.tools.len() {
            core.tools.resize(self.tools.len(), crate::engine::core::ToolState::default());
        }
        for (tool, (fails, succeeded)) in core.tools.iter_mut().zip(&self.tools) {
            (tool.fails, tool.succeeded) = (*fails, *succeeded);
        }
        core.facts.clone_from(&self.facts);
        core.extended.clone_from(&self.extended);
        core.widened.clone_from(&self.widened);
        core.past.clone_from(&self.past);
        core.watch.clone_from(&self.watch);
    }
}

/// What the guarantees remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Monitor {
    /// By guarantee: `reaches` is fulfilled.
    pub reached: Vec<bool>,
    /// By guarantee: calls that `at_most` counts, up to one too many.
    pub counts: Vec<u32>,
    /// Decisions of people since the last reply that moved the run.
    pub waits: u32,
    /// Grants of steps so far.
    pub grants: u32,
}

/// Consequences that the oracle may still choose: which call of the reply they come with makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mays {
    pub roll_back: bool,
    pub leave: bool,
    pub close: bool,
    /// Nested runs of the reply may use up calls of the run.
    pub nested: bool,
}

/// One state.
#[derive(Clone, Debug)]
pub struct State<W> {
    pub core: Core<W>,
    pub phase: Phase,
    /// `None`: as in `core`.
    pub late: Option<Box<Late<W>>>,
    /// Calls whose results wait.
    pub queue: Vec<Pending>,
    /// The stage in which this reply's results are applied.
    pub aim: StageId,
    /// A person said no in this reply, and to calls of which tools, judged where (as far as they are counted).
    pub refused: bool,
    pub given_back: Vec<(ToolIdx, StageId)>,
    pub monitor: Monitor,
    /// What the guards may want by now, were they asked (see [`Mays`]); chosen when the reply is settled.
    pub may: Mays,
    /// Conditions that are fixed by now.
    pub fixed: Chosen,
    /// Calls of this reply.
    pub calls: u8,
}

/// What happens on an edge: enough to tell it, and to write it down as a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    pub what: What,
    /// Conditions that were asked on the way and how they came out.
    pub asked: Chosen,
}

/// See [`Act`].
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The run begins; the task holds these facts.
    Start(Vec<FactId>),
    /// A reply of the model; where it holds no calls it is settled at once.
    Reply(Shape),
    /// A call in the reply.
    Call {
        /// The tool; `None` = a made-up name.
        tool: Option<ToolIdx>,
        /// Which of its different calls.
        identity: u8,
        malformed: bool,
        /// Who answered and how; `None` = it was refused, or its result waits.
        came_to: Option<CameTo>,
        person: Option<Person>,
        /// The guards objected, as far as they were free to.
        objected: bool,
    },
    /// The control tool.
    Advance,
    /// A result that waited.
    Result { tool: ToolIdx, came_to: CameTo, person: Option<Person> },
    /// The reply's calls are all answered. `true`: one more of them was of a tool that does not exist.
    Settle(bool),
    /// The user says something; `true` = once too often.
    User(Vec<FactId>, bool),
    /// The host sets a fact, or unsets it.
    Host(FactId, bool),
    /// The run's time is used up.
    Time,
    /// The caller cancels.
    Cancel,
    /// The model cannot be reached.
    Fails,
    /// The view does not fit, again.
    Overflow,
    /// A person admits the run to a stage, or not.
    Admit(bool),
    /// A person gives a stage so many steps.
    Grant(StageId, u32),
}

/// A reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub text: bool,
    pub calls: bool,
    pub cut: bool,
    pub declined: bool,
    pub marker: Option<bool>,
    /// This reply uses up the run's tokens, or its money.
    pub uses_up: Option<Outside>,
}

/// A limit that is used up from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    Tokens,
    Cost,
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CameTo {
    pub failed: bool,
    pub unknown: bool,
    /// Which of two different results; read only by the exact guards.
    pub print: u8,
    pub learned: Vec<FactId>,
    /// Facts that hold no more after it.
    pub lost: Vec<FactId>,
    /// The guards spoke, as far as they were free to.
    pub fired: bool,
    pub from_memory: bool,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    Yes,
    No,
    /// Nobody answers: the run is cancelled, or the next reply comes first.
    Silent,
}
