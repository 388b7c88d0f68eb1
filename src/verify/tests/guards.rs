//! Each identity guard alone, with the real memory, through every sequence of calls up to a bound; what it may and must
//! say is said here a second time, from the whole history and not from small trackers.

use crate::engine::args::Identity;
use crate::engine::guard::{Done, Guard, Identities, Look, Seen, Then, Watch};
use crate::engine::input::CallNo;
use crate::table::model::{Effect, Guards};

/// A call that can be made and the results it can have (9 = it fails).
#[derive(Clone, Copy)]
struct Kind {
    id: u128,
    effect: Effect,
    results: &'static [u64],
}

/// What became of a call, oldest first.
#[derive(Clone, Copy, Debug)]
struct Was {
    id: u128,
    effect: Effect,
    /// It ran; otherwise it was answered from memory.
    ran: bool,
    failed: bool,
    result: u64,
}

/// The world of one exploration.
struct World {
    kinds: Vec<Kind>,
    guards: Guards,
    wrong: Vec<String>,
    sequences: usize,
    most_wrong: usize,
}

const FAILS: u64 = 9;

#[derive(Clone, Default)]
struct Run {
    watch: Watch,
    past: Vec<Was>,
    /// How often the duplicate guard answered an identity since it last ran with something changed.
    ladder: Vec<(u128, u32)>,
    stale: (u32, u32),
    calls: u32,
}

impl Run {
    fn changes(was: &Was) -> bool {
        was.ran && matches!(was.effect, Effect::Write | Effect::Stateful) && !was.failed
    }

    /// Whether something else may have changed what `id` brings, since that place.
    fn changed_since(&self, id: u128, from: usize) -> bool {
        self.past.iter().skip(from + 1).any(|w| w.id != id && Self::changes(w))
    }

    fn runs(&self, id: u128) -> Vec<usize> {
        (0..self.past.len()).filter(|at| self.past[*at].id == id && self.past[*at].ran).collect()
    }

    /// Whether the duplicate guard has to speak of a call, as the row of the table says.
    fn duplicate(&self, kind: Kind, unsettled: bool) -> bool {
        let runs = self.runs(kind.id);
        let Some(last) = runs.last().copied() else { return false };
        if unsettled || self.changed_since(kind.id, last) {
            return false;
        }
        let before = runs.len().checked_sub(2).map(|at| runs[at]);
        let alike = |a: usize, b: usize| {
            self.past[a].result == self.past[b].result && self.past[a].failed == self.past[b].failed
        };
        match kind.effect {
            Effect::Read => !self.past[last].failed,
            Effect::Write => self.past[last].failed && before.is_some_and(|b| self.past[b].failed && alike(b, last)),
            Effect::Stateful | Effect::Poll => {
                before.is_some_and(|b| alike(b, last) && !self.changed_since(kind.id, b))
            }
        }
    }

    /// The members of a circle of three equal rounds at the end of the first `upto` answers.
    fn circle(&self, upto: usize) -> Option<Vec<u128>> {
        (2..=4_usize).find_map(|period| {
            let tail = upto.checked_sub(period * 3)?;
            let entry = |n: usize| (self.past[tail + n].id, self.past[tail + n].result);
            let rounds = (0..period * 2).all(|n| entry(n) == entry(n + period));
            let members: Vec<u128> = (0..period).map(|n| entry(n).0).collect();
            (rounds && members.iter().any(|m| *m != members[0])).then_some(members)
        })
    }

    /// Whether a circle with this member stands: it went round three times, and nothing else succeeded since.
    fn in_circle(&self, id: u128) -> bool {
        (0..=self.past.len()).rev().any(|upto| {
            self.circle(upto).is_some_and(|members| {
                members.contains(&id) && self.past.iter().skip(upto).all(|w| w.failed || members.contains(&w.id))
            })
        })
    }
}

impl World {
    fn new(kinds: Vec<Kind>) -> Self {
        Self { kinds, guards: Guards::default(), wrong: Vec::new(), sequences: 0, most_wrong: 3 }
    }

    fn say(&mut self, run: &Run, kind: Kind, what: String) {
        if self.wrong.len() < self.most_wrong {
            let past: Vec<String> = run.past.iter().map(|w| format!("{}={}", w.id, w.result)).collect();
            self.wrong.push(format!("after [{}], call {}: {what}", past.join(" "), kind.id));
        }
    }

