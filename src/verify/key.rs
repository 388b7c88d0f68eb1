//! The complete key of a state: everything a later step can read, nothing else.
//!
//! [`canonical`] brings a state into the form that stands for all states no later edge can tell from it. [`encode`]
//! takes every value apart without `..`: a field that the engine gets one day does not compile here until somebody
//! says what it is to a proof.

use super::plan::{MANY, Plan};
use super::state::{How, Late, Mays, Monitor, Pending, Phase, State};
use crate::engine::args::Identity;
use crate::engine::core::{Closing, Core, Proposed, ReplyFacts, ReplyState, Target, ToolState, is_true};
use crate::engine::guard::same_tool::Streak;
use crate::engine::guard::{Guard, Identities, Seen, Then, Watch};
use crate::engine::input::CallNo;
use crate::engine::outcome::Outcome;
use crate::engine::past::{Past, Ran};
use crate::engine::settle::By;
use crate::table::StageId;
use serde_json::Value;
use std::hash::{Hash, Hasher};

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

/// How the identity guards enter a key.
pub trait Keyed {
    /// Writes what counts, with the numbers of calls and the clock made relative.
    fn encode(&self, out: &mut Bytes);
}

impl Keyed for super::oracle::Oracle {
    fn encode(&self, _: &mut Bytes) {}
}

impl Keyed for super::oracle::Mute {
    fn encode(&self, _: &mut Bytes) {}
}

impl Keyed for Watch {
    fn encode(&self, out: &mut Bytes) {
        self.hash(out);
    }
}

/// Bytes of a key, under way.
#[derive(Debug, Default)]
pub struct Bytes(pub Vec<u8>);

/// Every value a derived `Hash` writes, written down whole: no fingerprint, so that equal keys are equal states.
impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Bytes {
    fn num(&mut self, n: u32) {
        let mut n = n;
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        let mut byte = 0_u8;
        for (at, flag) in flags.into_iter().enumerate() {
            byte |= u8::from(flag) << (at % 8);
            if at % 8 == 7 {
                self.0.push(byte);
                byte = 0;
            }
        }
        self.0.push(byte);
    }

    fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.num(u32::try_from(list.len()).unwrap_or(u32::MAX));
        for item in list {
            each(self, item);
        }
    }

    /// A list by stage, in which most stages have nothing: a large table would have large keys.
    fn sparse(&mut self, list: &[u32]) {
        let some = || list.iter().zip(0_u32..).filter(|(n, _)| **n > 0);
        self.num(u32::try_from(some().count()).unwrap_or(u32::MAX));
        for (n, at) in some() {
            self.num(at);
            self.num(*n);
        }
    }

    fn option(&mut self, n: Option<u32>) {
        self.num(n.map_or(0, |n| n.saturating_add(1)));
    }
}

fn outcome(outcome: Outcome) -> u32 {
    outcome as u32 + 1
}

/// Writes the complete key.
pub fn encode<W: Identities + Keyed>(state: &State<W>, out: &mut Bytes) {
    let State { core, phase, late, queue, aim, refused, given_back, monitor, may, fixed, calls } = state;
    out.0.clear();
    encode_core(core, out);
    out.num(*phase as u32);
    out.flags([late.is_some(), *refused]);
    if let Some(late) = late.as_deref() {
        let Late { tools, facts, extended, widened, past, watch } = late;
        out.list(tools, |out, (fails, succeeded)| out.num(fails << 1 | u32::from(*succeeded)));
        encode_facts(facts, out);
        out.list(extended, |out, rule| out.num(rule.0.into()));
        out.sparse(widened);
        encode_past(past, out);
        watch.encode(out);
    }
    if *phase != Phase::Idle {
        let Mays { roll_back, leave, close, nested } = may;
        out.flags([*roll_back, *leave, *close, *nested]);
        out.num(aim.0.into());
        out.num((*calls).into());
        out.list(given_back, |out, (tool, stage)| {
            out.num(tool.0.into());
            out.num(stage.0.into());
        });
        out.list(queue, |out, pending| {
            let Pending { call: Proposed { no: _, what, identity }, tool, stage, seen, how } = pending;
            let Seen { no: _, identity: _, effect: _, repeats: _, unsettled } = seen;
            out.num(tool.0.into());
            out.num(stage.0.into());
            out.num(match what {
                None => 0,
                Some(Target::Advance) => 1,
                Some(Target::Tool(tool)) => 2 + u32::from(tool.0),
            });
            if let Some(Identity(identity)) = identity {
                out.0.extend_from_slice(&identity.to_le_bytes());
            }
            out.flags([identity.is_some(), *unsettled]);
            out.num(match how {
                How::Running => 0,
                How::Asked => 1,
                How::Memory => 2,
            });
        });
    }
    let Monitor { reached, counts, waits, grants } = monitor;
    out.list(reached, |out, yes| out.num(u32::from(*yes)));
    out.list(counts, |out, n| out.num(*n));
    out.num(*waits);
    out.num(*grants);
    out.list(fixed, |out, (rule, holds)| out.num(u32::from(rule.0) << 1 | u32::from(*holds)));
}

