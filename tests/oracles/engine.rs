//! Arbitrary inputs on arbitrary tables: the laws that hold for every run.

#[path = "inputs.rs"]
mod inputs;
#[path = "tables.rs"]
mod tables;

use super::law;
use arbitrary::Unstructured;
use stagekeeper::render::{explain as words, html, story};
use stagekeeper::trace::{Header, Stamped, Trace, explain};
use stagekeeper::{Input, Outcome, Record, Session, SessionBuilder, StageTable, Summary};
use tables::Tables;

/// Most inputs of one run.
const MOST_INPUTS: usize = 120;

/// Takes bytes as a table and what happens to a run of it.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Ok(tables) = tables::tables(&mut u) else { return };
    let Ok(table) = load(&tables) else { return };
    let observe = u.ratio(1, 8).unwrap_or(false);
    let builder = Session::builder(&table, "go and look").observe(observe);
    let (session, records) = play(&mut u, builder.clone());
    if !observe {
        law::tools_stay_in_their_stages(&records, &tables.main, &tables.other);
    }
    law::every_call_is_judged_and_finished_once(&records);
    law::replay_is_equal(builder, &records, &session);
    shown(&table, observe, records);
}

fn load(tables: &Tables) -> Result<StageTable, stagekeeper::TableError> {
    StageTable::parse_with("main.yaml", &tables.main, &mut |name| match name {
        "other.yaml" | "research_one.yaml" => Ok(tables.other.clone()),
        _ => Err("there is no such file".to_owned()),
    })
}

fn play(u: &mut Unstructured<'_>, builder: SessionBuilder) -> (Session, Vec<Record>) {
    let mut session = builder.start().expect("a table without a host starts");
    let mut records = session.take_records();
    let mut summary = session.summary();
    for _ in 0..MOST_INPUTS {
        if u.is_empty() {
            break;
        }
        let Ok(input) = inputs::input(u, &mut session) else { break };
        summary = step(&mut session, input, summary);
        records.extend(session.take_records());
    }
    (session, records)
}

/// One input: taken, or refused without a trace. Gives the summary behind it.
fn step(session: &mut Session, input: Input, before: Summary) -> Summary {
    let messages = session.view().messages.len();
    let is_reply = matches!(input, Input::Reply(_));
    let taken = session.apply(input);
    let summary = session.summary();
    match taken {
        Ok(_) => {
            law::summary_adds_up(&summary, session.open_asks().is_empty());
            assert!(summary.tree.steps <= before.tree.steps + u64::from(is_reply), "an input cost more than a step");
            let ended = session.outcome().is_some_and(|o| !o.is_pause());
            law::calls_are_answered(session.view().messages, ended || session.outcome() == Some(Outcome::Cancelled));
            assert!(!ended || !summary.text.trim().is_empty(), "the run ended in an empty text");
        }
        Err(_) => {
            assert_eq!(before, summary, "an input that did not fit changed something");
            assert_eq!(messages, session.view().messages.len(), "an input that did not fit was told");
        }
    }
    summary
}

/// Whatever happened can be written, told, explained and drawn.
fn shown(table: &StageTable, observe: bool, records: Vec<Record>) {
    let _ = story::story(&records);
    let mut header = Header::new(table, "fuzzed", "go and look");
    header.observe = observe;
    let records = (1..).zip(records).map(|(n, record)| Stamped { n, at_ms: n, record }).collect();
    let trace = Trace { header, records, cut: None };
    let explained = explain(&trace, table).expect("what was recorded can be explained");
    for call in &explained {
        let _ = (words::text(call), words::json(call));
    }
    assert!(html::page(&trace, Some(table), &explained).ends_with("</html>\n"));
    let _ = stagekeeper::testing::scenario_of(&trace, table, "a fuzzed run", "table.yaml");
}
