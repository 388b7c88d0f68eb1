//! What the table says of rules.

use crate::table::names::{FactId, Name, NamePattern, StageId};
use crate::table::script::{Condition, Text};

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
