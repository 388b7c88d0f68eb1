//! Breadth-first search over complete keys: the first path to a violation is a shortest one.

use super::edges::Edge;
use super::key::{Bytes, Keyed, encode};
use super::oracle::Explored;
use super::plan::Plan;
use super::property::Property;
use super::state::{Act, State};
use indexmap::IndexSet;
use std::collections::VecDeque;

/// States between two calls of the progress function.
const TICK: usize = 4_096;

/// How a search is bounded and watched.
pub struct Watcher<'a> {
    /// States at most.
    pub max_states: usize,
    /// Told the number of states now and then; `false` stops the search.
    pub progress: &'a mut dyn FnMut(usize) -> bool,
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
    /// Every state was expanded.
    pub complete: bool,
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
    search.run(wanted, watcher, show);
    let mut found = search.found;
    found.states = search.seen.len();
    found
}

impl<W: Explored + Keyed> Search<'_, W> {
    fn run(&mut self, wanted: &[Property], watcher: &mut Watcher<'_>, show: &mut dyn FnMut(&State<W>)) {
        let mut at = 0_u32;
        let mut edges = Vec::new();
        while let Some(state) = self.open.pop_front() {
            if (at as usize).is_multiple_of(TICK) && !(watcher.progress)(self.seen.len()) {
                return;
            }
            show(&state);
            self.plan.expand(&state, &mut |e| edges.push(e));
            for (edge, e) in edges.drain(..).enumerate() {
                self.take(e, Parent { state: at, edge: u32::try_from(edge).unwrap_or(NONE) }, wanted);
            }
            if self.seen.len() > watcher.max_states {
                return;
            }
            if !wanted.is_empty() && wanted.iter().all(|p| self.found.broken.iter().any(|v| v.property == *p)) {
                return;
            }
            at += 1;
        }
        self.found.complete = true;
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
