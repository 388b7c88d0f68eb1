//! The session as an embedder's own loop sees it.

use stagekeeper::{ProposedCall, Reply, Session, StageTable, ToolResult, Verdict};

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
