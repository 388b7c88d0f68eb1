//! Laws that hold for every table and every behaviour of a model, over random tables and random inputs.

use super::law;
use proptest::prelude::*;
use stagekeeper::{Finish, Outcome, ProposedCall, Reply, Session, StageTable, ToolChoice, ToolResult, Verdict};
use std::fmt::Write;

/// A random table of up to four stages and three tools, as YAML.
pub(super) fn table() -> impl Strategy<Value = String> {
    let stage = (
        1u32..5,
        proptest::collection::vec(0usize..3, 0..3),
        0u8..8,
        any::<bool>(),
        0u8..5,
        proptest::option::of(1u32..4),
    );
    let rules = proptest::collection::vec((0u8..6, 0usize..3, 0usize..4), 0..3);
    let tools = proptest::collection::vec((0u8..4, proptest::option::of(1u32..4), any::<bool>()), 3);
    (proptest::collection::vec(stage, 1..5), rules, tools, any::<bool>(), 1u32..4, any::<bool>()).prop_map(
        |(stages, rules, tools, atomic, per_step, conversation)| {
            let mut yaml = String::from("stagekeeper: 1\nworkflow: random\n");
            let _ = writeln!(yaml, "batch: {}", if atomic { "atomic" } else { "partial" });
            let _ = writeln!(yaml, "limits: {{ calls_per_step: {per_step} }}");
            if conversation {
                yaml.push_str("conversation: true\n");
            }
            yaml.push_str("tools:\n");
            for (i, (effect, max, ask)) in tools.iter().enumerate() {
                let effect = ["read", "write", "poll", "stateful"][*effect as usize];
                let max = max.map(|m| format!(", max_calls: {m}")).unwrap_or_default();
                let ask = if *ask && i == 2 { ", approval: always" } else { "" };
                let _ = writeln!(yaml, "  t{i}: {{ effect: {effect}, repeats: 2{max}{ask} }}");
            }
            yaml.push_str("facts:\n  f: { from: result, tool: t0, match: 'ok' }\nstages:\n");
            let n = stages.len();
            for (i, (steps, allowed, leave, requires, exhausted, max_calls)) in stages.iter().enumerate() {
                let mut allowed: Vec<String> = allowed.iter().map(|t| format!("t{t}")).collect();
                allowed.dedup();
                if i == 0 {
                    allowed = vec!["t0".into(), "t1".into(), "t2".into()];
                }
                let _ = writeln!(
                    yaml,
                    "  s{i}:\n    goal: g\n    allowed_tools: [{}]\n    max_steps: {steps}",
                    allowed.join(", ")
                );
                let leave: Vec<&str> = ["answer", "advance", "call"]
                    .into_iter()
                    .enumerate()
                    .filter(|(bit, _)| (leave + 1) & (1 << bit) != 0)
                    .map(|(_, l)| l)
                    .collect();
                if !leave.is_empty() {
                    let _ = writeln!(yaml, "    leave_by: [{}]", leave.join(", "));
                }
                if *requires {
                    yaml.push_str("    requires: { f: need f }\n");
                }
                match exhausted {
                    1 => yaml.push_str("    on_exhausted: end\n"),
                    2 => yaml.push_str("    on_exhausted: retry_fresh\n"),
                    3 => yaml.push_str("    on_exhausted: next\n"),
                    4 if n > 1 => {
                        let _ = writeln!(yaml, "    on_exhausted: s{}", (i + 1) % n);
                    }
                    _ => {}
                }
                if let Some(max) = max_calls {
                    let _ = writeln!(yaml, "    max_calls: {max}");
                }
            }
            if !rules.is_empty() {
                yaml.push_str("rules:\n");
            }
            for (i, (kind, tool, stage)) in rules.iter().enumerate() {
                let stage = stage % n;
                let body = match kind {
                    0 => format!("at: call, tool: t{tool}, when: run.step > 2, deny: no"),
                    1 => format!("at: result, tool: t{tool}, when: result.empty, goto: s{stage}"),
                    2 => format!("at: reply, when: run.step == 3, extend: {{ stage: s{stage}, steps: 2 }}"),
                    3 => format!("at: result, tool: t{tool}, when: result.error, end: failed"),
                    4 => "at: step, when: run.step > 1, forget: 1".to_owned(),
                    _ => format!("at: call, tool: t{tool}, when: call.args.x > 1, ask: sure?"),
                };
                let _ = writeln!(yaml, "  - {{ name: r{i}, {body} }}");
            }
            yaml
        },
    )
}

/// One thing a model, a tool or a person does.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Text,
    Silent,
    Cut,
    Calls(Vec<(usize, usize)>),
    Cancel,
    Overflow,
    Fails,
}

