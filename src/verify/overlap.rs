//! Which sets of name patterns meet in one name, each with such a name: a tool is what the patterns that match it say.
//!
//! A breadth-first walk over words, letter by letter. Words after which every pattern stands at the same places go on
//! alike and are one; so every set that any name can have is found, with a shortest name.

use crate::table::names::NamePattern;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// Most words that are looked at.
const MAX_WORDS: usize = 50_000;
/// Most sets of patterns. What overlaps in more ways is not proved.
pub const MAX_SETS: usize = 1_000;
/// Letters that may stand for all that no pattern names; the first that is free is taken.
const OTHERS: &str = "xyzwvuqkjabcdefghilmnoprst0123456789-\u{3b1}";

/// A name for every set of patterns that meet in one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Samples {
    pub names: Vec<String>,
    /// No set is missing: none of the limits was reached.
    pub complete: bool,
}

/// How far a word has come: the places it may stand at, by pattern.
type Places = Vec<(u16, u16)>;

struct Walk<'a> {
    /// By pattern its letters.
    patterns: Vec<Vec<char>>,
    /// A letter that stands in no pattern.
    other: char,
    /// Names that are tools of their own.
    exact: &'a BTreeSet<&'a str>,
    seen: HashSet<(Places, Option<String>)>,
    open: VecDeque<(String, Places)>,
    found: BTreeMap<Vec<u16>, String>,
}

/// A name for every set of these patterns that meet in a name, other than the `exact` ones.
pub fn samples(patterns: &[NamePattern], exact: &BTreeSet<&str>) -> Samples {
    let letters: Vec<Vec<char>> = patterns.iter().map(|p| p.as_str().chars().collect()).collect();
    let taken = |c: &char| letters.iter().any(|l| l.contains(c));
    let fits = u16::try_from(patterns.len()).is_ok() && letters.iter().all(|l| u16::try_from(l.len()).is_ok());
    let Some(other) = OTHERS.chars().find(|c| !taken(c)).filter(|_| fits) else { return Samples::default() };
    let mut walk =
        Walk { patterns: letters, other, exact, seen: HashSet::new(), open: VecDeque::new(), found: BTreeMap::new() };
    let starts = (0..).zip(&walk.patterns).map(|(pattern, _)| (pattern, 0)).collect();
    walk.visit(String::new(), starts);
    let complete = walk.run();
    let mut names: Vec<String> = walk.found.into_values().collect();
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    Samples { names, complete }
}

/// Whether a name can match both.
pub fn meet(a: &NamePattern, b: &NamePattern) -> bool {
    match (a.is_exact(), b.is_exact()) {
        (true, _) => b.matches(a.as_str()),
        (_, true) => a.matches(b.as_str()),
        (false, false) => {
            let samples = samples(&[a.clone(), b.clone()], &BTreeSet::new());
            !samples.complete || samples.names.iter().any(|name| a.matches(name) && b.matches(name))
        }
    }
}

