//! Breadth-first search over complete keys: the first path to a violation is a shortest one.

use super::bytes::Bytes;
use super::edges::Edge;
use super::key::{Keyed, encode};
use super::oracle::Explored;
use super::plan::Plan;
use super::property::Property;
use super::state::{Act, State};
use indexmap::IndexSet;
use std::collections::VecDeque;

/// How far a proof is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: &'static str,
    /// The states seen so far in this phase.
    pub states: usize,
    /// Those among them that were not looked at yet.
    pub open: usize,
}

/// How a search is bounded and watched.
pub struct Watcher<'a> {
    /// States at most.
    pub max_states: usize,
    /// What it is for.
    pub phase: &'static str,
    /// Told how far it is, at every state; `false` stops the search.
    pub progress: &'a mut dyn FnMut(&Progress) -> bool,
}

/// Why a search did not see every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There are more states than it may see.
    States,
    /// Whoever watches it wants no more.
    Asked,
    /// Everything that was looked for is found.
    Found,
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watcher({})", self.max_states)
    }
}

/// A property that does not hold, and the way there.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The acts, from the start.
    pub path: Vec<Act>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Searched {
    /// The states seen.
    pub states: usize,
    /// The edges gone.
    pub edges: usize,
    /// Bytes of all keys.
    pub bytes: usize,
    /// Why not every state was looked at; `None`: all were.
    pub stopped: Option<Stop>,
    /// What does not hold, a shortest path each.
    pub broken: Vec<Violation>,
}

/// Where a state was first reached from: by which edge of which state.
#[derive(Clone, Copy)]
struct Parent {
    state: u32,
    edge: u32,
}

/// The start has no parent.
const NONE: u32 = u32::MAX;

struct Search<'p, W> {
    plan: &'p Plan,
    seen: IndexSet<Box<[u8]>>,
    parents: Vec<Parent>,
    open: VecDeque<State<W>>,
    key: Bytes,
    found: Searched,
}

/// Searches the whole graph, or until every property in `wanted` is broken.
pub fn search<W: Explored + Keyed>(plan: &Plan, wanted: &[Property], watcher: &mut Watcher<'_>) -> Searched {
    search_and_show::<W>(plan, wanted, watcher, &mut |_| ())
}

/// As [`search`]; each state is shown when it is expanded.
pub fn search_and_show<W: Explored + Keyed>(
    plan: &Plan,
    wanted: &[Property],
    watcher: &mut Watcher<'_>,
    show: &mut dyn FnMut(&State<W>),
) -> Searched {
    let mut search = Search::<W> {
        plan,
        seen: IndexSet::new(),
        parents: Vec::new(),
        open: VecDeque::new(),
        key: Bytes::default(),
        found: Searched::default(),
    };
    let mut first = Vec::new();
    plan.begin::<W>(&mut |e| {
        first.push(e);
    });
    for (edge, e) in (0..).zip(first) {
        search.take(e, Parent { state: NONE, edge }, wanted);
    }
    let stopped = search.run(wanted, watcher, show);
    let mut found = search.found;
    found.stopped = stopped;
    found.states = search.seen.len();
    found
}

impl<W: Explored + Keyed> Search<'_, W> {
    fn run(&mut self, wanted: &[Property], watcher: &mut Watcher<'_>, show: &mut dyn FnMut(&State<W>)) -> Option<Stop> {
        let mut at = 0_u32;
        let mut edges = Vec::new();
        while let Some(state) = self.open.pop_front() {
            let progress = Progress { phase: watcher.phase, states: self.seen.len(), open: self.open.len() + 1 };
            if !(watcher.progress)(&progress) {
                return Some(Stop::Asked);
            }
            show(&state);
            self.plan.expand(&state, &mut |e| edges.push(e));
            for (edge, e) in edges.drain(..).enumerate() {
                self.take(e, Parent { state: at, edge: u32::try_from(edge).unwrap_or(NONE) }, wanted);
            }
            if self.seen.len() > watcher.max_states {
                return Some(Stop::States);
            }
            if !wanted.is_empty() && wanted.iter().all(|p| self.found.broken.iter().any(|v| v.property == *p)) {
                return Some(Stop::Found);
            }
            at += 1;
        }
        None
    }

    fn take(&mut self, edge: Edge<W>, parent: Parent, wanted: &[Property]) {
        self.found.edges += 1;
        for property in edge.broken {
            if wanted.contains(&property) && !self.found.broken.iter().any(|v| v.property == property) {
                let mut path = self.path(parent.state);
                path.push(edge.act.clone());
                self.found.broken.push(Violation { property, path });
            }
        }
        let Some(state) = edge.to else { return };
        encode(&state, &mut self.key);
        if !self.seen.contains(self.key.0.as_slice()) {
            self.found.bytes += self.key.0.len();
            self.seen.insert(self.key.0.as_slice().into());
            self.parents.push(parent);
            self.open.push_back(state);
        }
    }

    /// The acts that lead to a state, found again by going the way from the start.
    fn path(&self, mut state: u32) -> Vec<Act> {
        let mut way = Vec::new();
        while state != NONE {
            let Some(parent) = self.parents.get(state as usize) else { break };
            way.push(parent.edge);
            state = parent.state;
        }
        let mut acts = Vec::new();
        let mut at: Option<State<W>> = None;
        for edge in way.into_iter().rev() {
            let mut number = 0;
            let mut next = None;
            let mut pick = |e: Edge<W>| {
                if number == edge {
                    next = Some(e);
                }
                number += 1;
            };
            match &at {
                None => self.plan.begin::<W>(&mut pick),
                Some(state) => self.plan.expand(state, &mut pick),
            }
            let Some(e) = next else { break };
            acts.push(e.act);
            at = e.to;
        }
        acts
    }
}