    /// Looks at a call and compares.
    fn look(&mut self, run: &mut Run, kind: Kind, unsettled: bool) -> (Seen, Look) {
        run.calls += 1;
        let seen =
            Seen { no: CallNo(run.calls), identity: Identity(kind.id), effect: kind.effect, repeats: 1, unsettled };
        let mut observed = Vec::new();
        let look = run.watch.look(&seen, &self.guards, &mut observed);
        let duplicate = run.duplicate(kind, unsettled);
        let by_cycle = matches!(look, Look::Refuse { guard: Guard::Cycle, .. });
        let spoke = look != Look::Pass && !by_cycle;
        if spoke != duplicate {
            self.say(run, kind, format!("duplicate should {}speak: {look:?}", if duplicate { "" } else { "not " }));
        }
        if !spoke && by_cycle != run.in_circle(kind.id) && (by_cycle || run.circle(run.past.len()).is_some()) {
            self.say(run, kind, format!("cycle: {look:?}"));
        }
        if spoke {
            self.rung(run, kind, look);
        }
        (seen, look)
    }

    /// The ladder: memory, refuse, refuse and roll back, leave.
    fn rung(&mut self, run: &mut Run, kind: Kind, look: Look) {
        let first = u32::from(kind.effect == Effect::Write);
        let at = match run.ladder.iter().position(|(id, _)| *id == kind.id) {
            Some(at) => at,
            None => {
                run.ladder.push((kind.id, first));
                run.ladder.len() - 1
            }
        };
        let rung = run.ladder[at].1;
        run.ladder[at].1 = (rung + 1).min(3);
        let right = match rung {
            0 => matches!(look, Look::Reuse { .. }),
            1 => matches!(look, Look::Refuse { then: Then::Nothing, .. }),
            2 => matches!(look, Look::Refuse { then: Then::RollBack, .. }),
            _ => matches!(look, Look::Refuse { then: Then::Leave, .. }),
        };
        if !right {
            self.say(run, kind, format!("rung {rung} of the ladder is {look:?}"));
        }
    }

    /// Notes an answer and compares what follows.
    fn note(&mut self, run: &mut Run, kind: Kind, seen: &Seen, result: u64, from_memory: bool) {
        let failed = result == FAILS;
        let done = Done { failed, unknown: false, result, from_memory };
        let noted = run.watch.note(seen, &done, &self.guards);
        let runs = run.runs(kind.id);
        let known = run.past.iter().any(|w| w.id == kind.id && w.ran && w.result == result);
        if noted.same != known {
            self.say(run, kind, format!("the result {result} is called known: {}", noted.same));
        }
        let write_between = runs.last().is_some_and(|last| {
            // Its own last run counts as well where it is a write.
            run.past.iter().skip(last + 1).any(|w| w.effect == Effect::Write && w.ran && !w.failed)
        });
        let first = runs.is_empty() && !from_memory;
        if !first && !write_between {
            run.stale = if known { (run.stale.0 + 1, run.stale.1 + 1) } else { (0, run.stale.1) };
        } else if !known {
            run.stale.0 = 0;
        }
        let counts = known && !first && !write_between;
        let then = if counts && run.stale.1 >= 10 {
            Then::Close
        } else if counts && run.stale.0 >= 5 {
            run.stale.0 = 0;
            Then::Leave
        } else {
            Then::Nothing
        };
        let said = noted.fired.iter().map(|f| f.then).max().unwrap_or_default();
        if said != then {
            self.say(run, kind, format!("no_progress wants {said:?}, not {then:?}"));
        }
        let changed = runs.last().is_some_and(|last| run.changed_since(kind.id, *last));
        if !from_memory && changed {
            run.ladder.retain(|(id, _)| *id != kind.id);
        }
        run.past.push(Was { id: kind.id, effect: kind.effect, ran: !from_memory, failed, result });
    }

    /// The answers a look leads to: a run with each result, or the earlier result.
    fn answers(&self, run: &Run, kind: Kind, look: Look) -> Vec<(u64, bool)> {
        match look {
            Look::Pass => kind.results.iter().map(|r| (*r, false)).collect(),
            Look::Reuse { .. } => {
                let last = run.runs(kind.id).last().map_or(0, |at| run.past[*at].result);
                vec![(last, true)]
            }
            Look::Refuse { .. } => Vec::new(),
        }
    }

