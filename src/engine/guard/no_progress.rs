//! `no_progress`: calls that bring a result their identity already gave.

use super::{Telling, Then};
use crate::table::model::NoProgressGuard;

/// Calls without anything new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stale {
    /// In a row.
    pub in_a_row: u32,
    /// In the whole run.
    pub in_all: u32,
}

/// Notes a call that counts. `same`: its identity already gave this result.
pub fn note(stale: &mut Stale, same: bool, guard: NoProgressGuard) -> (Option<Telling>, Then) {
    if !same {
        stale.in_a_row = 0;
        return (None, Then::Nothing);
    }
    stale.in_a_row += 1;
    stale.in_all += 1;
    if stale.in_all >= guard.close {
        return (Some(Telling::NothingNew), Then::Close);
    }
    if stale.in_a_row >= guard.leave {
        stale.in_a_row = 0;
        return (Some(Telling::NothingNew), Then::Leave);
    }
    ((stale.in_a_row >= guard.hint).then_some(Telling::NothingNew), Then::Nothing)
}
