//! The whole table.

use super::{Action, FactDecl, Rule, Stage, ToolEntry};
use crate::table::names::{Name, NamePattern, RuleId, StageId};
use crate::table::script::{Scripts, Text};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::sync::Arc;

/// A checked stage table. Cheap to clone; two runs of one table share it.
#[derive(Clone, Debug)]
pub struct StageTable(pub(crate) Arc<Model>);

impl std::ops::Deref for StageTable {
    type Target = Model;
    fn deref(&self) -> &Model {
        &self.0
    }
}

/// What a table says, with every default filled in.
#[derive(Debug)]
pub struct Model {
    pub(crate) workflow: Name,
    pub(crate) about: Option<String>,
    /// The system prompt; `None` = the default text `instructions`.
    pub(crate) instructions: Option<Text>,
    /// The catalogue in file order. Look up with [`Model::tool_entry`].
    pub(crate) tools: Vec<ToolEntry>,
    /// The exact names of the catalogue → index into `tools`.
    pub(crate) tool_index: HashMap<Box<str>, usize>,
    pub(crate) facts: Vec<FactDecl>,
    pub(crate) stages: Vec<Stage>,
    /// All rules: the table's, then each stage's.
    pub(crate) rules: Vec<Rule>,
    /// Rule ids by `at` (index `At as usize`), in the order they are asked.
    pub(crate) rules_at: [Vec<RuleId>; 4],
    pub(crate) finish: Option<Finish>,
    pub(crate) limits: Limits,
    pub(crate) guarantees: Vec<Guarantee>,
    pub(crate) expose: Expose,
    pub(crate) batch: Batch,
    /// Compiled conditions and texts.
    pub(crate) scripts: Scripts,
    /// What is said to the model, parallel to [`MESSAGES`](crate::table::messages::MESSAGES): defaults, or the table's own.
    pub(crate) messages: Vec<Text>,
    /// The tables of nested runs, by file; known to the outermost table only.
    pub(crate) nested: IndexMap<String, StageTable>,
    /// Where the table came from.
    pub(crate) source: Source,
    /// What `check` found that does not stop the load.
    pub(crate) warnings: Vec<crate::table::problem::Problem>,
}

/// The text a table was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file name shown in problems, or `<text>`.
    pub file: String,
    /// The table's text.
    pub text: String,
    /// Included files (`messages: { x: { from: FILE } }`, nested tables): name as written → text.
    pub included: IndexMap<String, String>,
}

/// Markers in texts that end the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    pub(crate) success: Vec<String>,
    pub(crate) failure: Vec<String>,
    /// Texts without calls that are looked at (3).
    pub(crate) window: usize,
}

/// Limits of the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls of one reply that may run (8).
    pub(crate) calls_per_step: u32,
    pub(crate) max_calls: Option<u32>,
    /// Input and output tokens together.
    pub(crate) max_tokens: Option<u64>,
    /// Millionths of the table's currency unit.
    pub(crate) max_cost_micros: Option<u64>,
    pub(crate) max_time_ms: Option<u64>,
    /// Whether time a person takes counts (false).
    pub(crate) waiting_counts: bool,
    /// User messages of one run (20).
    pub(crate) user_turns: u32,
    /// Nested runs per name (5).
    pub(crate) depth: u32,
    /// Times a name may stand in the chain with another between (2; 0 = off).
    pub(crate) reentry: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_per_step: 8,
            max_calls: None,
            max_tokens: None,
            max_cost_micros: None,
            max_time_ms: None,
            waiting_counts: false,
            user_turns: 20,
            depth: 5,
            reentry: 2,
        }
    }
}

/// What `verify` has to prove beside what it proves for every table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// `tool` never runs unless `before` has succeeded.
    Never {
        /// The tool that must wait.
        tool: NamePattern,
        /// The tool that must have succeeded.
        before: NamePattern,
    },
    /// `tool` runs at most so often.
    AtMost {
        /// The tool.
        tool: NamePattern,
        /// Times.
        times: u32,
    },
    /// The run takes at most so many steps.
    Within {
        /// Steps.
        steps: u32,
        /// Of the run (`false`) or the tree (`true`).
        tree: bool,
    },
    /// One of the stages is always reached.
    Reaches(Vec<StageId>),
    /// `tool` runs only in `stage`.
    OnlyIn {
        /// The tool.
        tool: NamePattern,
        /// The stage.
        stage: StageId,
    },
}

/// Whether the tool list is the same in every stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expose {
    /// All tools of the table in every request (default).
    #[default]
    All,
    /// Only the stage's.
    Stage,
}

/// What happens to more than `calls_per_step` calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Batch {
    /// The first run, the rest are refused (default).
    #[default]
    Partial,
    /// None runs unless all would.
    Atomic,
}

impl Model {
    /// The workflow's name.
    #[must_use]
    pub fn workflow(&self) -> &str {
        &self.workflow
    }

    /// The stages in file order.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The steps no run can exceed: the sum of the stage budgets, retries and declared extensions included.
    #[must_use]
    pub fn ceiling(&self) -> u32 {
        let budgets: u32 = self.stages.iter().map(Stage::budget).sum();
        budgets + self.rules.iter().map(|r| if let Action::Extend(_, n) = r.action { n } else { 0 }).sum::<u32>()
    }

    /// The catalogue's entry for `tool`: the exact one, else the first pattern that matches, else `None`.
    #[must_use]
    pub fn tool_entry(&self, tool: &str) -> Option<&ToolEntry> {
        match self.tool_index.get(tool) {
            Some(index) => self.tools.get(*index),
            None => self.tools.iter().find(|t| !t.name.is_exact() && t.name.matches(tool)),
        }
    }

    /// Fills in what is derived from the rest.
    pub(crate) fn index(&mut self) {
        let exact = self.tools.iter().enumerate().filter(|(_, t)| t.name.is_exact());
        self.tool_index = exact.map(|(i, t)| (t.name.as_str().into(), i)).collect();
    }

    /// Whether the table has nested runs.
    #[must_use]
    pub fn nested_runs(&self) -> bool {
        self.tools.iter().any(|t| t.nested.is_some())
    }

    /// The name by which a table beside this one would call it: its file without the folder.
    #[must_use]
    pub(crate) fn own_file(&self) -> &str {
        self.source.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// The table of a nested run, this one among them, when this is the outermost.
    #[must_use]
    pub(crate) fn nested_table(&self, file: &str) -> Option<&Self> {
        if file == self.own_file() { Some(self) } else { self.nested.get(file).map(|t| &**t) }
    }

    /// This table and those of its nested runs, when this is the outermost.
    pub(crate) fn with_nested(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.nested.values().map(|t| &**t))
    }

    /// What does not stop the load but deserves a look.
    #[must_use]
    pub fn warnings(&self) -> &[crate::table::problem::Problem] {
        &self.warnings
    }
}
