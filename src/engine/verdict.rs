//! The answer to one call.

use super::input::{CallNo, ProposedCall};
use serde::{Deserialize, Serialize};

/// The right to run one call and to hand in its result, once: neither `Clone` nor constructible outside.
///
/// ```compile_fail
/// fn twice(session: &mut stagekeeper::Session, ticket: stagekeeper::Ticket) {
///     session.finish(ticket, stagekeeper::ToolResult::ok("a"));
///     session.finish(ticket, stagekeeper::ToolResult::ok("b")); // the ticket is spent
/// }
/// ```
#[must_use = "a call that is never finished is answered `no result`"]
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) CallNo);

impl Ticket {
    /// The call it stands for.
    #[must_use]
    pub fn call(&self) -> CallNo {
        self.0
    }
}

/// A question a person has to answer about one exact call.
#[must_use = "a question that is never answered leaves the run waiting"]
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    pub(crate) call: CallNo,
    /// What to ask.
    pub question: String,
}

impl Ask {
    /// The call it is about.
    #[must_use]
    pub fn call(&self) -> CallNo {
        self.call
    }
}

/// What is to happen with a call.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run it and hand in the result with the ticket.
    Run(Ticket),
    /// It is answered already, with an earlier result.
    Reuse {
        /// The call whose result was used.
        of: CallNo,
    },
    /// It is answered already, with a hint.
    Refuse {
        /// Which check of the public order objected.
        check: Check,
        /// What the model is told.
        hint: String,
    },
    /// A person has to say yes first.
    Ask(Ask),
    /// The control tool `advance`, which the engine answers itself; the stage is left after this reply. Nothing to do.
    Advance,
    /// It is a run of another table: the next views are that run's, and its end answers the call. Nothing to do.
    Nested,
}

/// One call and its verdict.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The engine's number.
    pub no: CallNo,
    /// The call as proposed.
    pub call: ProposedCall,
    /// The tool it resolves to (aliases, case and prefixes followed).
    pub tool: std::sync::Arc<str>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The checks of the public order (design §3.2); the first that objects decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The run has ended, or this is the closing request.
    Ended,
    /// The arguments are not one JSON object, or the reply was cut short.
    Malformed,
    /// No such tool.
    UnknownTool,
    /// Not allowed in this stage.
    NotAllowed,
    /// A fact the tool requires is missing.
    Requires,
    /// A `deny` rule.
    Deny,
    /// `max_calls` of the tool, the stage or the run.
    MaxCalls,
    /// Few steps are left and the tool is not among the allowed ones.
    Conservative,
    /// Nested too deep.
    Depth,
    /// A name stands in the chain of nested runs too often.
    Reentry,
    /// A nested run for which too few steps are left.
    Grant,
    /// The same call again.
    Duplicate,
    /// The same calls in turn.
    Cycle,
    /// The same tool in a row.
    SameTool,
    /// More calls in one reply than may run.
    CallsPerStep,
    /// A person said no, or nobody could be asked.
    Approval,
}

impl Check {
    /// The public order, with the number each check has there; a call that passes all of them is run (14).
    pub const ORDER: [(u8, Self); 16] = [
        (1, Self::Ended),
        (2, Self::Malformed),
        (3, Self::UnknownTool),
        (4, Self::NotAllowed),
        (5, Self::Requires),
        (5, Self::Deny),
        (6, Self::MaxCalls),
        (7, Self::Conservative),
        (8, Self::Depth),
        (8, Self::Reentry),
        (8, Self::Grant),
        (9, Self::Duplicate),
        (10, Self::Cycle),
        (11, Self::SameTool),
        (12, Self::CallsPerStep),
        (13, Self::Approval),
    ];

    /// The name in traces and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Malformed => "malformed",
            Self::UnknownTool => "unknown_tool",
            Self::NotAllowed => "not_allowed",
            Self::Requires => "requires",
            Self::Deny => "deny",
            Self::MaxCalls => "max_calls",
            Self::Conservative => "conservative",
            Self::Depth => "depth",
            Self::Reentry => "reentry",
            Self::Grant => "grant",
            Self::Duplicate => "duplicate",
            Self::Cycle => "cycle",
            Self::SameTool => "same_tool",
            Self::CallsPerStep => "calls_per_step",
            Self::Approval => "approval",
        }
    }

    /// Whether the check refuses even where everything is only observed: without it the run would not be bounded.
    #[must_use]
    pub fn holds_always(self) -> bool {
        matches!(self, Self::Ended | Self::Depth | Self::Reentry | Self::Grant)
    }

    /// Whether a refusal by this check counts towards rollback (design §3.4).
    #[must_use]
    pub fn is_violation(self) -> bool {
        matches!(self, Self::UnknownTool | Self::NotAllowed | Self::Requires | Self::Deny | Self::Approval)
    }
}
