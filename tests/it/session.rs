//! The session as an embedder's own loop sees it.

use stagekeeper::{Outcome, ProposedCall, Reply, Session, StageTable, ToolResult, Verdict};

const TABLE: &str = "\
stagekeeper: 1
workflow: two
stages:
  look: { goal: Look around., allowed_tools: [ls], max_steps: 3 }
  tell: { goal: Say what is there., allowed_tools: [], max_steps: 1 }
";

#[test]
fn advance_gives_no_ticket_and_leaves_the_stage_once_the_calls_before_it_are_answered() {
    let table = StageTable::parse(TABLE).unwrap();
    let mut session = Session::start(&table, "What is here?");
    let calls = vec![ProposedCall::new("1", "ls", "{}"), ProposedCall::new("2", "advance", r#"{"summary":"a.txt"}"#)];
    let mut rulings = session.judge(Reply::calls(calls)).into_iter();
    let Some(Verdict::Run(ticket)) = rulings.next().map(|r| r.verdict) else { panic!("`ls` runs") };
    assert_eq!(rulings.next().map(|r| r.verdict), Some(Verdict::Advance));
    assert_eq!(session.view().stage, "look");
    session.finish(ticket, ToolResult::ok("a.txt"));
    assert_eq!(session.view().stage, "tell");
}

/// Everything is let run under `observe`, but what a person has to say yes to is asked, whatever else objects first.
#[test]
fn a_person_is_asked_under_observe_even_where_the_stage_forbids_the_call() {
    let text = TABLE.replace("stages:\n", "tools: { ls: {}, mail: { approval: always, max_calls: 1 } }\nstages:\n");
    let table = StageTable::parse(&text.replace("allowed_tools: []", "allowed_tools: [mail]")).unwrap();
    let mut session = Session::builder(&table, "What is here?").observe(true).start().unwrap();
    let calls = vec![ProposedCall::new("1", "ls", "{}"), ProposedCall::new("2", "mail", "{}")];
    let verdicts: Vec<Verdict> = session.judge(Reply::calls(calls)).into_iter().map(|r| r.verdict).collect();
    assert!(matches!(verdicts[..], [Verdict::Run(_), Verdict::Ask(_)]), "{verdicts:?}");
}

#[test]
fn a_grant_opens_no_gate_and_passes_no_person() {
    let text = "\
stagekeeper: 1
workflow: gates
facts: { ready: { from: host } }
stages:
  a: { goal: A., allowed_tools: [ls], max_steps: 1, requires: { ready: Not yet. } }
  b: { goal: B., allowed_tools: [put], max_steps: 3, approval: always }
  c: { goal: C., allowed_tools: [], max_steps: 1 }
";
    let table = StageTable::parse(text).unwrap();
    let mut session = Session::start(&table, "Do it.");
    session.judge(Reply::calls(vec![ProposedCall::new("1", "ls", "{}")]));
    session.judge(Reply::text("nothing"));
    assert_eq!(session.outcome(), Some(Outcome::Exhausted));
    let refused = session.grant("b", 3, "ann").unwrap_err().to_string();
    assert!(refused.contains("a grant opens no gate; grant `a` first"), "{refused}");
    session.grant("a", 2, "ann").unwrap();
    session.grant("c", 1, "ann").unwrap();
    session.set_fact("ready", Some(true.into())).unwrap();
    session.judge(Reply::text("ready"));
    session.judge(Reply::text("ready"));
    assert_eq!(session.awaiting_admission().as_deref(), Some("b"));
}

/// Ten thousand calls are remembered. What is forgotten is not held never to have happened.
#[test]
fn a_call_that_was_forgotten_is_still_denied() {
    let text = "\
stagekeeper: 1
workflow: long
guards: { duplicate: off, cycle: off, no_progress: off, errors: off }
rules: [{ name: once, at: call, tool: pay, when: \"called('pay')\", deny: Only once. }]
stages:
  work: { goal: Work., allowed_tools: [look, pay], max_steps: 2000 }
";
    let table = StageTable::parse(text).unwrap();
    let mut session = Session::builder(&table, "Pay.").record(false).start().unwrap();
    let mut ask = |tool: &str, times: usize| {
        let calls = (0..times).map(|n| ProposedCall::new(format!("{n}"), tool, format!("{{\"n\":{n}}}"))).collect();
        let mut ran = 0;
        for ruling in session.judge(Reply::calls(calls)) {
            if let Verdict::Run(ticket) = ruling.verdict {
                session.finish(ticket, ToolResult::ok("ok"));
                ran += 1;
            }
        }
        ran
    };
    assert_eq!((ask("pay", 1), ask("pay", 1)), (1, 0));
    assert_eq!((0..1_260).map(|_| ask("look", 8)).sum::<usize>(), 10_080);
    assert_eq!(ask("pay", 1), 0);
}
