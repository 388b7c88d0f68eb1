//! What is remembered of every identity: a small tracker each, no history.

use super::cycle::Ring;
use super::no_progress::Stale;
use super::{Done, Fired, Guard, Identities, Look, Noted, Seen, Then, cycle, duplicate, no_progress};
use crate::engine::args::Identity;
use crate::engine::input::CallNo;
use crate::engine::mutant::{self, Mutant};
use crate::table::model::{Effect, Guards, Mode};
use std::collections::{BTreeMap, VecDeque};

/// Most identities remembered; the oldest goes first (design §5).
pub const MAX_IDENTITIES: usize = 10_000;
/// Most different results remembered of one identity.
pub const MAX_RESULTS: usize = 8;

/// What is known of one identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Track {
    /// How often it ran.
    pub runs: u32,
    /// The call that gave the last result.
    pub last: Option<CallNo>,
    /// The last result.
    pub result: u64,
    /// The last two results are equal.
    pub equal: bool,
    /// How often in a row it failed with the same result.
    pub fails: u32,
    /// The last run failed.
    pub failed: bool,
    /// Nobody knows how the last run ended.
    pub unknown: bool,
    /// The clock at its last run.
    pub at: u64,
    /// Successful declared writes until its last run, its own included.
    pub writes: u32,
    /// How often the duplicate guard answered.
    pub ladder: u8,
    /// Its answer left the view.
    pub cut: bool,
    /// Other results it gave before the last.
    pub others: Vec<u64>,
}

/// When the world may have changed, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Changes {
    /// Calls that ran.
    clock: u64,
    /// The last change.
    last: Option<(u64, Identity)>,
    /// The last change by another identity than `last`.
    other: Option<u64>,
    /// Successful declared writes.
    pub writes: u32,
}

impl Changes {
    fn note(&mut self, call: &Seen, done: &Done) {
        self.clock += 1;
        let changes = matches!(call.effect, Effect::Write | Effect::Stateful) && (!done.failed || done.unknown);
        if !changes || mutant::on(Mutant::WriteKeepsMemory) {
            return;
        }
        if call.effect == Effect::Write && !done.failed {
            self.writes += 1;
        }
        if let Some((at, identity)) = self.last
            && identity != call.identity
        {
            self.other = Some(at);
        }
        self.last = Some((self.clock, call.identity));
    }

    /// Whether something else than `identity` may have changed the world after `at`.
    #[must_use]
    pub fn since(&self, at: u64, identity: Identity) -> bool {
        let by_other = match self.last {
            Some((last, who)) if who != identity => Some(last),
            Some(_) => self.other,
            None => None,
        };
        by_other.is_some_and(|change| change > at)
    }
}

/// The memory of the identity guards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watch {
    /// Boxed: a node of the tree has room for eleven, used or not.
    tracks: BTreeMap<Identity, Box<Track>>,
    order: VecDeque<Identity>,
    changes: Changes,
    ring: Ring,
    stale: Stale,
}

impl Identities for Watch {
    fn look(&mut self, call: &Seen, guards: &Guards, observed: &mut Vec<Look>) -> Look {
        if let Some(track) = self.tracks.get_mut(&call.identity) {
            let changed = call.unsettled || self.changes.since(track.at, call.identity);
            let answer = duplicate::look(track, call, changed, guards.duplicate);
            match guards.duplicate {
                _ if answer == Look::Pass => {}
                Mode::Observe => observed.push(answer),
                Mode::On | Mode::Off => return answer,
            }
        }
        let declared = self.tracks.get(&call.identity).is_some_and(|track| track.may_repeat(call));
        let answer = if declared { Look::Pass } else { cycle::look(&mut self.ring, call, guards.cycle) };
        match guards.cycle.mode {
            _ if answer == Look::Pass => Look::Pass,
            Mode::Observe => {
                observed.push(answer);
                Look::Pass
            }
            Mode::On | Mode::Off => answer,
        }
    }

