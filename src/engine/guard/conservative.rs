//! `conservative`: with few steps left, only tools that have proved themselves.

use crate::table::model::{ConservativeGuard, Mode, Stage};

/// Whether the guard speaks in this stage at all: never where the whole budget is that small, nor in a final stage.
#[must_use]
pub fn speaks(guard: &ConservativeGuard, stage: &Stage, steps_left: u32) -> bool {
    guard.mode != Mode::Off && !stage.is_final() && stage.budget() > guard.below && steps_left < guard.below
}

/// Whether `tool` may still be called.
#[must_use]
pub fn allows(guard: &ConservativeGuard, tool: &str, succeeded: bool) -> bool {
    if guard.deny.iter().any(|p| p.matches(tool)) {
        return false;
    }
    guard.allow.iter().any(|p| p.matches(tool)) || (guard.proven && succeeded)
}