impl Walk<'_> {
    /// `false`: a limit was reached.
    fn run(&mut self) -> bool {
        while let Some((word, places)) = self.open.pop_front() {
            if self.seen.len() > MAX_WORDS || self.found.len() > MAX_SETS {
                return false;
            }
            let awaited: BTreeSet<char> =
                places.iter().filter_map(|at| self.letter(*at)).filter(|c| *c != '*').collect();
            for letter in [self.other].into_iter().chain(awaited) {
                let mut longer = word.clone();
                longer.push(letter);
                let places = self.step(&places, letter);
                self.visit(longer, places);
            }
        }
        true
    }

    fn letter(&self, (pattern, place): (u16, u16)) -> Option<char> {
        self.patterns.get(usize::from(pattern))?.get(usize::from(place)).copied()
    }

    /// Takes a word up, unless one that goes on alike was. The beginning of an exact name goes on like no other,
    /// and the empty word is no name.
    fn visit(&mut self, word: String, places: Places) {
        let places = self.settled(places);
        let begins = self.exact.range(word.as_str()..).next().is_some_and(|name| name.starts_with(&word));
        let apart = begins || word.is_empty();
        if places.is_empty() || !self.seen.insert((places.clone(), apart.then(|| word.clone()))) {
            return;
        }
        let set = self.matched(&places);
        if !set.is_empty() && !word.is_empty() && !self.exact.contains(word.as_str()) && !self.found.contains_key(&set)
        {
            let name = self.readable(&word, &places, &set);
            self.found.insert(set, name);
        }
        self.open.push_back((word, places));
    }

    /// `fs_x` reads better than `fs_`.
    fn readable(&self, word: &str, places: &Places, set: &[u16]) -> String {
        let longer = format!("{word}{}", self.other);
        let same = self.matched(&self.settled(self.step(places, self.other))) == set;
        let plain = word.contains(self.other) || !same || self.exact.contains(longer.as_str());
        if plain { word.to_owned() } else { longer }
    }

    fn step(&self, places: &Places, letter: char) -> Places {
        let next = |at: &(u16, u16)| match self.letter(*at) {
            Some('*') => Some(*at),
            Some(c) if c == letter => Some((at.0, at.1 + 1)),
            _ => None,
        };
        places.iter().filter_map(next).collect()
    }

    /// Adds the places behind each `*`, which may stand for nothing, and drops those that a later `*` makes idle: what
    /// matches from there matches from the later one too.
    fn settled(&self, mut places: Places) -> Places {
        let mut at = 0;
        while let Some(place) = places.get(at).copied() {
            if self.letter(place) == Some('*') {
                places.push((place.0, place.1 + 1));
            }
            at += 1;
        }
        places.sort_unstable();
        places.dedup();
        let stars: BTreeMap<u16, u16> = places.iter().copied().filter(|at| self.letter(*at) == Some('*')).collect();
        places.retain(|(pattern, place)| stars.get(pattern).is_none_or(|star| place >= star));
        places
    }

    /// The patterns that match a word that ends here.
    fn matched(&self, places: &Places) -> Vec<u16> {
        places.iter().filter(|at| self.letter(**at).is_none()).map(|at| at.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, samples};
    use crate::table::names::NamePattern;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn patterns(texts: &[&str]) -> Vec<NamePattern> {
        texts.iter().map(|t| NamePattern::new(t)).collect()
    }

    fn names(texts: &[&str], exact: &[&str]) -> Vec<String> {
        let Samples { names, complete } = samples(&patterns(texts), &exact.iter().copied().collect());
        assert!(complete);
        names
    }

    #[test]
    fn each_set_of_patterns_that_meet_has_a_name() {
        assert_eq!(names(&["fs_*"], &[]), ["fs_x"]);
        assert_eq!(names(&["fs_*", "db_*"], &[]), ["db_x", "fs_x"]);
        assert_eq!(names(&["get_*", "*_secret"], &[]), ["get_x", "_secret", "get_secret"]);
        assert_eq!(names(&["a*", "*b", "*c*"], &[]), ["b", "ab", "ax", "cb", "cx", "acb", "acx"]);
    }

    #[test]
    fn an_exact_name_is_no_sample() {
        assert_eq!(names(&["fs_*"], &["fs_x", "fs_"]), ["fs_xx"]);
        assert_eq!(names(&["*"], &["x"]), ["xx"]);
    }

    #[test]
    fn what_overlaps_in_too_many_ways_is_not_complete() {
        let many: Vec<NamePattern> = ('a'..='z').map(|c| NamePattern::new(&format!("*{c}*"))).collect();
        assert!(!samples(&many, &BTreeSet::new()).complete);
    }

    /// All words of up to five letters.
    fn words() -> Vec<String> {
        let mut all = vec![String::new()];
        for at in 0.. {
            let Some(word) = all.get(at).cloned() else { break };
            if word.len() < 5 {
                all.extend(["a", "b", "x"].map(|c| word.clone() + c));
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_sets_are_those_that_names_have(
            texts in proptest::collection::btree_set("[ab*]{0,3}\\*[ab*]{0,2}", 1..4),
            exact in proptest::collection::btree_set("[abx]{1,2}", 0..3),
        ) {
            let patterns: Vec<NamePattern> = texts.iter().map(|t| NamePattern::new(t)).collect();
            let set = |name: &str| patterns.iter().map(|p| p.matches(name)).collect::<Vec<bool>>();
            let exact: BTreeSet<&str> = exact.iter().map(String::as_str).collect();
            let samples = samples(&patterns, &exact);
            prop_assert!(samples.complete);
            let found: BTreeSet<Vec<bool>> = samples.names.iter().map(|n| set(n)).collect();
            prop_assert_eq!(found.len(), samples.names.len());
            for word in words().iter().filter(|w| !w.is_empty() && !exact.contains(w.as_str())) {
                let set = set(word);
                prop_assert!(!set.contains(&true) || found.contains(&set), "{} has no sample among {:?}", word, samples);
            }
        }
    }
}