    fn note(&mut self, call: &Seen, done: &Done, guards: &Guards) -> Noted {
        let mut noted = Noted::default();
        let writes = self.changes.writes;
        if !self.tracks.contains_key(&call.identity) {
            self.make_room();
            self.order.push_back(call.identity);
        }
        let track = self.tracks.entry(call.identity).or_default();
        noted.same = track.has_given(done.result);
        let within_repeats = track.runs < call.repeats && !done.from_memory;
        let declared = track.may_repeat(call) && !done.from_memory;
        let write_between = track.runs > 0 && track.writes != writes;
        let repeats_result = track.last.is_some() && track.result == done.result;
        if !done.from_memory {
            let changed = self.changes.since(track.at, call.identity);
            self.changes.note(call, done);
            track.ran(call, done, self.changes.clock, self.changes.writes, changed);
            if let Some(telling) = duplicate::note(call, within_repeats, repeats_result)
                && guards.duplicate != Mode::Off
            {
                noted.speak(Guard::Duplicate, Some(telling), Then::Nothing, guards.duplicate);
            }
        }
        if guards.cycle.mode != Mode::Off
            && !declared
            && let Some(telling) = cycle::note(&mut self.ring, call, done, guards.cycle)
        {
            noted.speak(Guard::Cycle, Some(telling), Then::Nothing, guards.cycle.mode);
        }
        let counts = call.effect != Effect::Poll && !within_repeats && !write_between;
        if guards.no_progress.mode != Mode::Off && counts {
            let (telling, then) = no_progress::note(&mut self.stale, noted.same, guards.no_progress);
            if telling.is_some() || then != Then::Nothing {
                noted.speak(Guard::NoProgress, telling, then, guards.no_progress.mode);
            }
        } else if !noted.same {
            self.stale.in_a_row = 0;
        }
        noted
    }

    fn view_cut(&mut self, gone: &dyn Fn(CallNo) -> bool) {
        for track in self.tracks.values_mut().filter(|t| t.last.is_some_and(gone)) {
            track.cut = true;
            track.ladder = 0;
        }
    }

    fn has_run(&self, identity: Identity) -> bool {
        self.tracks.contains_key(&identity)
    }
}

impl Watch {
    /// What is known of an identity that ran, and whether something else may have changed its answer since.
    pub(crate) fn track(&self, identity: Identity) -> Option<(&Track, bool)> {
        let track = self.tracks.get(&identity)?;
        Some((track, self.changes.since(track.at, identity)))
    }

    /// Whether an identity is part of the circle last found, and whether that is refused.
    pub(crate) fn in_circle(&self, identity: Identity) -> (bool, bool) {
        self.ring.holds(identity)
    }

    fn make_room(&mut self) {
        if self.tracks.len() >= MAX_IDENTITIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.tracks.remove(&oldest);
        }
    }
}

impl Track {
    fn ran(&mut self, call: &Seen, done: &Done, clock: u64, writes: u32, changed: bool) {
        let same_as_last = self.last.is_some() && self.result == done.result && self.failed == done.failed;
        self.fails = match (done.failed, same_as_last) {
            (false, _) => 0,
            (true, true) => self.fails + 1,
            (true, false) => 1,
        };
        if changed {
            self.ladder = 0;
        }
        self.runs += 1;
        if let Some(before) = self.last.map(|_| self.result).filter(|before| *before != done.result) {
            self.others.retain(|one| *one != before && *one != done.result);
            if self.others.len() + 1 >= MAX_RESULTS {
                self.others.remove(0);
            }
            self.others.push(before);
        }
        // Equal results tell nothing when something between them could have changed the answer.
        self.equal = same_as_last && !changed;
        self.last = Some(call.no);
        self.result = done.result;
        self.failed = done.failed;
        self.unknown = done.unknown;
        self.at = clock;
        self.writes = writes;
        self.cut = false;
    }

    /// Whether the table lets the call run once more whatever it brings: no guard speaks then.
    fn may_repeat(&self, call: &Seen) -> bool {
        call.repeats > 1 && self.runs < call.repeats
    }

    fn has_given(&self, result: u64) -> bool {
        (self.last.is_some() && self.result == result) || self.others.contains(&result)
    }
}

impl Noted {
    fn speak(&mut self, guard: Guard, telling: Option<super::Telling>, then: Then, mode: Mode) {
        self.fired.push(Fired { guard, telling, then, observed: mode == Mode::Observe });
    }
}
