//! A second checker, `stateright`, drives the same engine and must see as many states as our search. It keeps states
//! whole, compared by their fields, so that a field which the keys forgot would show as a state too many.

use super::graphs::{TABLES, key, table};
use crate::verify::oracle::Oracle;
use crate::verify::plan::{Plan, Precision};
use crate::verify::search::{Watcher, search};
use crate::verify::state::State;
use stateright::{Checker as _, Model, Property};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What makes a state one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Key,
    Fields,
}

#[derive(Clone, Debug)]
struct Node {
    state: State<Oracle>,
    by: By,
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, out: &mut H) {
        if self.by == By::Key {
            return key(&self.state).hash(out);
        }
        let State { core, phase, late, queue, aim, refused, given_back, monitor, may, fixed, calls } = &self.state;
        (core, phase, late, queue, aim, refused).hash(out);
        (given_back, monitor, may, fixed, calls).hash(out);
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        key(&self.state) == key(&other.state)
    }
}

struct Engine {
    plan: Plan,
    by: By,
}

impl Model for Engine {
    type State = Node;
    /// The state an edge leads to.
    type Action = Arc<Node>;

    fn init_states(&self) -> Vec<Node> {
        let mut states = Vec::new();
        self.plan.begin(&mut |edge| states.extend(edge.to.map(|state| Node { state, by: self.by })));
        states
    }

    fn actions(&self, node: &Node, actions: &mut Vec<Arc<Node>>) {
        self.plan.expand(&node.state, &mut |edge| {
            actions.extend(edge.to.map(|state| Arc::new(Node { state, by: self.by })));
        });
    }

    fn next_state(&self, _: &Node, action: Arc<Node>) -> Option<Node> {
        Some(Arc::unwrap_or_clone(action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("goes on as long as there are states", |_, _| true)]
    }
}

fn agree(name: &str, precision: Precision, by: By) {
    let table = table(TABLES.iter().find(|(n, _)| *n == name).unwrap().1);
    let plan = || Plan::new(&table, precision, true);
    let mut watcher = Watcher { max_states: 400_000, phase: "", progress: &mut |_| true };
    let ours = search::<Oracle>(&plan(), &[], &mut watcher);
    assert!(ours.stopped.is_none());
    let theirs = Engine { plan: plan(), by }.checker().spawn_bfs().join().unique_state_count();
    super::tell(&format!("{name}, by {by:?}: {} states, stateright sees {theirs}", ours.states));
    assert_eq!(ours.states, theirs, "{name} by {by:?}");
}

#[test]
fn stateright_sees_as_many_states_where_states_are_merged() {
    for (name, _) in TABLES {
        agree(name, Precision::PROOF, By::Key);
        agree(name, Precision::PROOF, By::Fields);
    }
}

#[test]
fn stateright_sees_as_many_states_where_nothing_is_merged() {
    let unmerged = |calls| Precision { unmerged: true, calls: Some(calls), ..Precision::PROOF };
    agree("plain", unmerged(2), By::Key);
    agree("gate", unmerged(2), By::Key);
    agree("jump", unmerged(1), By::Key);
}
