//! From a table to what is proved of it: the search, and what a violation is made of.

use super::oracle::{Mute, Oracle};
pub use super::plan::GRANT;
use super::plan::{Plan, Precision};
use super::property::Property;
use super::search::{Progress, Searched, Stop, Violation, Watcher, search};
use super::{confirm, scenario, why};
use crate::engine::guard::Watch;
use crate::table::StageTable;
use crate::table::model::Guarantee;
use crate::testing::{Played, Scenario};

/// States explored at most, unless said otherwise.
pub const MAX_STATES: usize = 20_000_000;
/// States of the search with the real guards, which only looks for a counterexample.
const MAX_EXACT: usize = 200_000;
/// Ceiling above which a table counts as large.
const LARGE: u32 = 16;
/// Steps left that are told apart when a table is too large to count them all.
const MOST_LEFT: u32 = 3;

/// What is done after something may be broken.
const SEEKING: &str = "looking for a run that breaks it";

/// How a proof is bounded and watched.
pub struct Options<'a> {
    /// States at most; what is left then is not proved.
    pub max_states: usize,
    /// Grants of 1 to [`GRANT`] steps in one run, at most; 0 explores runs that nobody grants any.
    pub grants: u32,
    /// Told how far it is, often; `false` stops.
    pub progress: &'a mut dyn FnMut(&Progress) -> bool,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({}, {})", self.max_states, self.grants)
    }
}

/// A property that does not hold.
#[derive(Clone, Debug)]
pub struct Refuted {
    /// The property as a sentence.
    pub property: String,
    /// The engine played the scenario and the property was broken.
    pub confirmed: bool,
    /// The scenario, in the format of `stagekeeper test`; empty when none was found that the engine plays so.
    pub scenario: String,
    /// The run as a story.
    pub story: String,
}

/// A property that is neither proved nor refuted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// The property as a sentence.
    pub property: String,
    /// Why not, and what helps.
    pub why: String,
}

/// What came of a table.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// What holds in every run, as sentences.
    pub proved: Vec<String>,
    /// What does not.
    pub broken: Vec<Refuted>,
    /// What is neither proved nor refuted.
    pub open: Vec<Open>,
    /// Everything is proved or refuted.
    pub complete: bool,
    /// States explored for the proof.
    pub states: usize,
    /// Edges between them.
    pub edges: usize,
    /// Bytes of their keys.
    pub bytes: usize,
    /// Steps left beyond this number were not told apart.
    pub abstracted: Option<u32>,
    /// Grants of steps in one run that were explored.
    pub grants: u32,
}

/// Proves what can be proved of a table.
///
/// ```
/// use stagekeeper::{StageTable, verify::{self, Options}};
///
/// let table = StageTable::parse(
///     "stagekeeper: 1\nworkflow: w\nstages: { look: { goal: Look., allowed_tools: [ls], max_steps: 3 } }\n\
///      guarantees: [{ at_most: { tool: ls, times: 1 } }]\n",
/// )?;
/// let proof = verify::prove(&table, &mut Options { max_states: 10_000, grants: 0, progress: &mut |_| true });
/// assert!(proof.broken[0].confirmed);
/// assert!(proof.broken[0].scenario.contains("ls"));
/// # Ok::<(), stagekeeper::TableError>(())
/// ```
#[must_use]
pub fn prove(table: &StageTable, options: &mut Options<'_>) -> Proof {
    let all = Property::all(table);
    let Explored { found, abstracted, all_names } = explore(table, &all, options);
    let suspected: Vec<Property> = found.broken.iter().map(|v| v.property).collect();
    let mut proof = Proof {
        states: found.states,
        edges: found.edges,
        bytes: found.bytes,
        abstracted,
        grants: options.grants,
        ..Proof::default()
    };
    let mut refuted = refute(table, &suspected, options);
    for property in all {
        let said = property.said(table);
        if let Some(at) = refuted.iter().position(|(p, _)| *p == property) {
            proof.broken.push(refuted.swap_remove(at).1);
            continue;
        }
        let why = why::open(table, property, &found, options).or_else(|| (!all_names).then(why::names));
        match why {
            Some(why) => proof.open.push(Open { property: said, why }),
            None => proof.proved.push(said),
        }
    }
    proof.complete = proof.open.is_empty();
    proof
}

