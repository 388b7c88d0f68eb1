//! The checked stage table: what the engine reads. Built only by the loader, so every index in it is valid.

use super::names::{FactId, Name, NamePattern, RuleId, StageId};
use super::script::{Condition, Scripts, Text};
use indexmap::IndexMap;
use regex::Regex;
use std::collections::{HashMap, HashSet};
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
    /// What is said to the model, parallel to [`MESSAGES`](super::messages::MESSAGES): defaults, or the table's own.
    pub(crate) messages: Vec<Text>,
    /// The tables of nested runs, by file; known to the outermost table only.
    pub(crate) nested: IndexMap<String, StageTable>,
    /// Where the table came from.
    pub(crate) source: Source,
    /// What `check` found that does not stop the load.
    pub(crate) warnings: Vec<super::problem::Problem>,
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

/// Which tools a stage allows.
#[derive(Clone, Debug)]
pub enum Allowed {
    /// Every tool (`allowed_tools: all`).
    All,
    /// The listed ones.
    These {
        /// As written, in file order, patterns among them.
        list: Vec<NamePattern>,
        /// The exact ones, for look-up.
        exact: HashSet<Box<str>>,
    },
}

impl Allowed {
    /// Whether `tool` may be called.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::These { list, exact } => {
                exact.contains(tool) || list.iter().any(|p| !p.is_exact() && p.matches(tool))
            }
        }
    }

    /// Whether nothing at all may be called (`[]`).
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::These { list, .. } if list.is_empty())
    }
}

/// Where a stage leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another stage.
    Stage(StageId),
    /// The end: this stage is final.
    End,
    /// Where an aside was entered from.
    Back,
}

/// What happens when a stage's budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExhausted {
    /// On to `next` (default without `requires`).
    Next,
    /// Close the run (default with `requires`).
    End,
    /// One more step with a fresh view.
    RetryFresh,
    /// Go to this stage.
    Stage(StageId),
}

/// How a model may leave a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaveBy {
    /// A text without calls.
    pub answer: bool,
    /// The control tool `advance`.
    pub advance: bool,
    /// A call that only the next stage allows.
    pub call: bool,
}

impl Default for LeaveBy {
    fn default() -> Self {
        Self { answer: true, advance: true, call: false }
    }
}

/// One stage, every default filled in.
#[derive(Clone, Debug)]
pub struct Stage {
    pub(crate) name: Name,
    pub(crate) goal: Text,
    pub(crate) allowed: Allowed,
    /// As declared or computed from `expected_steps`; without the retry.
    pub(crate) max_steps: u32,
    pub(crate) max_calls: Option<u32>,
    pub(crate) requires: Vec<(FactId, Text)>,
    pub(crate) next: Next,
    pub(crate) on_exhausted: OnExhausted,
    pub(crate) leave_by: LeaveBy,
    pub(crate) conversation: bool,
    pub(crate) aside: bool,
    pub(crate) approval: bool,
    pub(crate) hints: Vec<(NamePattern, Text)>,
    /// The table's guards with this stage's changes.
    pub(crate) guards: Guards,
    pub(crate) model: Option<String>,
    /// Line of the stage's name in the file, from 1; 0 when made by hand.
    pub(crate) line: usize,
}

impl Stage {
    /// The line of its name in the file, from 1; 0 when the table was made by hand.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// Steps from the start: `max_steps`, and one more with `retry_fresh`.
    #[must_use]
    pub fn budget(&self) -> u32 {
        self.max_steps + u32::from(self.on_exhausted == OnExhausted::RetryFresh)
    }

    /// Whether the run may end here with an answer.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.next == Next::End
    }
}

/// When a rule looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// At a call that the stage allows.
    Call = 0,
    /// After a call ran.
    Result = 1,
    /// After a reply is charged.
    Reply = 2,
    /// Before the model is asked.
    Step = 3,
}

/// What a rule does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Only its hint.
    Hint,
    /// Refuse the call.
    Deny(Text),
    /// Ask a person first.
    Ask(Text),
    /// Go to a stage.
    Goto(StageId),
    /// Set facts.
    Set(Vec<(FactId, Condition)>),
    /// Widen a stage's budget, once per rule.
    Extend(StageId, u32),
    /// End the run: `true` = completed, `false` = failed.
    End(bool),
    /// All but the last N results leave the view.
    Forget(u32),
}

