//! How a run ends or pauses: a closed set.

use serde::{Deserialize, Serialize};

/// How a run ended, or why it pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer, reached the ordinary way. The only success.
    Completed,
    /// By a failure marker or a rule.
    Failed,
    /// Closed by a limit.
    Exhausted,
    /// Closed by a guard.
    Looped,
    /// Closed by repeated violations.
    Violations,
    /// The model declined.
    Declined,
    /// The view did not fit the model, even shortened.
    ContextOverflow,
    /// Pause: a person has to say yes or no.
    AwaitingApproval,
    /// Pause: the user has to answer.
    AwaitingUser,
    /// Pause: the model could not be reached.
    ProviderError,
    /// Pause: the caller cancelled.
    Cancelled,
}

impl Outcome {
    /// Whether the run can go on without a grant.
    #[must_use]
    pub fn is_pause(self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::AwaitingUser | Self::ProviderError | Self::Cancelled)
    }

    /// The name in tables, traces and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Exhausted => "exhausted",
            Self::Looped => "looped",
            Self::Violations => "violations",
            Self::Declined => "declined",
            Self::ContextOverflow => "context_overflow",
            Self::AwaitingApproval => "awaiting_approval",
            Self::AwaitingUser => "awaiting_user",
            Self::ProviderError => "provider_error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which limit was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// A stage's steps.
    Stage,
    /// All stages' steps.
    Run,
    /// Calls.
    Calls,
    /// Tokens.
    Tokens,
    /// Cost, in millionths.
    Cost,
    /// Time, in milliseconds.
    Time,
    /// Nested runs.
    Depth,
    /// User messages.
    UserTurns,
}

/// The limit that closed a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limit {
    /// Which.
    pub kind: LimitKind,
    /// In which stage.
    pub stage: String,
    /// How much was used.
    pub used: u64,
    /// Of how much.
    pub of: u64,
}