    /// Every sequence of replies of one call.
    fn one_by_one(&mut self, run: &Run, depth: usize) {
        self.sequences += 1;
        if depth == 0 || !self.wrong.is_empty() && self.wrong.len() >= self.most_wrong {
            return;
        }
        for kind in self.kinds.clone() {
            let mut next = run.clone();
            let (seen, look) = self.look(&mut next, kind, false);
            let answers = self.answers(&next, kind, look);
            if answers.is_empty() {
                self.one_by_one(&next, depth - 1);
            }
            for (result, from_memory) in answers {
                let mut next = next.clone();
                self.note(&mut next, kind, &seen, result, from_memory);
                self.one_by_one(&next, depth - 1);
            }
        }
    }

    /// Every sequence of replies of two calls: both are looked at before either is answered.
    fn two_by_two(&mut self, run: &Run, depth: usize) {
        self.sequences += 1;
        if depth == 0 || self.wrong.len() >= self.most_wrong {
            return;
        }
        for a in self.kinds.clone() {
            for b in self.kinds.clone() {
                // A repeat within a reply is answered by the core, before any guard is asked.
                if a.id == b.id {
                    continue;
                }
                let mut next = run.clone();
                let (seen_a, look_a) = self.look(&mut next, a, false);
                let unsettled = look_a == Look::Pass && matches!(a.effect, Effect::Write | Effect::Stateful);
                let (seen_b, look_b) = self.look(&mut next, b, unsettled);
                let mut ends = vec![next];
                for (kind, seen, look) in [(a, seen_a, look_a), (b, seen_b, look_b)] {
                    let mut further = Vec::new();
                    for end in ends {
                        let answers = self.answers(&end, kind, look);
                        if answers.is_empty() {
                            further.push(end);
                            continue;
                        }
                        for (result, from_memory) in answers {
                            let mut end = end.clone();
                            self.note(&mut end, kind, &seen, result, from_memory);
                            further.push(end);
                        }
                    }
                    ends = further;
                }
                for end in &ends {
                    self.two_by_two(end, depth - 1);
                }
            }
        }
    }
}

fn kind(id: u128, effect: Effect, results: &'static [u64]) -> Kind {
    Kind { id, effect, results }
}

/// The worlds that are gone through, with their bounds: name, kinds, replies of one call, replies of two.
fn worlds() -> Vec<(&'static str, Vec<Kind>, usize, usize)> {
    use Effect::{Read, Stateful, Write};
    vec![
        (
            "two reads, a write, a shell",
            vec![
                kind(1, Read, &[0, 1, FAILS]),
                kind(2, Read, &[0]),
                kind(3, Write, &[0, FAILS]),
                kind(4, Stateful, &[0, 1]),
            ],
            5,
            2,
        ),
        ("one read and a write", vec![kind(1, Read, &[0, FAILS]), kind(3, Write, &[0])], 9, 5),
        ("two shells in turn", vec![kind(4, Stateful, &[0, 1]), kind(5, Stateful, &[0])], 9, 4),
        ("a write that fails", vec![kind(3, Write, &[0, FAILS]), kind(1, Read, &[0])], 8, 4),
    ]
}

/// What the guards do that their rows do not say.
pub fn wrong() -> Vec<String> {
    explored().0
}

/// The same, and how far was looked.
fn explored() -> (Vec<String>, Vec<String>) {
    let mut bounds = Vec::new();
    let mut wrong = Vec::new();
    for (name, kinds, one, two) in worlds() {
        let mut world = World::new(kinds);
        world.one_by_one(&Run::default(), one);
        let single = world.sequences;
        world.two_by_two(&Run::default(), two);
        let both = world.sequences - single;
        bounds.push(format!("{name}: {one} replies of one call ({single} runs), {two} of two calls ({both} runs)"));
        wrong.extend(world.wrong.into_iter().map(|w| format!("{name}: {w}")));
    }
    (wrong, bounds)
}

#[test]
fn the_guards_say_what_their_rows_say_and_nothing_else() {
    let (wrong, bounds) = explored();
    super::tell(&bounds.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
