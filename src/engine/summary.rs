//! The structured end of every run (design §12).

use super::outcome::{Limit, Outcome};
use indexmap::IndexMap;
use serde::Serialize;

/// Steps from a limit within which a run that still calls tools is near it.
pub const NEAR: u32 = 3;

/// What was spent in one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageSpent {
    /// Its name.
    pub name: String,
    /// How often it was entered.
    pub entered: u32,
    /// Steps charged to it.
    pub steps: u32,
    /// Its budget, extensions included.
    pub budget: u32,
}

/// What became of the calls of one tool. `proposed` = `run` + `reused` + `refused`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ToolCounts {
    /// Proposed by the model.
    pub proposed: u32,
    /// Run.
    pub run: u32,
    /// Answered from memory.
    pub reused: u32,
    /// Refused.
    pub refused: u32,
    /// Of those run: failed.
    pub failed: u32,
}

/// A write that stands after a rollback or an end without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The tool.
    pub tool: String,
    /// Its arguments as raw text.
    pub args: String,
}

/// Tokens of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Tokens {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// What a run and all its nested runs took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Tree {
    /// Replies of the model.
    pub steps: u64,
    /// Replies no run of the table can exceed with all its nested runs.
    pub ceiling: u64,
    /// Calls judged *run*, those of nested runs included.
    pub calls: u32,
}

/// The end of a run, or where it stands. Keys in this order in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The run's id; empty when the host gave none.
    pub run: String,
    /// The table's name.
    pub workflow: String,
    /// How it ended; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// The limit that closed it.
    pub limit: Option<Limit>,
    /// The current or last stage.
    pub stage: String,
    /// Steps charged.
    pub steps: u32,
    /// Steps no run of this table can exceed.
    pub ceiling: u32,
    /// By stage, in file order.
    pub stages: Vec<StageSpent>,
    /// By tool, in order of first appearance.
    pub tools: IndexMap<String, ToolCounts>,
    /// Violations, in calls.
    pub violations: u32,
    /// Rollbacks.
    pub rollbacks: u32,
    /// Writes that stand although the run did not complete.
    pub not_undone: Vec<Standing>,
    /// Tokens.
    pub tokens: Tokens,
    /// The answer.
    pub text: String,
    /// What was done, from the trace.
    pub digest: String,
    /// Whether asking again may help (`provider_error`, `cancelled`, `awaiting_*`).
    pub retryable: bool,
    /// The run with all its nested runs.
    pub tree: Tree,
}
