//! The form of a state that stands for all states no later edge can tell from it: what is merged and why is in
//! `docs/concepts/proof.md`.

use super::plan::{MANY, Plan};
use super::state::{Mays, Phase, State};
use crate::engine::core::{Closing, Core, ReplyState, ToolState, is_true};
use crate::engine::guard::same_tool::Streak;
use crate::engine::guard::{Guard, Identities, Then};
use crate::engine::past::{Past, Ran};
use crate::engine::settle::By;
use crate::table::StageId;
use serde_json::Value;

/// Brings a state into its canonical form.
pub fn canonical<W: Identities>(state: &mut State<W>, plan: &Plan) {
    let State { core, phase, late, queue, aim, refused: _, given_back, monitor: _, may, fixed: _, calls } = state;
    canonical_core(core, plan);
    if plan.precision.unmerged {
        if *phase == Phase::Idle {
            (*calls, *aim) = (0, core.stage);
        }
        return;
    }
    if *phase == Phase::Idle {
        *late = None;
        *aim = core.stage;
        *calls = 0;
    }
    if core.reply.end.is_some() || core.reply.goto.is_some() {
        *may = Mays { nested: may.nested, ..Mays::default() };
    }
    if plan.precision.calls.is_none() {
        *calls = 0;
    }
    if !plan.aims {
        *aim = core.stage;
    }
    given_back.sort_unstable();
    let stage = core.stage;
    if let Some(over) = late {
        canonical_facts(&mut over.facts, stage, plan);
        if plan.past {
            over.past = canonical_past(&over.past);
        }
        for (at, (fails, succeeded)) in over.tools.iter_mut().enumerate() {
            canonical_tool(fails, succeeded, stage, at, plan);
        }
        over.extended.sort_unstable();
        canonical_steps(&mut over.widened, stage, plan);
    }
    if late.as_deref().is_some_and(|over| over.is_in(core)) {
        *late = None;
    }
    debug_assert!(queue.is_empty() || *phase != Phase::Idle);
}

fn canonical_steps(list: &mut [u32], stage: StageId, plan: &Plan) {
    for (at, steps) in list.iter_mut().enumerate() {
        if !plan.is_ahead(stage, StageId(u16::try_from(at).unwrap_or(u16::MAX))) {
            *steps = 0;
        }
    }
}

/// All numbers of steps left beyond `most` become one: one more than `most`.
fn many_left<W: Identities>(core: &mut Core<W>, plan: &Plan, most: u32) {
    for (at, declared) in plan.table.stages.iter().enumerate() {
        let budget = declared.budget() + core.widened.get(at).copied().unwrap_or(0);
        if let Some(spent) = core.spent.get_mut(at)
            && budget.saturating_sub(*spent) > most
        {
            *spent = budget - most - 1;
        }
    }
}

fn canonical_facts(facts: &mut [Option<Value>], stage: StageId, plan: &Plan) {
    for (at, fact) in facts.iter_mut().enumerate() {
        let read = u16::try_from(at).is_ok_and(|id| plan.reads_fact(stage, crate::table::FactId(id)));
        // Only whether a fact holds is ever read.
        *fact = fact.take().filter(|value| read && is_true(value)).map(|_| Value::Bool(true));
    }
}

fn canonical_tool(fails: &mut u32, succeeded: &mut bool, stage: StageId, at: usize, plan: &Plan) {
    let ahead = plan.calls_tool(stage, at);
    if !(plan.fails && ahead) {
        *fails = 0;
    }
    *succeeded &= plan.succeeded.get(at).copied().unwrap_or(false);
}

fn canonical_past(past: &Past) -> Past {
    let short = |calls: &[Ran]| {
        let mut known: Vec<(&crate::table::Name, bool)> = calls.iter().map(|r| (&r.tool, r.succeeded)).collect();
        known.sort();
        known.dedup();
        let again =
            |(tool, succeeded): (&crate::table::Name, bool)| Ran { tool: tool.clone(), args: Value::Null, succeeded };
        known.into_iter().map(again).collect::<Vec<Ran>>()
    };
    let mut shorter = Past::of(short(&past.earlier()));
    for ran in short(past.now()) {
        shorter.ran(ran);
    }
    shorter
}