impl Action {
    /// The action's key in the table; `hint` for a rule with a hint alone.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Deny(_) => "deny",
            Self::Ask(_) => "ask",
            Self::Goto(_) => "goto",
            Self::Set(_) => "set",
            Self::Extend(..) => "extend",
            Self::End(_) => "end",
            Self::Forget(_) => "forget",
        }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) name: Name,
    /// `None` = a table rule, asked in every stage.
    pub(crate) stage: Option<StageId>,
    pub(crate) at: At,
    /// Empty = any tool.
    pub(crate) tools: Vec<NamePattern>,
    /// `None` = always.
    pub(crate) when: Option<Condition>,
    pub(crate) action: Action,
    pub(crate) hint: Option<Text>,
    /// Line in the file, from 1.
    pub(crate) line: usize,
}

/// Whether a guard acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Not asked.
    Off,
    /// Recorded, changes nothing.
    Observe,
    /// Acts.
    #[default]
    On,
}

/// `cycle`: rounds of the same calls with equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleGuard {
    pub(crate) mode: Mode,
    /// Equal rounds until every member gets a hint (2).
    pub(crate) hint: u32,
    /// Equal rounds until the whole set is refused (3).
    pub(crate) refuse: u32,
}

/// `no_progress`: calls whose identity already gave that result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProgressGuard {
    pub(crate) mode: Mode,
    /// In a row until the hint (3).
    pub(crate) hint: u32,
    /// In a row until the stage is left (5).
    pub(crate) leave: u32,
    /// In the whole run until it closes (10).
    pub(crate) close: u32,
}

/// `errors`: one tool failing in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorsGuard {
    pub(crate) mode: Mode,
    /// In a row until the hint (3).
    pub(crate) hint: u32,
    /// In a row until the stage is left (6).
    pub(crate) leave: u32,
}

/// `same_tool`: off unless declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameToolGuard {
    pub(crate) mode: Mode,
    /// Replies in a row that used only this tool before it is refused.
    pub(crate) in_a_row: u32,
}

/// `conservative`: off unless declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConservativeGuard {
    pub(crate) mode: Mode,
    /// Fewer steps left than this → only allowed tools (3).
    pub(crate) below: u32,
    /// `allow: proven` = tools that succeeded in this run; otherwise the named ones.
    pub(crate) proven: bool,
    pub(crate) allow: Vec<NamePattern>,
    pub(crate) deny: Vec<NamePattern>,
}

/// `violations`: replies in a row that hold one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViolationsGuard {
    pub(crate) mode: Mode,
    /// Replies in a row until `then` (2).
    pub(crate) in_a_row: u32,
    /// `true` = close the run, `false` = roll back (default).
    pub(crate) then_end: bool,
    /// Rollbacks of one run, the guards' included (1).
    pub(crate) max_rollbacks: u32,
}

/// All guards as they hold in one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guards {
    pub(crate) duplicate: Mode,
    pub(crate) cycle: CycleGuard,
    pub(crate) no_progress: NoProgressGuard,
    pub(crate) errors: ErrorsGuard,
    pub(crate) same_tool: SameToolGuard,
    pub(crate) conservative: ConservativeGuard,
    pub(crate) violations: ViolationsGuard,
}

impl Default for Guards {
    /// The defaults come from replaying 16,159 recorded runs of 20 models; they change only with the format version.
    fn default() -> Self {
        Self {
            duplicate: Mode::On,
            cycle: CycleGuard { mode: Mode::On, hint: 2, refuse: 3 },
            no_progress: NoProgressGuard { mode: Mode::On, hint: 3, leave: 5, close: 10 },
            errors: ErrorsGuard { mode: Mode::On, hint: 3, leave: 6 },
            same_tool: SameToolGuard { mode: Mode::Off, in_a_row: 0 },
            conservative: ConservativeGuard {
                mode: Mode::Off,
                below: 3,
                proven: true,
                allow: Vec::new(),
                deny: Vec::new(),
            },
            violations: ViolationsGuard { mode: Mode::On, in_a_row: 2, then_end: false, max_rollbacks: 1 },
        }
    }
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
    pub fn warnings(&self) -> &[super::problem::Problem] {
        &self.warnings
    }
}
