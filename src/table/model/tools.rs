//! What the table says of tools and facts.

use crate::table::names::{FactId, Name, NamePattern};
use crate::table::script::{Condition, Text};
use regex::Regex;

/// What a tool does to the world, as far as the engine must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Changes nothing; the same call gives the same result until something else changes it.
    Read,
    /// Changes something outside.
    Write,
    /// Changes nothing, and its answer is expected to change by itself.
    Poll,
    /// A shell, a cursor: anything whose answer may change by itself. The default.
    #[default]
    Stateful,
}

/// Whose steps a nested run spends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spend {
    /// Those of the stage that calls it.
    #[default]
    Parent,
    /// Those of its own table.
    Own,
}

/// A tool that is a run of another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedRun {
    /// The table's file, from the folder of the outermost table.
    pub(crate) file: Name,
    /// Its task, rendered with the call; `None` = the argument `task`, else all arguments.
    pub(crate) task: Option<Text>,
    /// The arguments that the task reads.
    pub(crate) arguments: Vec<String>,
    pub(crate) spend: Spend,
}

/// One entry of the catalogue.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    pub(crate) name: NamePattern,
    pub(crate) effect: Effect,
    /// For each tool that matches.
    pub(crate) max_calls: Option<u32>,
    /// Identical calls that may run before any guard speaks (default 1, `poll` 20).
    pub(crate) repeats: u32,
    pub(crate) requires: Vec<(FactId, Text)>,
    pub(crate) approval: bool,
    pub(crate) ignore_args: Vec<String>,
    pub(crate) mask: Vec<Regex>,
    pub(crate) max_chars: Option<usize>,
    pub(crate) failed_when: Option<Condition>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) idempotent: bool,
    pub(crate) aliases: Vec<Name>,
    pub(crate) every_ms: Option<u64>,
    pub(crate) until: Option<Condition>,
    pub(crate) commands: Option<Vec<String>>,
    /// Line of its name in the file, from 1; 0 when the catalogue does not name it.
    pub(crate) line: usize,
    pub(crate) nested: Option<NestedRun>,
}

impl ToolEntry {
    /// What holds for a tool that the catalogue does not name.
    #[must_use]
    pub fn undeclared() -> Self {
        Self {
            name: NamePattern::new("*"),
            effect: Effect::Stateful,
            max_calls: None,
            repeats: 1,
            requires: Vec::new(),
            approval: false,
            ignore_args: Vec::new(),
            mask: Vec::new(),
            max_chars: None,
            failed_when: None,
            timeout_ms: None,
            idempotent: false,
            aliases: Vec::new(),
            every_ms: None,
            until: None,
            commands: None,
            line: 0,
            nested: None,
        }
    }
}

/// Where a fact comes from.
#[derive(Clone, Debug)]
pub enum FactFrom {
    /// The task (in a nested run: the root's).
    Task,
    /// What the user says while the run goes on.
    User,
    /// Successful results of these tools.
    Result(Vec<NamePattern>),
    /// The host, by `set_fact`.
    Host,
}

/// How a fact's value is taken out of its source.
#[derive(Clone, Debug)]
pub enum FactValue {
    /// First group of the regex, or the whole match.
    Match(Regex),
    /// An expression over `result` or `task`.
    Value(Condition),
    /// The whole text (or the host's value).
    Whole,
}

/// Which of several values is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The first.
    First,
    /// The last (default).
    #[default]
    Last,
    /// All, as a list without repeats.
    All,
}

/// One declared fact.
#[derive(Clone, Debug)]
pub struct FactDecl {
    pub(crate) name: Name,
    pub(crate) from: FactFrom,
    pub(crate) value: FactValue,
    pub(crate) keep: Keep,
    pub(crate) cleared_by: Vec<NamePattern>,
}
