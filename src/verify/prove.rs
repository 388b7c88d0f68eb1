//! From a table to what is proved of it: the search, and what a violation is made of.

use super::oracle::{Mute, Oracle};
use super::plan::{Plan, Precision};
use super::property::Property;
use super::search::{Searched, Violation, Watcher, search};
use super::{confirm, scenario};
use crate::engine::guard::Watch;
use crate::table::StageTable;
use crate::table::model::{Allowed, Guarantee, Spend};
use crate::table::names::NamePattern;
use crate::testing::{Played, Scenario};

/// States explored at most, unless said otherwise.
pub const MAX_STATES: usize = 20_000_000;
/// States of the search with the real guards, which only looks for a counterexample.
const MAX_EXACT: usize = 200_000;
/// Ceiling above which a table counts as large.
const LARGE: u32 = 16;
/// Steps left that are told apart when a table is too large to count them all.
const MOST_LEFT: u32 = 3;

/// How a proof is bounded and watched.
pub struct Options<'a> {
    /// States at most; what is left then is not proved.
    pub max_states: usize,
    /// Told the number of states now and then; `false` stops.
    pub progress: &'a mut dyn FnMut(usize) -> bool,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({})", self.max_states)
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

/// What came of a table.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// What holds in every run, as sentences.
    pub proved: Vec<String>,
    /// What does not.
    pub broken: Vec<Refuted>,
    /// What is neither proved nor refuted.
    pub open: Vec<String>,
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
/// let proof = verify::prove(&table, &mut Options { max_states: 10_000, progress: &mut |_| true });
/// assert!(proof.broken[0].confirmed);
/// assert!(proof.broken[0].scenario.contains("ls"));
/// # Ok::<(), stagekeeper::TableError>(())
/// ```
#[must_use]
pub fn prove(table: &StageTable, options: &mut Options<'_>) -> Proof {
    let all = Property::all(table);
    let (found, abstracted) = explore(table, &all, options);
    let suspected: Vec<Property> = found.broken.iter().map(|v| v.property).collect();
    let mut proof =
        Proof { states: found.states, edges: found.edges, bytes: found.bytes, abstracted, ..Proof::default() };
    let mut refuted = refute(table, &suspected, options);
    let below = nested_below(table);
    for property in all {
        let said = property.said(table);
        if let Some(at) = refuted.iter().position(|(p, _)| *p == property) {
            proof.broken.push(refuted.swap_remove(at).1);
        } else if suspected.contains(&property) || !found.complete || below.reads(table, property) {
            proof.open.push(said);
        } else {
            proof.proved.push(said);
        }
    }
    proof.complete = proof.open.is_empty();
    proof
}

/// What nested runs can do that the exploration of the outer table does not see.
#[derive(Default)]
struct Below {
    /// Tables of nested runs.
    tables: Vec<StageTable>,
    /// Some spend steps of their own.
    own: bool,
    /// Their calls can use up the outer run's `max_calls`.
    calls: bool,
}

fn nested_below(table: &StageTable) -> Below {
    let nested = |t: &StageTable| t.tools.iter().filter_map(|t| t.nested.as_ref()).any(|n| n.spend == Spend::Own);
    let tables: Vec<StageTable> = table.nested.values().cloned().collect();
    let own = nested(table) || tables.iter().any(nested);
    Below { own, calls: !tables.is_empty() && table.limits.max_calls.is_some(), tables }
}

impl Below {
    /// Whether a property depends on it; then it is not proved.
    fn reads(&self, table: &StageTable, property: Property) -> bool {
        let runs = |tool: &NamePattern| self.tables.iter().any(|t| may_call(t, tool));
        let guarantee = match property {
            Property::Guarantee(at) => table.guarantees.get(at),
            _ => None,
        };
        let read = match guarantee {
            Some(Guarantee::Never { tool, before }) => runs(tool) || runs(before),
            Some(Guarantee::AtMost { tool, .. } | Guarantee::OnlyIn { tool, .. }) => runs(tool),
            Some(Guarantee::Within { tree, .. }) => *tree && self.own,
            Some(Guarantee::Reaches(_)) | None => false,
        };
        read || self.calls
    }
}

/// Whether a stage of the table may allow a tool of that pattern.
fn may_call(table: &StageTable, tool: &NamePattern) -> bool {
    table.stages.iter().any(|s| match &s.allowed {
        Allowed::All => true,
        Allowed::These { list, .. } => list.iter().any(|p| {
            if p.is_exact() { tool.matches(p.as_str()) } else { !tool.is_exact() || p.matches(tool.as_str()) }
        }),
    })
}

/// A large table is first explored with its steps not all told apart: what holds there holds. What does not, or what a
/// small table asks, is explored step by step.
fn explore(table: &StageTable, all: &[Property], options: &mut Options<'_>) -> (Searched, Option<u32>) {
    let coarse = |options: &mut Options<'_>| {
        let plan = Plan::new(table, Precision { most_left: Some(MOST_LEFT), ..Precision::PROOF }, true);
        run::<Oracle>(&plan, all, options)
    };
    // A promise of steps below the ceiling needs every step.
    let counts = |g: &Guarantee| matches!(g, Guarantee::Within { steps, .. } if *steps < table.ceiling());
    let large = table.ceiling() > LARGE && !table.guarantees.iter().any(counts);
    if large {
        let found = coarse(options);
        if found.complete && found.broken.is_empty() {
            return (found, Some(MOST_LEFT));
        }
    }
    let found = run::<Oracle>(&Plan::new(table, Precision::PROOF, true), all, options);
    if !found.complete && !large {
        let coarse = coarse(options);
        if coarse.complete {
            return (coarse, Some(MOST_LEFT));
        }
    }
    (found, None)
}

fn run<W: super::oracle::Explored + super::key::Keyed>(
    plan: &Plan,
    wanted: &[Property],
    options: &mut Options<'_>,
) -> Searched {
    search::<W>(plan, wanted, &mut Watcher { max_states: options.max_states, progress: options.progress })
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
    let found = run::<Mute>(&plan, suspected, options);
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
        let mut watcher = Watcher { max_states: most, progress: options.progress };
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
