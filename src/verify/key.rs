//! The complete key of a state: everything a later step can read, nothing else.
//!
//! [`encode`] takes every value apart without `..`: a field that the engine gets one day does not compile here until
//! somebody says what it is to a proof.

use super::bytes::Bytes;
use super::state::{How, Late, Mays, Monitor, Pending, Phase, State};
use crate::engine::args::Identity;
use crate::engine::core::{Closing, Core, Proposed, ReplyFacts, ReplyState, Target, ToolState};
use crate::engine::guard::same_tool::Streak;
use crate::engine::guard::{Identities, Seen, Then, Watch};
use crate::engine::input::CallNo;
use crate::engine::outcome::Outcome;
use crate::engine::past::{Past, Ran};
use serde_json::Value;
use std::hash::Hash;

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
        unsure,
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
    out.list(unsure, |out, fact| out.num(fact.0.into()));
    out.option(goto.map(|(stage, _)| stage.0.into()));
    out.num(match then {
        Then::Nothing => 0,
        Then::RollBack => 1,
        Then::Leave => 2,
        Then::Close => 3,
    });
}