fn encode_facts(facts: &[Option<Value>], out: &mut Bytes) {
    // `canonical` leaves nothing of a fact but whether it holds.
    out.list(facts, |out, fact| out.num(u32::from(fact.is_some())));
}

fn encode_past(past: &Past, out: &mut Bytes) {
    let mut calls = |list: &[Ran]| {
        out.list(list, |out, Ran { tool, args: _, succeeded }| {
            out.num(u32::try_from(tool.len()).unwrap_or(u32::MAX));
            out.0.extend_from_slice(tool.as_bytes());
            out.num(u32::from(*succeeded));
        });
    };
    calls(&past.earlier());
    calls(past.now());
}

fn encode_core<W: Identities + Keyed>(core: &Core<W>, out: &mut Bytes) {
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
        watch,
        streak,
        tokens: (input, output),
        cost_micros,
        time_ms,
        user_turns,
        closing,
        shortened,
        admission,
        cancelled,
        reply,
        notes: _,
        granted,
        // Of the outermost run, which is what is explored, nothing is above.
        bound: _,
    } = core;
    out.num(life.outcome().map_or(0, outcome));
    out.num(stage.0.into());
    out.sparse(spent);
    out.sparse(widened);
    out.sparse(stage_calls);
    out.sparse(entered);
    out.list(retried, |out, stage| out.num(stage.0.into()));
    out.num(*violations);
    out.list(came_from, |out, (aside, from)| {
        out.num(aside.0.into());
        out.num(from.0.into());
    });
    out.list(extended, |out, rule| out.num(rule.0.into()));
    out.num(*granted);
    out.num(*steps);
    out.num(*calls);
    let known = || tools.iter().zip(0_u32..).filter(|(tool, _)| **tool != ToolState::default());
    out.num(u32::try_from(known().count()).unwrap_or(u32::MAX));
    for (ToolState { runs, succeeded, fails }, at) in known() {
        out.num(at);
        out.num(*runs);
        out.num(fails << 1 | u32::from(*succeeded));
    }
    encode_facts(facts, out);
    out.num(*violations_in_a_row);
    out.num(*rollbacks);
    out.flags([
        life.is_ended(),
        life.has_open_calls(),
        *silent,
        *nudged,
        *ran_here,
        *shortened,
        *cancelled,
        *input > 0,
        *output > 0,
        *cost_micros > 0,
        *time_ms > 0,
    ]);
    encode_past(past, out);
    watch.encode(out);
    let Streak { tool, replies, now } = streak;
    out.option(tool.map(|t| t.0.into()));
    out.num(*replies);
    out.list(now, |out, tool| out.num(tool.0.into()));
    out.num(*user_turns);
    match closing {
        None => out.num(0),
        Some(Closing { outcome: of, limit }) => {
            out.num(outcome(*of));
            out.option(limit.map(|(kind, ..)| kind as u32));
        }
    }
    out.option(admission.map(|(stage, _)| stage.0.into()));
    if life.has_open_calls() {
        encode_reply(reply, out);
    } else {
        out.flags([reply.out_of_calls]);
    }
}

fn encode_reply(reply: &ReplyState, out: &mut Bytes) {
    let ReplyState {
        facts,
        closing,
        violation,
        running,
        nested,
        changing,
        withhold,
        out_of_calls,
        seen,
        moved,
        advance,
        end,
        goto,
        then,
        then_by,
        forget: _,
    } = reply;
    let ReplyFacts { text, calls, cut, declined, marker, usage: _ } = facts;
    out.flags([
        *text,
        *calls,
        *cut,
        *declined,
        marker.is_some(),
        *marker == Some(true),
        *closing,
        *violation,
        *changing,
        *withhold,
        *out_of_calls,
        *moved,
        *advance,
        end.is_some(),
        end.is_some_and(|(_, completed)| completed),
        then_by.is_some(),
    ]);
    out.num(*running);
    out.num(*nested);
    out.list(seen, |out, (Identity(identity), CallNo(_))| out.0.extend_from_slice(&identity.to_le_bytes()));
    out.option(goto.map(|(stage, _)| stage.0.into()));
    out.num(match then {
        Then::Nothing => 0,
        Then::RollBack => 1,
        Then::Leave => 2,
        Then::Close => 3,
    });
}
