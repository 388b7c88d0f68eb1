//! What recorded calls show of the tools: which only read, which change what others read, which arguments and which
//! parts of results are mere decoration.
//!
//! Calls are compared within one run only: two runs are two worlds.

use super::spent::Histogram;
use super::steps::Step;
use crate::audit::recording::Recording;
use crate::table::{TIMESTAMP, UUID};
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Tools that one worker tells apart.
const MAX_TOOLS: usize = 1_000;
/// Arguments of one tool that are told apart.
const MAX_ARGS: usize = 64;
/// Sets of tools that are told apart between two answers of one tool.
const MAX_SETS: usize = 256;
/// Calls between two equal ones that are looked at; a pair further apart tells nothing.
const MAX_BETWEEN: usize = 200;

/// Pairs of calls, and the runs they stand in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) pairs: u64,
    pub(super) runs: u64,
}

impl Pairs {
    fn merge(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.runs += other.runs;
    }
}

/// An argument that was the only one to differ between two calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArgSeen {
    /// The result stayed the same.
    pub(super) same: Pairs,
    /// It did not.
    pub(super) other: Pairs,
    /// A value that was no text.
    pub(super) not_text: bool,
}

/// What was seen of one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolEvidence {
    pub(super) calls: u64,
    /// Equal calls, the same result, other calls between them.
    pub(super) kept: Pairs,
    /// Equal calls one after the other, the same result.
    pub(super) kept_at_once: Pairs,
    /// Equal calls one after the other, another result.
    pub(super) alone: Pairs,
    /// Equal calls, another result, only calls of this very tool between them.
    pub(super) own: Pairs,
    /// Equal calls, another result: by the set of the other tools that succeeded between them.
    pub(super) after: BTreeMap<Vec<String>, Pairs>,
    /// Equal calls whose results differ in what a mask takes out: `uuid` alone, `timestamp` alone, only both.
    pub(super) masked: [Pairs; 3],
    /// Calls that differ in arguments: with another result, with the same one.
    pub(super) differs: Pairs,
    pub(super) differs_not: Pairs,
    pub(super) args: BTreeMap<String, ArgSeen>,
    /// The names of the arguments, as long as all calls have the same ones.
    pub(super) keys: Option<BTreeSet<String>>,
    pub(super) keys_vary: bool,
    /// The most that one call was made in a run that succeeded, and in another.
    pub(super) most_same: [u32; 2],
    /// Calls of it in each successful run that used it, and the most in another.
    pub(super) of_success: Histogram,
    pub(super) most_of_others: u32,
}

/// What was seen of all tools.
#[derive(Debug, Default)]
pub(super) struct Evidence(pub(super) BTreeMap<String, ToolEvidence>);

/// The masks that have a name.
#[derive(Debug)]
pub(super) struct Masks([Option<Regex>; 2]);

impl Masks {
    pub(super) fn new() -> Self {
        Self([UUID, TIMESTAMP].map(|mask| Regex::new(mask).ok()))
    }

    /// Which masks make two different texts equal: an index into [`ToolEvidence::masked`].
    fn equal(&self, a: &str, b: &str) -> Option<usize> {
        let [uuid, timestamp] = &self.0;
        let out = |mask: &Option<Regex>, text: &str| match mask {
            Some(mask) => mask.replace_all(text, "").into_owned(),
            None => text.to_owned(),
        };
        let (a1, b1) = (out(uuid, a), out(uuid, b));
        if a1 == b1 {
            return Some(0);
        }
        if out(timestamp, a) == out(timestamp, b) {
            return Some(1);
        }
        (out(timestamp, &a1) == out(timestamp, &b1)).then_some(2)
    }
}

impl Evidence {
    /// Takes in a run.
    pub(super) fn see(&mut self, masks: &Masks, run: &Recording, steps: &[Step<'_>]) {
        let mut of_run = OfRun { masks, steps, tools: BTreeMap::new() };
        of_run.equal_calls();
        of_run.other_calls();
        of_run.counts(run.success == Some(true));
        // In a table such a name would be a pattern.
        for (tool, mut seen) in of_run.tools.into_iter().filter(|(tool, _)| !tool.contains('*')) {
            seen.one_run();
            self.add(tool.to_owned(), seen);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(tool, seen)| self.add(tool, seen));
    }

    fn add(&mut self, tool: String, seen: ToolEvidence) {
        if self.0.len() >= MAX_TOOLS && !self.0.contains_key(&tool) {
            return;
        }
        self.0.entry(tool).or_default().merge(seen);
    }
}

impl ToolEvidence {
    fn every_pair(&mut self) -> impl Iterator<Item = &mut Pairs> {
        let args = self.args.values_mut().flat_map(|arg| [&mut arg.same, &mut arg.other]);
        [
            &mut self.kept,
            &mut self.kept_at_once,
            &mut self.alone,
            &mut self.own,
            &mut self.differs,
            &mut self.differs_not,
        ]
        .into_iter()
        .chain(self.after.values_mut())
        .chain(&mut self.masked)
        .chain(args)
    }

    /// Whatever was seen was seen in one run.
    fn one_run(&mut self) {
        self.every_pair().for_each(|pairs| pairs.runs = u64::from(pairs.pairs > 0));
    }

    fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        let own = [&mut self.kept, &mut self.kept_at_once, &mut self.alone, &mut self.own];
        let of_other = [other.kept, other.kept_at_once, other.alone, other.own];
        own.into_iter().zip(of_other).for_each(|(own, other)| own.merge(other));
        self.masked.iter_mut().zip(other.masked).for_each(|(own, other)| own.merge(other));
        self.differs.merge(other.differs);
        self.differs_not.merge(other.differs_not);
        for (set, pairs) in other.after {
            if self.after.len() < MAX_SETS || self.after.contains_key(&set) {
                self.after.entry(set).or_default().merge(pairs);
            }
        }
        for (name, seen) in other.args {
            if self.args.len() < MAX_ARGS || self.args.contains_key(&name) {
                let arg = self.args.entry(name).or_default();
                arg.same.merge(seen.same);
                arg.other.merge(seen.other);
                arg.not_text |= seen.not_text;
            }
        }
        self.keys_vary |= other.keys_vary || matches!((&self.keys, &other.keys), (Some(a), Some(b)) if a != b);
        self.keys = self.keys.take().or(other.keys);
        self.most_same.iter_mut().zip(other.most_same).for_each(|(own, other)| *own = other.max(*own));
        self.of_success.merge(&other.of_success);
        self.most_of_others = self.most_of_others.max(other.most_of_others);
    }
}

struct OfRun<'s, 'r> {
    masks: &'s Masks,
    steps: &'s [Step<'r>],
    tools: BTreeMap<&'r str, ToolEvidence>,
}

impl<'r> OfRun<'_, 'r> {
    /// Each call beside the last equal one before it.
    fn equal_calls(&mut self) {
        let mut last = HashMap::new();
        let steps = self.steps;
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_good()) {
            let Some(before) = last.insert(step.identity, at).filter(|before| at - before <= MAX_BETWEEN) else {
                continue;
            };
            let Some(first) = steps.get(before) else { continue };
            // What failed may have changed something, too.
            let between = steps.get(before + 1..at).unwrap_or_default();
            self.pair(first, between, step);
        }
    }

    fn pair(&mut self, first: &Step<'_>, between: &[Step<'_>], step: &Step<'r>) {
        let masked = if first.result == step.result { None } else { self.masked(first, step) };
        let tool = self.tools.entry(step.tool()).or_default();
        if let Some(pairs) = masked.and_then(|mask| tool.masked.get_mut(mask)) {
            pairs.pairs += 1;
        }
        let equal = first.result == step.result || masked.is_some();
        let others: BTreeSet<&str> = between.iter().map(Step::tool).filter(|other| *other != step.tool()).collect();
        let pairs = match (equal, between.is_empty(), others.is_empty()) {
            (true, true, _) => &mut tool.kept_at_once,
            (true, false, _) => &mut tool.kept,
            (false, true, _) => &mut tool.alone,
            (false, false, true) => &mut tool.own,
            (false, false, false) => tool.after.entry(others.into_iter().map(str::to_owned).collect()).or_default(),
        };
        pairs.pairs += 1;
    }

    fn masked(&self, first: &Step<'_>, step: &Step<'_>) -> Option<usize> {
        let (a, b) = (first.call.result.as_ref()?, step.call.result.as_ref()?);
        self.masks.equal(&a.text, &b.text)
    }

    /// Each call beside the one of its tool before it, when the two differ in arguments and nothing ran between them.
    fn other_calls(&mut self) {
        let mut last: Option<(&Step<'r>, Map<String, Value>)> = None;
        for step in self.steps {
            let Some(args) = arguments(step) else {
                last = None;
                continue;
            };
            let tool = self.tools.entry(step.tool()).or_default();
            let keys: BTreeSet<String> = args.keys().cloned().collect();
            tool.keys_vary |= tool.keys.as_ref().is_some_and(|known| *known != keys);
            tool.keys = Some(keys);
            if !step.is_good() {
                last = None;
                continue;
            }
            if let Some((before, other)) = &last
                && before.tool() == step.tool()
                && *other != args
            {
                tool.differ(before.result == step.result, other, &args);
            }
            last = Some((step, args));
        }
    }

    fn counts(&mut self, success: bool) {
        let mut same: HashMap<_, u32> = HashMap::new();
        let mut of_tool: BTreeMap<&'r str, u32> = BTreeMap::new();
        for step in self.steps {
            let times = same.entry(step.identity).or_default();
            *times += 1;
            *of_tool.entry(step.tool()).or_default() += 1;
            let tool = self.tools.entry(step.tool()).or_default();
            tool.calls += 1;
            if let Some(most) = tool.most_same.get_mut(usize::from(!success)) {
                *most = (*times).max(*most);
            }
        }
        for (name, calls) in of_tool {
            let tool = self.tools.entry(name).or_default();
            if success {
                tool.of_success.count(calls);
            } else {
                tool.most_of_others = calls.max(tool.most_of_others);
            }
        }
    }
}

impl ToolEvidence {
    fn differ(&mut self, same_result: bool, a: &Map<String, Value>, b: &Map<String, Value>) {
        let pairs = if same_result { &mut self.differs_not } else { &mut self.differs };
        pairs.pairs += 1;
        let differ: Vec<&String> = a
            .keys()
            .chain(b.keys().filter(|key| !a.contains_key(*key)))
            .filter(|key| a.get(*key) != b.get(*key))
            .collect();
        let [key] = differ.as_slice() else { return };
        // With nothing beside it, the argument is what the call is about.
        if a.len().max(b.len()) < 2 || (self.args.len() >= MAX_ARGS && !self.args.contains_key(*key)) {
            return;
        }
        let arg = self.args.entry((*key).clone()).or_default();
        arg.not_text |= [a, b].iter().any(|args| args.get(*key).is_some_and(|value| !value.is_string()));
        let pairs = if same_result { &mut arg.same } else { &mut arg.other };
        pairs.pairs += 1;
    }
}

fn arguments(step: &Step<'_>) -> Option<Map<String, Value>> {
    let text = step.call.arguments.trim();
    if text.is_empty() { Some(Map::new()) } else { serde_json::from_str(text).ok() }
}
