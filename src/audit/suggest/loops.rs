//! Loops in recorded runs: what they are made of and what they cost.

use super::label::Labels;
use super::steps::Step;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Identical calls with equal results in a row that are a loop.
pub const MIN_REPEATS: usize = 3;
/// Equal rounds of two to four calls that are a loop.
pub const MIN_ROUNDS: usize = 3;
/// Longest round looked for.
pub const MAX_PERIOD: usize = 4;
/// Failures of one tool in a row that are a loop.
pub const MIN_ERRORS: usize = 3;
/// Calls of one run that brought nothing new, outside other loops, that are a loop together.
pub const MIN_STALE: usize = 5;
/// Loops that are listed, the costliest first; the others are counted.
pub const MAX_LOOPS: usize = 20;
/// Kinds and tools that one worker tells apart.
const MAX_KEPT: usize = 10_000;
/// Members that are named.
const MAX_MEMBERS: usize = 4;
/// Characters of a member's arguments that are shown.
const SHOWN: usize = 80;

/// What a loop looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// One call again and again, with the same result.
    Repeat,
    /// Two to four calls in turn, with the same results every round.
    Cycle,
    /// One tool failing again and again.
    Errors,
    /// Calls here and there whose result was known.
    NoProgress,
}

impl LoopKind {
    /// A few words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Repeat => "one call again and again",
            Self::Cycle => "calls in turn",
            Self::Errors => "errors in a row",
            Self::NoProgress => "known results",
        }
    }
}

/// Loops of one kind and the same tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopFound {
    /// What it looks like.
    pub kind: LoopKind,
    /// The tools in it.
    pub tools: Vec<String>,
    /// How often it was found.
    pub loops: u64,
    /// The runs it was found in.
    pub runs: Labels,
    /// Calls beyond the first round, which brought nothing.
    pub calls: u64,
    /// What those calls cost.
    pub tokens: u64,
    /// Whether some of the tokens are estimated.
    pub tokens_estimated: bool,
    /// The costliest of them: its calls beyond the first round, its run, its members.
    pub longest: Longest,
}

/// The costliest loop of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Longest {
    /// Calls beyond the first round.
    pub calls: u64,
    /// The run it stands in.
    pub run: String,
    /// Its calls, arguments cut.
    pub members: Vec<String>,
}

/// One loop in one run.
struct Found {
    kind: LoopKind,
    tools: Vec<String>,
    members: Vec<String>,
    calls: u64,
    tokens: u64,
    estimated: bool,
}

/// Loops of many runs.
#[derive(Debug, Default)]
pub(super) struct Loops {
    found: BTreeMap<(LoopKind, Vec<String>), LoopFound>,
}

impl Loops {
    /// Takes in the loops of a run.
    pub(super) fn see(&mut self, id: &str, success: Option<bool>, steps: &[Step<'_>]) {
        let mut counted = BTreeSet::new();
        for found in Search::new(steps).all() {
            let key = (found.kind, found.tools.clone());
            if self.found.len() >= MAX_KEPT && !self.found.contains_key(&key) {
                continue;
            }
            let mut one = LoopFound {
                kind: found.kind,
                tools: found.tools,
                loops: 1,
                runs: Labels::default(),
                calls: found.calls,
                tokens: found.tokens,
                tokens_estimated: found.estimated,
                longest: Longest { calls: found.calls, run: id.to_owned(), members: found.members },
            };
            if counted.insert(key.clone()) {
                one.runs.count(success);
            }
            self.add(key, one);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        other.found.into_iter().for_each(|(key, found)| self.add(key, found));
    }

    fn add(&mut self, key: (LoopKind, Vec<String>), one: LoopFound) {
        match self.found.entry(key) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(one);
            }
            std::collections::btree_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.loops += one.loops;
                known.runs += one.runs;
                known.calls += one.calls;
                known.tokens += one.tokens;
                known.tokens_estimated |= one.tokens_estimated;
                let longer = |l: &Longest| (std::cmp::Reverse(l.calls), l.run.clone(), l.members.clone());
                if longer(&one.longest) < longer(&known.longest) {
                    known.longest = one.longest;
                }
            }
        }
    }

    /// The costliest first, and how many are left out.
    pub(super) fn finish(self) -> (Vec<LoopFound>, usize) {
        let mut all: Vec<LoopFound> = self.found.into_values().collect();
        all.sort_by(|a, b| (b.calls, a.kind, &a.tools).cmp(&(a.calls, b.kind, &b.tools)));
        let left_out = all.len().saturating_sub(MAX_LOOPS);
        all.truncate(MAX_LOOPS);
        (all, left_out)
    }
}

