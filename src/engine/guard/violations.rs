//! `violations`: replies in a row that hold a forbidden call.

use super::Then;
use crate::engine::mutant::{self, Mutant};
use crate::table::model::{Mode, ViolationsGuard};

/// Counts one reply; says what follows. Only a reply without a violation, a rollback or entering a stage resets.
pub fn reply_done(in_a_row: &mut u32, violated: bool, rollbacks: u32, guard: ViolationsGuard) -> Then {
    if !violated {
        *in_a_row = 0;
        return Then::Nothing;
    }
    *in_a_row += 1;
    if guard.mode == Mode::Off || *in_a_row < guard.in_a_row {
        return Then::Nothing;
    }
    match (guard.then_end, rollbacks < guard.max_rollbacks || mutant::on(Mutant::UnboundedRollbacks)) {
        (true, _) => Then::Close,
        (false, true) => Then::RollBack,
        (false, false) => Then::Nothing,
    }
}