fn canonical_core<W: Identities>(core: &mut Core<W>, plan: &Plan) {
    let stage = core.stage;
    core.notes.clear();
    core.tools.resize(plan.all_tools, ToolState::default());
    if plan.precision.unmerged {
        return apart(core);
    }
    canonical_steps(&mut core.spent, stage, plan);
    canonical_steps(&mut core.widened, stage, plan);
    if let Some(most) = plan.precision.most_left {
        many_left(core, plan, most);
    }
    core.extended.sort_unstable();
    // Only the summary reads these.
    core.entered.clear();
    core.violations = 0;
    // Only decides whether the view is cut once more, and the view decides nothing.
    core.retried.clear();
    for (at, calls) in core.stage_calls.iter_mut().enumerate() {
        let most = plan.table.stages.get(at).and_then(|s| s.max_calls);
        let ahead = plan.is_ahead(stage, StageId(u16::try_from(at).unwrap_or(u16::MAX)));
        *calls = most.filter(|_| ahead).map_or(0, |most| (*calls).min(most));
    }
    core.came_from.retain(|(aside, _)| plan.is_ahead(stage, *aside));
    core.came_from.sort_unstable();
    core.steps = plan.steps.map_or(0, |most| core.steps.min(most));
    core.calls = plan.table.limits.max_calls.map_or(0, |most| core.calls.min(most));
    for (at, ToolState { runs, succeeded, fails }) in core.tools.iter_mut().enumerate() {
        let most = plan.runs.get(at).copied().flatten().filter(|_| plan.calls_tool(stage, at));
        *runs = most.map_or(0, |most| (*runs).min(most));
        let many = u16::try_from(at).ok().and_then(|at| plan.many_calls(crate::engine::roster::ToolIdx(at)));
        if let Some(most) = many.filter(|most| most.saturating_sub(*runs) > MANY && *runs < *most) {
            *runs = if plan.calls_tool(stage, at) { most - MANY } else { 0 };
        }
        canonical_tool(fails, succeeded, stage, at, plan);
    }
    canonical_facts(&mut core.facts, stage, plan);
    if plan.past {
        core.past = canonical_past(&core.past);
    }
    if !plan.streak {
        core.streak = Streak::default();
    }
    core.streak.replies = core.streak.replies.min(plan.most_in_a_row());
    core.streak.now.sort_unstable();
    core.rollbacks = core.rollbacks.min(plan.rollbacks);
    core.violations_in_a_row = core.violations_in_a_row.min(plan.row);
    if core.rollbacks >= plan.rollbacks && plan.rows_only_roll_back() {
        core.violations_in_a_row = 0;
    }
    // What is forgotten on entering a stage, and read by no closing request.
    if core.admission.is_some() || core.closing.is_some() {
        core.violations_in_a_row = 0;
        core.silent = false;
        core.ran_here = false;
        core.nudged = false;
    }
    // Nothing was looked at and nobody was told: only both together are read.
    (core.ran_here, core.nudged) = ((core.ran_here || core.nudged) && plan.nudges(stage), false);
    // A limit from outside is used up or not; how far it is, is free.
    let limits = &plan.table.limits;
    let used = |used: u64, of: Option<u64>| of.filter(|of| used >= *of).unwrap_or(0);
    core.tokens = (used(core.tokens.0.saturating_add(core.tokens.1), limits.max_tokens), 0);
    core.cost_micros = used(core.cost_micros, limits.max_cost_micros);
    core.time_ms = used(core.time_ms, limits.max_time_ms);
    // A user may have spoken too often, and a view may not fit twice, at any time.
    core.user_turns = 0;
    core.shortened = false;
    if let Some(Closing { outcome: _, limit: Some((_, stage, used, of)) }) = &mut core.closing {
        (*stage, *used, *of) = (StageId(0), 0, 0);
    }
    if let Some((_, by)) = &mut core.admission {
        *by = By::Exhausted;
    }
    canonical_reply(core, plan);
}

fn canonical_reply<W: Identities>(core: &mut Core<W>, plan: &Plan) {
    let open = core.life.has_open_calls();
    let reply = &mut core.reply;
    if !open {
        // Only a call beyond the run's `max_calls` is read after the reply.
        *reply = ReplyState { out_of_calls: reply.out_of_calls, ..ReplyState::default() };
        return;
    }
    // Its cost is added up already.
    reply.facts.usage = (0, 0, 0);
    if !plan.running {
        reply.running = 0;
    }
    // Views are cut, and memory with them; nothing else reads it.
    reply.forget = None;
    // Any guard but the row of violations leaves alike.
    reply.then_by = reply.then_by.map(|_| Guard::NoProgress);
    // A rule that ends the run or sends it elsewhere goes before all that follows; a guard that leaves goes before a
    // rollback and before what the model wants.
    let decided = reply.end.is_some() || reply.goto.is_some();
    if decided {
        (reply.then, reply.then_by) = (Then::Nothing, None);
    }
    if decided || reply.then != Then::Nothing {
        reply.advance = false;
    }
    if decided || reply.then == Then::Close || (reply.then == Then::Leave && !plan.rows_end) {
        reply.violation = false;
    }
    if let Some((rule, _)) = &mut reply.end {
        *rule = crate::table::RuleId(0);
    }
    if let Some((_, rule)) = &mut reply.goto {
        *rule = crate::table::RuleId(0);
    }
    // A repeat within the reply changes nothing; the oracle does not look at what is unsettled.
    reply.seen.clear();
    reply.changing = false;
}

/// Where nothing is merged: a reply that is over is forgotten, and what may come at any time is not counted.
fn apart<W: Identities>(core: &mut Core<W>) {
    core.user_turns = 0;
    core.shortened = false;
    core.entered.clear();
    core.violations = 0;
    core.retried.clear();
    for fact in &mut core.facts {
        *fact = fact.take().filter(is_true).map(|_| Value::Bool(true));
    }
    if !core.life.has_open_calls() {
        let out_of_calls = core.reply.out_of_calls;
        core.reply = ReplyState { out_of_calls, ..ReplyState::default() };
    }
}