/// What the search for a proof came to.
struct Explored {
    found: Searched,
    abstracted: Option<u32>,
    all_names: bool,
}

/// A large table is first explored with its steps not all told apart: what holds there holds. What does not, or what a
/// small table asks, is explored step by step.
fn explore(table: &StageTable, all: &[Property], options: &mut Options<'_>) -> Explored {
    let every = Precision { grants: options.grants, ..Precision::PROOF };
    let coarse = Precision { most_left: Some(MOST_LEFT), ..every };
    let mut go = |precision: Precision, phase| {
        let setup = Progress { phase: "reading the table", states: 0, open: 0 };
        if !(options.progress)(&setup) {
            let found = Searched { stopped: Some(Stop::Asked), ..Searched::default() };
            return Explored { found, abstracted: precision.most_left, all_names: true };
        }
        let plan = Plan::new(table, precision, true);
        let found = run::<Oracle>(&plan, all, options, phase);
        Explored { found, abstracted: precision.most_left, all_names: plan.all_names }
    };
    // A promise of steps below the ceiling needs every step.
    let counts = |g: &Guarantee| matches!(g, Guarantee::Within { steps, .. } if *steps < table.ceiling());
    let large = table.ceiling() > LARGE && !table.guarantees.iter().any(counts);
    if large {
        let first = go(coarse, "proving");
        if first.found.stopped == Some(Stop::Asked) || (first.found.stopped.is_none() && first.found.broken.is_empty())
        {
            return first;
        }
    }
    let found = go(every, "proving, every step counted");
    if found.found.stopped == Some(Stop::States) && !large {
        let coarse = go(coarse, "proving, steps not all told apart");
        if coarse.found.stopped.is_none() {
            return coarse;
        }
    }
    found
}

fn run<W: super::oracle::Explored + super::key::Keyed>(
    plan: &Plan,
    wanted: &[Property],
    options: &mut Options<'_>,
    phase: &'static str,
) -> Searched {
    search::<W>(plan, wanted, &mut Watcher { max_states: options.max_states, phase, progress: options.progress })
}

/// Looks for runs that the engine really plays so: first of a model that never repeats itself, so that no identity
/// guard speaks, then with the real guards and few different calls.
fn refute(table: &StageTable, suspected: &[Property], options: &mut Options<'_>) -> Vec<(Property, Refuted)> {
    let mut refuted: Vec<(Property, Refuted)> = Vec::new();
    if suspected.is_empty() {
        return refuted;
    }
    let fixed = Precision { fixed: true, ..Precision::PROOF };
    let plan = Plan::new(table, fixed, false);
    let found = run::<Mute>(&plan, suspected, options, SEEKING);
    refuted.extend(found.broken.iter().filter_map(|v| played(&plan, v, false)));
    let rest: Vec<Property> =
        suspected.iter().copied().filter(|p| !refuted.iter().any(|(known, _)| known == p)).collect();
    if rest.is_empty() {
        return refuted;
    }
    for calls in [1, 2] {
        let exact = Precision { unmerged: true, calls: Some(calls), identities: 2, ..fixed };
        let plan = Plan::new(table, exact, false);
        let most = options.max_states.min(MAX_EXACT);
        let mut watcher = Watcher { max_states: most, phase: SEEKING, progress: options.progress };
        let found = search::<Watch>(&plan, &rest, &mut watcher);
        for violation in &found.broken {
            if !refuted.iter().any(|(known, _)| *known == violation.property) {
                refuted.extend(played(&plan, violation, true));
            }
        }
    }
    refuted
}

/// Plays a violation; `None` when the engine does not play it so.
fn played(plan: &Plan, violation: &Violation, exact: bool) -> Option<(Property, Refuted)> {
    let property = violation.property.said(&plan.table);
    let sentence = format!("it does not hold: {property}");
    let text = scenario::write(plan, &violation.path, &sentence, exact);
    let (played, text) = play(&plan.table, &text)?;
    if !confirm::breaks(&plan.table, violation.property, &played) {
        return None;
    }
    Some((violation.property, Refuted { property, confirmed: true, scenario: text, story: played.story() }))
}

fn play(table: &StageTable, text: &str) -> Option<(Played, String)> {
    let scenario = Scenario::parse(text, "<counterexample>").ok()?;
    let played = scenario.play(table).ok()?;
    let text = scenario::with_expectations(text, &played);
    Some((played, text))
}
