//! `errors`: one tool fails several times in a row.

use super::{Telling, Then};
use crate::table::model::ErrorsGuard;

/// Counts one failure of a tool; says what follows.
pub fn note(in_a_row: &mut u32, guard: ErrorsGuard) -> (Option<Telling>, Then) {
    *in_a_row += 1;
    if *in_a_row >= guard.leave {
        *in_a_row = 0;
        return (Some(Telling::KeepsFailing), Then::Leave);
    }
    ((*in_a_row >= guard.hint).then_some(Telling::KeepsFailing), Then::Nothing)
}
