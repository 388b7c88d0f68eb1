//! Merged and unmerged explorations agree, and real runs stay within the abstract graph.

use crate::engine::core::Core;
use crate::engine::guard::{Identities, Watch};
use crate::engine::input::{CallNo, Finish, Input, ProposedCall, Reply, ToolResult};
use crate::engine::session::Session;
use crate::table::StageTable;
use crate::verify::bytes::Bytes;
use crate::verify::canonical::canonical;
use crate::verify::key::{Keyed, encode};
use crate::verify::names;
use crate::verify::oracle::{Explored, Oracle};
use crate::verify::plan::{Plan, Precision};
use crate::verify::property::Property;
use crate::verify::search::{Searched, Watcher, search_and_show};
use crate::verify::state::{Mays, Monitor, Phase, State};
use proptest::prelude::*;
use std::collections::BTreeSet;

const HEAD: &str = "stagekeeper: 1\nworkflow: w\nlimits: { user_turns: 1, calls_per_step: 2 }\n";

/// Small tables that each have something of their own.
pub const TABLES: &[(&str, &str)] = &[
    ("plain", "stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 2 }
  say: { goal: Say., allowed_tools: [], max_steps: 1 }
"),
    ("gate", "tools: { test: { effect: read }, send: { effect: write, max_calls: 1, approval: always, requires: { ok: Test first. } } }
facts: { ok: { from: result, tool: test, match: OK, cleared_by: [send] } }
stages:
  look: { goal: Look., allowed_tools: [test], max_steps: 2, requires: { ok: Test. } }
  say: { goal: Say., allowed_tools: [send], max_steps: 2 }
"),
    ("jump", "tools: { ls: { effect: read }, go: { effect: write } }
stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 2, leave_by: [answer, call], on_exhausted: retry_fresh }
  act: { goal: Act., allowed_tools: [go], max_steps: 1, max_calls: 1 }
  say: { goal: Say., allowed_tools: [], max_steps: 1 }
rules: [{ name: back, at: result, tool: go, when: result.error, goto: look }, { name: not-now, at: call, tool: go, when: 'call.args.x', deny: No. }]
"),
    ("aside", "stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 2, on_exhausted: help }
  say: { goal: Say., allowed_tools: [], max_steps: 1, approval: always }
  help: { aside: true, next: back, goal: Help., allowed_tools: [ls], max_steps: 1 }
rules: [{ name: more, at: reply, when: 'reply.text', extend: { stage: look, steps: 1 } }]
"),
];

pub fn table(text: &str) -> StageTable {
    StageTable::parse(&format!("{HEAD}{text}")).unwrap_or_else(|e| panic!("{e}"))
}

fn explore<W: Explored + Keyed>(plan: &Plan, show: &mut dyn FnMut(&State<W>)) -> Searched {
    let mut watcher = Watcher { max_states: 400_000, phase: "", progress: &mut |_| true };
    let found = search_and_show::<W>(plan, &Property::ALWAYS, &mut watcher, show);
    assert!(found.stopped.is_none() && found.broken.is_empty(), "{:?} {}", found.broken, found.states);
    found
}

pub fn key<W: Identities + Keyed>(state: &State<W>) -> Vec<u8> {
    let mut bytes = Bytes::default();
    encode(state, &mut bytes);
    bytes.0
}

/// A core as it looks to a proof that knows nothing of identities. Taken apart whole: a new field must come along.
fn with_oracle<W>(core: &Core<W>) -> Core<Oracle> {
    let Core {
        life,
        stage,
        spent,
        widened,
        entered,
        stage_calls,
        came_from,
        retried,
        extended,
        steps,
        calls,
        tools,
        facts,
        violations_in_a_row,
        violations,
        rollbacks,
        silent,
        nudged,
        ran_here,
        past,
        watch: _,
        streak,
        tokens,
        cost_micros,
        time_ms,
        user_turns,
        closing,
        shortened,
        admission,
        cancelled,
        bound,
        granted,
        reply,
        notes,
    } = core;
    Core {
        life: life.clone(),
        stage: *stage,
        spent: spent.clone(),
        widened: widened.clone(),
        entered: entered.clone(),
        stage_calls: stage_calls.clone(),
        came_from: came_from.clone(),
        retried: retried.clone(),
        extended: extended.clone(),
        steps: *steps,
        calls: *calls,
        tools: tools.clone(),
        facts: facts.clone(),
        violations_in_a_row: *violations_in_a_row,
        violations: *violations,
        rollbacks: *rollbacks,
        silent: *silent,
        nudged: *nudged,
        ran_here: *ran_here,
        past: past.clone(),
        watch: Oracle::default(),
        streak: streak.clone(),
        tokens: *tokens,
        cost_micros: *cost_micros,
        time_ms: *time_ms,
        user_turns: *user_turns,
        closing: closing.clone(),
        shortened: *shortened,
        admission: *admission,
        cancelled: *cancelled,
        bound: bound.clone(),
        granted: *granted,
        reply: reply.clone(),
        notes: notes.clone(),
    }
}

/// The key of the state that stands for this one in the merged graph.
fn merged_key<W>(core: &Core<W>, monitor: &Monitor, plan: &Plan) -> Vec<u8> {
    let core = with_oracle(core);
    let mut state = State {
        aim: core.stage,
        core,
        phase: Phase::Idle,
        late: None,
        queue: Vec::new(),
        refused: false,
        given_back: Vec::new(),
        monitor: monitor.clone(),
        may: Mays::default(),
        fixed: Vec::new(),
        calls: 0,
    };
    canonical(&mut state, plan);
    key(&state)
}

/// The keys of the states between replies, of the merged graph.
fn merged(plan: &Plan) -> (BTreeSet<Vec<u8>>, Searched) {
    let mut keys = BTreeSet::new();
    let found = explore::<Oracle>(plan, &mut |state| {
        if state.phase == Phase::Idle {
            keys.insert(key(state));
        }
    });
    (keys, found)
}

#[test]
fn merged_and_unmerged_explorations_agree_state_for_state() {
    for (name, text) in TABLES {
        let table = table(text);
        let bound = Precision { calls: Some(2), ..Precision::PROOF };
        let plan = Plan::new(&table, bound, true);
        let (merged, found) = merged(&plan);
        let apart = Plan::new(&table, Precision { unmerged: true, ..bound }, true);
        let mut projected = BTreeSet::new();
        let all = explore::<Oracle>(&apart, &mut |state| {
            if state.phase == Phase::Idle {
                projected.insert(merged_key(&state.core, &state.monitor, &plan));
            }
        });
        crate::verify::tests::tell(&format!(
            "{name}: {} merged, {} unmerged states, {} between replies",
            found.states,
            all.states,
            merged.len()
        ));
        let missing = projected.difference(&merged).count();
        let extra = merged.difference(&projected).count();
        assert_eq!((missing, extra), (0, 0), "{name}: of {} and {}", merged.len(), projected.len());
    }
}

#[test]
fn the_graph_with_steps_abstracted_contains_every_state_with_all_steps_counted() {
    let table = table("tools: { ls: { effect: read }, go: { effect: write, max_calls: 5 } }
stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 4, leave_by: [answer, call] }
  act: { goal: Act., allowed_tools: [go], max_steps: 3 }
  say: { goal: Say., allowed_tools: [], max_steps: 3 }
rules: [{ name: back, at: result, tool: go, when: result.error, goto: look }, { name: more, at: reply, when: reply.text, extend: { stage: act, steps: 2 } }]
");
    let coarse = Plan::new(&table, Precision { most_left: Some(1), ..Precision::PROOF }, true);
    let (abstracted, _) = merged(&coarse);
    let mut all = 0;
    explore::<Oracle>(&Plan::new(&table, Precision::PROOF, true), &mut |state| {
        if state.phase == Phase::Idle {
            all += 1;
            assert!(abstracted.contains(&merged_key(&state.core, &state.monitor, &coarse)), "{:?}", state.core);
        }
    });
    crate::verify::tests::tell(&format!("{all} states between replies, {} with steps abstracted", abstracted.len()));
}

#[test]
fn the_abstract_graph_contains_every_state_of_the_real_guards() {
    for (name, text) in TABLES.iter().take(2) {
        let table = table(text);
        let (merged, _) = merged(&Plan::new(&table, Precision::PROOF, true));
        let plan = Plan::new(&table, Precision::PROOF, true);
        let exact = Precision { unmerged: true, calls: Some(1), identities: 1, ..Precision::PROOF };
        let mut seen = 0;
        let mut watcher = Watcher { max_states: 60_000, phase: "", progress: &mut |_| true };
        search_and_show::<Watch>(&Plan::new(&table, exact, false), &Property::ALWAYS, &mut watcher, &mut |state| {
            if state.phase == Phase::Idle {
                seen += 1;
                assert!(merged.contains(&merged_key(&state.core, &state.monitor, &plan)), "{name}: {:?}", state.core);
            }
        });
        crate::verify::tests::tell(&format!(
            "{name}: {seen} states with the real guards, {} abstract ones",
            merged.len()
        ));
    }
}

/// What a random run does next.
#[derive(Clone, Debug)]
enum Next {
    Reply { text: bool, cut: bool, calls: Vec<(u8, u8)> },
    Finish(u8),
    Approve(bool),
    Cancel,
    Fails,
    User,
}

fn next() -> impl Strategy<Value = Next> {
    let calls = prop::collection::vec((0_u8..5, 0_u8..3), 0..4);
    prop_oneof![
        4 => (any::<bool>(), prop::bool::weighted(0.1), calls).prop_map(|(text, cut, calls)| Next::Reply { text, cut, calls }),
        4 => (0_u8..4).prop_map(Next::Finish),
        2 => any::<bool>().prop_map(Next::Approve),
        1 => Just(Next::Cancel),
        1 => Just(Next::Fails),
        1 => Just(Next::User),
    ]
}

fn feed(session: &mut Session, next: &Next, names: &[String]) {
    match next {
        Next::Reply { text, cut, calls } => {
            let call = |(tool, n): &(u8, u8)| {
                let name = names.get(usize::from(*tool)).cloned().unwrap_or_else(|| "made_up".to_owned());
                ProposedCall::new("", name, format!("{{\"n\":{n},\"x\":{}}}", n % 2))
            };
            let text = if *text { "OK then".to_owned() } else { String::new() };
            let finish = if *cut { Finish::Length } else { Finish::Stop };
            let calls = calls.iter().map(call).collect();
            let _ = session.apply(Input::Reply(Reply { text, calls, finish, ..Reply::default() }));
        }
        Next::Finish(how) => {
            let Some(call) = session.open_calls().first().map(|r| r.no) else { return };
            let result = match how {
                0 => ToolResult::ok("OK"),
                1 => ToolResult::ok("else"),
                2 => ToolResult::error("no"),
                _ => ToolResult::unknown("timed out"),
            };
            let _ = session.apply(Input::Result { call, result });
        }
        Next::Approve(yes) => {
            let asked: Option<CallNo> = session.open_asks().first().map(|r| r.no);
            let _ = match asked {
                Some(call) => session.apply(Input::Approval { call, yes: *yes }),
                None => session.apply(Input::Admission { yes: *yes }),
            };
        }
        Next::Cancel => session.cancel(),
        Next::Fails => session.provider_failed(false, "no"),
        Next::User => {
            let _ = session.user_says("OK");
        }
    }
}

fn run_stays_within(name: &str, text: &str, script: &[Next]) {
    type Graphs = std::collections::HashMap<String, (Plan, BTreeSet<Vec<u8>>)>;
    thread_local! {
        static GRAPHS: std::cell::RefCell<Graphs> = std::cell::RefCell::default();
    }
    let table = table(text);
    GRAPHS.with_borrow_mut(|graphs| {
        let (plan, keys) = graphs.entry(name.to_owned()).or_insert_with(|| {
            let plan = Plan::new(&table, Precision::PROOF, true);
            let keys = merged(&plan).0;
            (plan, keys)
        });
        let specs = names::tools(&table).specs;
        let tools: Vec<String> = specs.iter().map(|t| t.name.clone()).collect();
        let mut session = Session::builder(&table, "OK").tools(specs).start().unwrap();
        for next in script {
            feed(&mut session, next, &tools);
            let core = session.core();
            // A run that waits for its next reply, resumed where it was paused: as states of the proof are.
            let mut core = core.clone();
            let open = !session.open_calls().is_empty() || !session.open_asks().is_empty();
            if matches!(core.life.outcome(), Some(o) if !o.is_pause()) || open {
                continue;
            }
            use crate::engine::outcome::Outcome::{AwaitingUser, Cancelled, ProviderError};
            let waits_for_user = core.life.outcome() == Some(AwaitingUser);
            if !waits_for_user && matches!(core.life.outcome(), Some(Cancelled | ProviderError)) {
                core.resume();
            }
            let monitor = Monitor { reached: Vec::new(), counts: Vec::new(), waits: 0, grants: 0 };
            assert!(keys.contains(&merged_key(&core, &monitor, plan)), "{name} after {next:?}: {core:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn real_runs_stay_within_the_abstract_graph(
        at in 0..TABLES.len(),
        script in prop::collection::vec(next(), 1..24),
    ) {
        let (name, text) = TABLES[at];
        run_stays_within(name, text, &script);
    }
}