/// Looks for the loops of one run; no call belongs to two.
struct Search<'s, 'r> {
    steps: &'s [Step<'r>],
    taken: Vec<bool>,
    found: Vec<Found>,
}

impl<'s, 'r> Search<'s, 'r> {
    fn new(steps: &'s [Step<'r>]) -> Self {
        Self { steps, taken: steps.iter().map(|step| step.poll).collect(), found: Vec::new() }
    }

    fn all(mut self) -> Vec<Found> {
        self.in_a_row();
        self.errors();
        self.stale();
        self.found
    }

    /// Repeats of one call (a period of one) and cycles.
    fn in_a_row(&mut self) {
        let mut at = 0;
        while at < self.steps.len() {
            let found = (1..=MAX_PERIOD).find_map(|period| {
                let rest = self.steps.get(at..)?;
                let alike = rest.iter().zip(rest.iter().skip(period)).take_while(|(a, b)| a.repeats(b)).count();
                let least = if period == 1 { MIN_REPEATS - 1 } else { period * (MIN_ROUNDS - 1) };
                (alike >= least).then_some((period, alike))
            });
            let Some((period, alike)) = found.filter(|_| self.taken.get(at) == Some(&false)) else {
                at += 1;
                continue;
            };
            let all: Vec<usize> = (at..at + period + alike).collect();
            let kind = if period == 1 { LoopKind::Repeat } else { LoopKind::Cycle };
            self.take(kind, &all, period);
            at += period + alike;
        }
    }

    fn errors(&mut self) {
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut whole = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let row = rows.entry(step.tool()).or_default();
            if step.failed && self.taken.get(at) == Some(&false) {
                row.push(at);
            } else {
                whole.push(std::mem::take(row));
            }
        }
        whole.extend(rows.into_values());
        for row in whole.iter().filter(|row| row.len() >= MIN_ERRORS) {
            self.take(LoopKind::Errors, row, 1);
        }
    }

    fn stale(&mut self) {
        let rest = self.steps.iter().zip(&self.taken).enumerate();
        let stale: Vec<usize> = rest.filter(|(_, (step, taken))| step.stale && !**taken).map(|(at, _)| at).collect();
        if stale.len() >= MIN_STALE {
            self.take(LoopKind::NoProgress, &stale, 0);
        }
    }

    /// Notes a loop; the first `free` of its calls cost nothing, since they were needed once.
    fn take(&mut self, kind: LoopKind, all: &[usize], free: usize) {
        let steps: Vec<&Step<'_>> = all.iter().filter_map(|&at| self.steps.get(at)).collect();
        all.iter().for_each(|&at| self.taken.get_mut(at).into_iter().for_each(|taken| *taken = true));
        let beyond = || steps.iter().skip(free);
        self.found.push(Found {
            kind,
            tools: tools(kind, &steps, free),
            members: members(&steps),
            calls: beyond().count() as u64,
            tokens: beyond().map(|step| step.tokens).sum(),
            estimated: beyond().any(|step| step.estimated),
        });
    }
}

/// The tools: of a cycle those of one round, from the least one on, so that `a b` and `b a` are one loop.
fn tools(kind: LoopKind, steps: &[&Step<'_>], period: usize) -> Vec<String> {
    if kind != LoopKind::Cycle {
        let all: BTreeSet<&str> = steps.iter().map(|step| step.tool()).collect();
        return all.into_iter().take(MAX_MEMBERS).map(str::to_owned).collect();
    }
    let round: Vec<String> = steps.iter().take(period).map(|step| step.tool().to_owned()).collect();
    let turned = |by: usize| round.iter().cycle().skip(by).take(period).cloned().collect::<Vec<_>>();
    (0..period).map(turned).min().unwrap_or_default()
}

/// The different calls, the most frequent first.
fn members(steps: &[&Step<'_>]) -> Vec<String> {
    let mut times: Vec<(usize, &Step<'_>)> = Vec::new();
    for step in steps {
        match times.iter_mut().find(|(_, known)| known.identity == step.identity) {
            Some((times, _)) => *times += 1,
            None => times.push((1, step)),
        }
    }
    times.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    let left_out = times.len().saturating_sub(MAX_MEMBERS);
    let named = times.iter().take(MAX_MEMBERS).map(|(times, step)| format!("{times} × {}", shown(step)));
    named.chain((left_out > 0).then(|| format!("and {left_out} others"))).collect()
}

/// A call on one line, its arguments cut.
fn shown(step: &Step<'_>) -> String {
    let plain: String = step.call.arguments.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = plain.chars().take(SHOWN).collect();
    let mark = if plain.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("{} {cut}{mark}", step.tool())
}