pub(super) fn acts() -> impl Strategy<Value = Vec<(Act, u8)>> {
    let call = (0usize..6, 0usize..3);
    let act = prop_oneof![
        2 => Just(Act::Text),
        1 => Just(Act::Silent),
        1 => Just(Act::Cut),
        8 => proptest::collection::vec(call, 1..5).prop_map(Act::Calls),
        1 => Just(Act::Cancel),
        1 => Just(Act::Overflow),
        1 => Just(Act::Fails),
    ];
    proptest::collection::vec((act, any::<u8>()), 1..60)
}

pub(super) fn proposed(which: &[(usize, usize)], step: usize) -> Vec<ProposedCall> {
    let tools = ["t0", "t1", "t2", "advance", "nothing", "t0"];
    which
        .iter()
        .enumerate()
        .map(|(i, (tool, args))| {
            let args = match (tool, args) {
                (5, _) => "{\"x\":".to_owned(),
                (3, _) => "{\"summary\":\"done\"}".to_owned(),
                (_, n) => format!("{{\"x\":{n}}}"),
            };
            // Ids repeat within the run and sometimes within a reply, as real providers' do.
            ProposedCall::new(format!("c{}", (i + step) % 3), tools[*tool], args)
        })
        .collect()
}

pub(super) fn result(pick: u8) -> ToolResult {
    match pick % 5 {
        0 => ToolResult::ok("ok"),
        1 => ToolResult::ok(""),
        2 => ToolResult::error("no"),
        3 => ToolResult::unknown("timed out"),
        _ => ToolResult::ok(format!("r{pick}")),
    }
}

fn play(yaml: &str, acts: &[(Act, u8)]) -> Session {
    let table = StageTable::parse(yaml).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    let mut session = Session::start(&table, "go");
    let mut records = session.take_records();
    let first_system = session.view().system.to_owned();
    for (step, (act, pick)) in acts.iter().cycle().take(200).enumerate() {
        match session.outcome() {
            Some(Outcome::AwaitingApproval) if matches!(act, Act::Cancel) => session.cancel(),
            Some(Outcome::AwaitingApproval) => {
                for ruling in session.open_asks() {
                    let Verdict::Ask(ask) = ruling.verdict else { panic!("an open question that asks nothing") };
                    if let Some(ticket) = session.answer(ask, pick % 2 == 0) {
                        session.finish(ticket, result(*pick));
                    }
                }
            }
            Some(Outcome::AwaitingUser) => session.user_says("hm").unwrap(),
            Some(o) if !o.is_pause() => break,
            _ => {
                let spent = session.summary().steps;
                let closing = session.view().tool_choice == ToolChoice::None;
                let reply = match act {
                    Act::Text => Reply::text(format!("text {step}")),
                    Act::Silent => Reply::default(),
                    Act::Cut => Reply { finish: Finish::Length, ..Reply::calls(proposed(&[(0, 1)], step)) },
                    Act::Calls(which) => Reply::calls(proposed(which, step)),
                    Act::Cancel => {
                        session.cancel();
                        continue;
                    }
                    Act::Overflow | Act::Fails => {
                        session.provider_failed(matches!(act, Act::Overflow), "no");
                        assert_eq!(session.summary().steps, spent, "a failure was charged");
                        continue;
                    }
                };
                let proposed = reply.calls.len();
                let rulings = session.judge(reply);
                assert_eq!(rulings.len(), proposed, "a call without a verdict");
                let summary = session.summary();
                // Closing calls left open may end the run before this reply: then it is not taken.
                assert!(summary.steps == spent + 1 || session.outcome().is_some(), "a reply costs one step");
                let mut running = 0;
                for ruling in rulings {
                    if let Verdict::Run(ticket) = ruling.verdict {
                        running += 1;
                        assert!(!closing, "a call ran at the closing request");
                        if pick % 11 != 3 {
                            session.finish(ticket, result(pick.wrapping_add(running)));
                        }
                    }
                }
            }
        }
        let done = session.outcome().is_some_and(|o| !o.is_pause());
        law::calls_are_answered(session.view().messages, done);
        records.extend(session.take_records());
        let summary = session.summary();
        law::summary_adds_up(&summary, true);
        assert!(summary.rollbacks <= 1);
        assert_eq!(session.view().system, first_system, "the system prompt changed");
    }
    records.extend(session.take_records());
    law::tools_stay_in_their_stages(&records, yaml, yaml);
    law::every_call_is_judged_and_finished_once(&records);
    law::replay_is_equal(Session::builder(&table, "go"), &records, &session);
    session
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Steps never exceed the ceiling, a forbidden tool never runs, every call is answered once, replay equals live, and
    /// no run ends in empty text.
    #[test]
    fn no_table_and_no_model_break_the_bounds(yaml in table(), acts in acts()) {
        let loads = StageTable::parse(&yaml);
        prop_assume!(loads.is_ok());
        let session = play(&yaml, &acts);
        if session.outcome().is_some_and(|o| !o.is_pause()) {
            prop_assert!(!session.summary().text.trim().is_empty());
        }
    }
}
