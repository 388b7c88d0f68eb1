//! What the engine costs: judging one call with a history, and loading a large table.
//!
//! `cargo bench --bench engine` prints the figures of `docs/evidence.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench that breaks says so")]

use divan::{Bencher, black_box};
use stagekeeper::StageTable;
use stagekeeper::engine::args::identity;
use stagekeeper::engine::core::{Conditions, Context, Core, Judgement, Proposed, ReplyFacts, Target, Truth};
use stagekeeper::engine::guard::{Done, Watch};
use stagekeeper::engine::life::Turn;
use stagekeeper::engine::roster::{Resolved, Roster};
use stagekeeper::table::{FactId, RuleId};
use stagekeeper::{CallNo, ToolSpec};
use std::fmt::Write;

fn main() {
    divan::main();
}

const TABLE: &str = "stagekeeper: 1
workflow: bench
tools: { lookup: { effect: read } }
stages:
  work: { goal: Look things up., allowed_tools: [lookup], max_steps: 20000 }
";

/// A table without rules asks for no condition.
struct NoRules;

impl Conditions<Watch> for NoRules {
    fn holds(&mut self, _: &Core, _: RuleId) -> Truth {
        Truth::No
    }

    fn values(&mut self, _: &Core, _: RuleId) -> Vec<(FactId, Option<serde_json::Value>)> {
        Vec::new()
    }
}

fn arguments(i: u32) -> String {
    format!("{{\"query\": \"item {i}\", \"limit\": 10, \"note\": \"{}\"}}", "x".repeat(90))
}

/// A run after `history` calls, all different, each with a result of its own; in the middle of the next reply.
fn after(table: &StageTable, roster: &mut Roster, history: u32) -> (Core, Proposed) {
    let Resolved::Tool(tool) = roster.resolve(table, "lookup") else { panic!("the tool is known") };
    let cx = Context { table, roster, observe: false };
    let mut core = Core::new(table, Watch::default());
    core.begin(cx);
    let proposed = |i: u32| Proposed {
        no: CallNo(i + 1),
        what: Some(Target::Tool(tool)),
        identity: identity("lookup", &arguments(i), &[]).ok(),
    };
    for i in 0..history {
        let call = proposed(i);
        core.begin_reply(cx, ReplyFacts { calls: true, ..ReplyFacts::default() }, &mut NoRules);
        assert_eq!(core.judge(cx, &call, &mut NoRules), Judgement::Run);
        core.life.turn(Turn::Opened);
        let seen = core.seen(cx, call.no, call.identity.unwrap(), tool);
        let done = Done { failed: false, unknown: false, result: u64::from(i), from_memory: false };
        core.finish(cx, (&seen, tool), &done, Vec::new(), None, &mut NoRules);
        core.settle(cx);
    }
    core.begin_reply(cx, ReplyFacts { calls: true, ..ReplyFacts::default() }, &mut NoRules);
    (core, proposed(history))
}

fn roster(table: &StageTable) -> Roster {
    Roster::new(table, Some(vec![ToolSpec::named("lookup")]), ToolSpec::named("advance"))
}

/// One call, parsed, arguments of about 150 bytes, all guards on. Only the reply is reset between: the history stays.
#[divan::bench(args = [10, 100, 1_000, 10_000])]
fn judge_one_call(bencher: Bencher, history: u32) {
    let table = StageTable::parse(TABLE).unwrap();
    let mut roster = roster(&table);
    let (mut core, call) = after(&table, &mut roster, history);
    let cx = Context { table: &table, roster: &roster, observe: false };
    let reply = core.reply.clone();
    bencher.bench_local(|| {
        core.reply.clone_from(&reply);
        black_box(core.judge(cx, &call, &mut NoRules))
    });
}

/// The identity of a call: its arguments read and brought into canonical form.
#[divan::bench]
fn identity_of_150_bytes(bencher: Bencher) {
    let args = arguments(7);
    bencher.bench_local(|| identity("lookup", black_box(&args), &[]));
}

/// Loading and checking a table of many stages.
#[divan::bench(args = [100, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn check_a_table_of_stages(bencher: Bencher, stages: u32) {
    let mut yaml = String::from("stagekeeper: 1\nworkflow: large\nstages:\n");
    for i in 0..stages {
        let _ = writeln!(yaml, "  s{i}: {{ goal: Do part {i}., allowed_tools: [t{}], max_steps: 3 }}", i % 50);
    }
    bencher.bench_local(|| StageTable::parse(black_box(&yaml)).unwrap());
}
