//! `cycle`: exact calls in turn, in a period of 2 to 4, with equal results every round.

use super::{Done, Guard, Look, Seen, Telling, Then};
use crate::engine::args::Identity;
use crate::engine::mutant::{self, Mutant};
use crate::table::model::CycleGuard;
use std::collections::VecDeque;

/// Longest period looked for.
pub const MAX_PERIOD: usize = 4;

/// The last answered calls, and the set that goes in a circle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ring {
    last: VecDeque<(Identity, u64)>,
    /// Members of the circle last found, and whether they are refused by now.
    circle: Vec<Identity>,
    refused: bool,
    ladder: u8,
}

impl Ring {
    /// Whether an identity is part of the circle last found, and whether that is refused.
    pub(crate) fn holds(&self, identity: Identity) -> (bool, bool) {
        let member = self.circle.contains(&identity);
        (member, member && self.refused)
    }
}

/// Refuses the members of a circle that went round often enough.
pub fn look(ring: &mut Ring, call: &Seen, guard: CycleGuard) -> Look {
    if guard.mode == crate::table::model::Mode::Off || !ring.refused || !ring.circle.contains(&call.identity) {
        return Look::Pass;
    }
    let then = match ring.ladder {
        0 => Then::Nothing,
        1 => Then::RollBack,
        _ => Then::Leave,
    };
    ring.ladder = (ring.ladder + 1).min(2);
    Look::Refuse { guard: Guard::Cycle, telling: Telling::Circle, then }
}

/// Notes an answered call; says what its result carries.
pub fn note(ring: &mut Ring, call: &Seen, done: &Done, guard: CycleGuard) -> Option<Telling> {
    let keep = MAX_PERIOD * guard.refuse.max(guard.hint) as usize;
    if ring.last.len() >= keep {
        ring.last.pop_front();
    }
    ring.last.push_back((call.identity, done.result));
    if !ring.circle.is_empty() && !ring.circle.contains(&call.identity) && !done.failed {
        ring.circle.clear();
        ring.refused = false;
        ring.ladder = 0;
    }
    if let Some((period, rounds)) = rounds(&ring.last)
        && rounds >= guard.hint as usize
    {
        let members: Vec<Identity> = ring.last.iter().rev().take(period).map(|(id, _)| *id).collect();
        if members.iter().any(|id| !ring.circle.contains(id)) {
            ring.ladder = 0;
        }
        ring.circle = members;
        ring.refused = rounds >= guard.refuse as usize && !mutant::on(Mutant::EndlessCircle);
    }
    ring.circle.contains(&call.identity).then_some(Telling::Circle)
}

/// The shortest period of the tail and how many whole rounds of it are equal, from two rounds on.
fn rounds(last: &VecDeque<(Identity, u64)>) -> Option<(usize, usize)> {
    let back = |n: usize| last.get(last.len().checked_sub(n + 1)?);
    (2..=MAX_PERIOD).find_map(|period| {
        let alike = (0..last.len()).take_while(|&n| n + period < last.len() && back(n) == back(n + period)).count();
        let rounds = alike / period + 1;
        let varied = (1..period).any(|n| back(n).map(|e| e.0) != back(0).map(|e| e.0));
        (rounds >= 2 && varied).then_some((period, rounds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> VecDeque<(Identity, u64)> {
        text.bytes().map(|b| (Identity(u128::from(b.to_ascii_lowercase())), u64::from(b))).collect()
    }

    #[test]
    fn periods_of_two_to_four_are_found_with_their_rounds() {
        assert_eq!(rounds(&tail("xabab")), Some((2, 2)));
        assert_eq!(rounds(&tail("ababab")), Some((2, 3)));
        assert_eq!(rounds(&tail("abcabc")), Some((3, 2)));
        assert_eq!(rounds(&tail("abcdabcd")), Some((4, 2)));
    }

    #[test]
    fn one_call_alone_another_result_or_a_longer_ring_is_no_cycle() {
        assert_eq!(rounds(&tail("aaaaaa")), None);
        assert_eq!(rounds(&tail("abaB")), None);
        assert_eq!(rounds(&tail("abcdeabcde")), None);
        assert_eq!(rounds(&tail("aba")), None);
    }
}
