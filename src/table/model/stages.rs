//! What the table says of stages.

use super::Guards;
use crate::table::names::{FactId, Name, NamePattern, StageId};
use crate::table::script::Text;
use std::collections::HashSet;

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

    /// Whether a text without calls leaves the stage. In a final stage it is the answer whatever `leave_by` says, unless
    /// it goes to the user.
    #[must_use]
    pub fn text_leaves(&self) -> bool {
        self.leave_by.answer || (self.is_final() && !self.conversation)
    }
}
