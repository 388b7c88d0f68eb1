//! The exit codes, described in `docs/reference/exit-codes.md`.

use crate::engine::outcome::Outcome;

/// Done as asked: the run completed, no table has an error, nothing differs.
pub const OK: u8 = 0;
/// Something unexpected, such as a full disk.
pub const UNEXPECTED: u8 = 1;
/// The command line is wrong, or names a file that is not there.
pub const USAGE: u8 = 2;
/// A table has an error.
pub const TABLE: u8 = 3;
/// The run ended by a limit, a guard, a failure marker or rule, or the model declined.
pub const STOPPED: u8 = 4;
/// The model, a tool or a store cannot be reached, or the view does not fit the model.
pub const UNREACHABLE: u8 = 5;
/// A replay or a test differs from what was recorded.
pub const DIFFERS: u8 = 6;
/// The run waits for a person.
pub const PAUSED: u8 = 7;
/// Cancelled by Ctrl-C (128 + SIGINT), or by SIGTERM or SIGHUP.
pub const CANCELLED: u8 = 130;

/// The code that a run's outcome gives.
#[must_use]
pub fn of_outcome(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Completed => OK,
        Outcome::Failed | Outcome::Exhausted | Outcome::Looped | Outcome::Violations | Outcome::Declined => STOPPED,
        Outcome::ContextOverflow | Outcome::ProviderError => UNREACHABLE,
        Outcome::AwaitingApproval | Outcome::AwaitingUser => PAUSED,
        Outcome::Cancelled => CANCELLED,
    }
}
