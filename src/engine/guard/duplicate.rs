//! `duplicate`: the same call again.
//!
//! Ladder of one identity: answered from memory, refused, refused and rolled back, the stage is left. It starts again
//! only when memory is cleared (something else may have changed the answer) or the answer left the view.

use super::watch::Track;
use super::{Guard, Look, Seen, Telling, Then};
use crate::engine::mutant::{self, Mutant};
use crate::table::model::{Effect, Mode};

/// Looks at a call whose identity ran before. `changed`: something else may have changed its answer since.
pub fn look(track: &mut Track, call: &Seen, changed: bool, mode: Mode) -> Look {
    let Some(of) = track.last else { return Look::Pass };
    if call.effect == Effect::Write && track.cut && !changed && !track.failed && !track.unknown {
        // The model no longer sees that it did this: saying so, once, is no judgement of the guard.
        track.cut = false;
        return Look::Reuse { of, telling: Telling::AlreadyDone };
    }
    if mode == Mode::Off || changed || track.unknown {
        return Look::Pass;
    }
    let (speaks, first, telling) = match call.effect {
        Effect::Write => (track.fails >= 2, 1, Telling::FailsTheSame),
        Effect::Read => (track.runs >= call.repeats && !track.failed, 0, Telling::Repeated),
        Effect::Poll | Effect::Stateful => (track.runs > call.repeats && track.equal, 0, Telling::Repeated),
    };
    if !speaks {
        return Look::Pass;
    }
    let rung = track.ladder.max(first);
    track.ladder = if mutant::on(Mutant::LadderStartsAgain) { 0 } else { (rung + 1).min(3) };
    let refuse = |then| Look::Refuse { guard: Guard::Duplicate, telling, then };
    match rung {
        0 => Look::Reuse { of, telling: Telling::Known },
        1 => refuse(Then::Nothing),
        2 => refuse(Then::RollBack),
        _ => refuse(Then::Leave),
    }
}

/// What is said with the result of a repeat that ran.
pub fn note(call: &Seen, within_repeats: bool, repeats_result: bool) -> Option<Telling> {
    let may_vary = matches!(call.effect, Effect::Stateful | Effect::Poll);
    (may_vary && !within_repeats && repeats_result).then_some(Telling::SameResult)
}
