//! What holds for every run of every table, whatever a model, a tool or a person does: checked by the random runs of
//! these tests and by the fuzz targets (`tests/fuzz`).

use stagekeeper::engine::{Event, Judged};
use stagekeeper::table::NamePattern;
use stagekeeper::{Input, Message, Record, Session, SessionBuilder, Summary};
use std::collections::{HashMap, VecDeque};

/// Every id that a reply called is answered right behind it, once, in order; `all`: none is left open.
pub fn calls_are_answered(messages: &[Message], all: bool) {
    let mut open: VecDeque<&str> = VecDeque::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty(), "calls left open: {open:?}");
                let mut ids: Vec<&str> = calls.iter().map(|c| c.id.as_str()).collect();
                open.extend(&ids);
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), calls.len(), "an id stands twice in one reply");
            }
            Message::Tool { id, .. } => assert_eq!(open.pop_front(), Some(id.as_str()), "an orphaned or late answer"),
            Message::User { .. } => assert!(open.is_empty(), "our text stands before an answer"),
        }
    }
    assert!(!all || open.is_empty(), "unanswered: {open:?}");
}

/// No budget is exceeded; `judged`: every call has its verdict, so the counts add up.
pub fn summary_adds_up(summary: &Summary, judged: bool) {
    assert!(summary.steps <= summary.ceiling, "{} of {} steps", summary.steps, summary.ceiling);
    let tree = summary.tree;
    assert!(tree.steps <= tree.ceiling, "{} of {} steps with nested runs", tree.steps, tree.ceiling);
    for spent in &summary.stages {
        assert!(spent.steps <= spent.budget, "{spent:?}");
    }
    for (tool, c) in summary.tools.iter().filter(|_| judged) {
        assert_eq!(c.proposed, c.run + c.reused + c.refused, "{tool}");
    }
}

/// The recorded inputs give the recorded events again, and the same end.
pub fn replay_is_equal(builder: SessionBuilder, records: &[Record], session: &Session) {
    let replayed = Session::replay(builder, records).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(replayed.summary(), session.summary());
    assert_eq!(replayed.view().messages, session.view().messages);
}

/// One verdict for each call, and one end for each that ran.
pub fn every_call_is_judged_and_finished_once(records: &[Record]) {
    let (mut judged, mut finished) = (HashMap::new(), HashMap::new());
    for event in records.iter().flat_map(|r| &r.events) {
        match event {
            Event::CallJudged { call, .. } => *judged.entry(*call).or_insert(0) += 1,
            Event::CallFinished { call, .. } => *finished.entry(*call).or_insert(0) += 1,
            _ => {}
        }
    }
    assert!(judged.values().all(|n| *n == 1), "a call was judged twice");
    assert!(finished.values().all(|n| *n == 1), "a call came back twice");
    assert!(finished.keys().all(|call| judged.contains_key(call)), "a call came back that nobody judged");
    assert_eq!(records.iter().filter(|r| r.input == Input::Start).count(), 1);
}

/// Every call judged *run* was proposed in a stage that allows its tool. Nested runs are runs of `main` or `other`.
pub fn tools_stay_in_their_stages(records: &[Record], main: &str, other: &str) {
    let workflow = |yaml: &str| yaml.lines().find_map(|l| l.strip_prefix("workflow: ")).unwrap_or_default().to_owned();
    // Where two tables have one name, a call may run when either allows it.
    let tables = [main, other].map(|yaml| (workflow(yaml), yaml));
    let mut within: Vec<(String, String)> = Vec::new();
    for event in records.iter().flat_map(|r| &r.events) {
        match event {
            Event::RunStarted { workflow, .. } | Event::ChildOpened { workflow, .. } => {
                within.push((workflow.to_string(), String::new()));
            }
            Event::ChildClosed { .. } => drop(within.pop()),
            Event::StageEntered { stage, .. } => {
                if let Some((_, at)) = within.last_mut() {
                    *at = stage.to_string();
                }
            }
            Event::CallJudged { tool, resolved, judged: Judged::Run | Judged::Ask { .. }, .. } => {
                let name = resolved.as_ref().unwrap_or(tool);
                let (workflow, stage) = within.last().expect("a call outside of any run");
                let mut of = tables.iter().filter(|(name, _)| name == workflow);
                assert!(&**name == "advance" || of.any(|(_, yaml)| allows(yaml, stage, name)), "{name} ran in {stage}");
            }
            _ => {}
        }
    }
}

/// Whether a stage allows a tool, read from the text of the table and not from what the loader made of it.
fn allows(yaml: &str, stage: &str, tool: &str) -> bool {
    let stages = yaml.split("\nstages:").nth(1).unwrap_or_default();
    let body = stages.split(&format!("\n  {stage}:")).nth(1).unwrap_or_default();
    let list = body.split("allowed_tools:").nth(1).unwrap_or_default().trim_start();
    if list.starts_with("all") {
        return true;
    }
    let list = list.trim_start_matches('[').split(']').next().unwrap_or_default();
    list.split(',').any(|pattern| NamePattern::new(pattern.trim()).matches(tool))
}
