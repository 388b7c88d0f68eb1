//! Laws of nested runs over random tables that call one another and themselves, and random inputs.

use super::law;
use super::laws::{Act, acts, proposed, result, table};
use proptest::prelude::*;
use stagekeeper::engine::Event;
use stagekeeper::{Finish, Outcome, Record, Reply, Session, StageTable, Verdict};

/// Two random tables: each tool of a table may be a run of the other, or of the table itself.
fn pair() -> impl Strategy<Value = (String, String)> {
    let nests = proptest::collection::vec((0u8..6, any::<bool>()), 6);
    (table(), table(), nests).prop_map(|(main, other, nests)| {
        let nest = |yaml: String, nests: &[(u8, bool)]| {
            nests.iter().enumerate().fold(yaml, |yaml, (i, (kind, own))| {
                let file = match kind {
                    0 | 1 => "main.yaml",
                    2 | 3 => "other.yaml",
                    _ => return yaml,
                };
                let spend = if *own { "own" } else { "parent" };
                yaml.replace(&format!("  t{i}: {{ "), &format!("  t{i}: {{ workflow: {file}, spend: {spend}, "))
            })
        };
        (nest(main, &nests[..3]), nest(other, &nests[3..]))
    })
}

fn load(main: &str, other: &str) -> Result<StageTable, stagekeeper::TableError> {
    StageTable::parse_with("main.yaml", main, &mut |name| match name {
        "other.yaml" => Ok(other.to_owned()),
        _ => Err("there is no such file".to_owned()),
    })
}

fn play(table: &StageTable, acts: &[(Act, u8)]) -> Session {
    let mut session = Session::start(table, "go");
    let mut records = session.take_records();
    for (step, (act, pick)) in acts.iter().cycle().take(150).enumerate() {
        let picked = |n: u8| result(pick.wrapping_add(n));
        match session.outcome() {
            Some(Outcome::AwaitingApproval) if matches!(act, Act::Cancel) => session.cancel(),
            Some(Outcome::AwaitingApproval) => {
                for ruling in session.open_asks() {
                    let Verdict::Ask(ask) = ruling.verdict else { panic!("an open question that asks nothing") };
                    if let Some(ticket) = session.answer(ask, pick % 2 == 0) {
                        session.finish(ticket, picked(0));
                    }
                }
            }
            Some(Outcome::AwaitingUser) => session.user_says("hm").unwrap(),
            Some(o) if !o.is_pause() => break,
            _ => match act {
                Act::Cancel => session.cancel(),
                Act::Overflow | Act::Fails => session.provider_failed(matches!(act, Act::Overflow), "no"),
                Act::Text => take(&mut session, Reply::text(format!("text {step}")), *pick),
                Act::Silent => take(&mut session, Reply::default(), *pick),
                Act::Cut => {
                    let reply = Reply { finish: Finish::Length, ..Reply::calls(proposed(&[(0, 1)], step)) };
                    take(&mut session, reply, *pick);
                }
                Act::Calls(which) => take(&mut session, Reply::calls(proposed(which, step)), *pick),
            },
        }
        law::calls_are_answered(session.view().messages, session.outcome().is_some_and(|o| !o.is_pause()));
        records.extend(session.take_records());
        law::summary_adds_up(&session.summary(), true);
    }
    check_brackets(&records);
    law::every_call_is_judged_and_finished_once(&records);
    law::replay_is_equal(Session::builder(table, "go"), &records, &session);
    session
}

fn take(session: &mut Session, reply: Reply, pick: u8) {
    let proposed = reply.calls.len();
    let before = session.summary().tree.steps;
    let rulings = session.judge(reply);
    assert_eq!(rulings.len(), proposed, "a call without a verdict");
    assert!(session.summary().tree.steps <= before + 1, "a reply costs one step");
    for (n, ruling) in rulings.into_iter().enumerate() {
        if let Verdict::Run(ticket) = ruling.verdict
            && pick % 11 != 3
        {
            session.finish(ticket, result(pick.wrapping_add(u8::try_from(n).unwrap())));
        }
    }
}

/// Nested runs open and close like brackets, within their grants, at most five of a name inside one another.
fn check_brackets(records: &[Record]) {
    let mut open: Vec<(u32, String, Option<u32>)> = Vec::new();
    for event in records.iter().flat_map(|r| &r.events) {
        match event {
            Event::ChildOpened { call, tool, grant, depth, .. } => {
                open.push((call.0, tool.to_string(), *grant));
                assert_eq!(open.len(), *depth);
                assert!(open.iter().filter(|(_, t, _)| **t == **tool).count() <= 5, "{open:?}");
            }
            Event::ChildClosed { call, steps, .. } => {
                let (opened, _, grant) = open.pop().expect("a nested run closes that never opened");
                assert_eq!(opened, call.0);
                assert!(grant.is_none_or(|grant| *steps <= grant), "{steps} of {grant:?}");
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    /// The ceiling holds for the tree, grants are kept, calls are answered once, replay equals live, no empty end.
    #[test]
    fn no_nesting_and_no_model_break_the_bounds((main, other) in pair(), acts in acts()) {
        let loads = load(&main, &other);
        prop_assume!(loads.is_ok());
        let session = play(&loads.unwrap(), &acts);
        if session.outcome().is_some_and(|o| !o.is_pause()) {
            prop_assert!(!session.summary().text.trim().is_empty());
        }
    }
}
