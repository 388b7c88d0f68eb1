//! Any bytes as a trace: reading never panics; what reads can be written and read again, replayed, told and drawn.

use stagekeeper::render::{explain as words, html, story};
use stagekeeper::trace::{Trace, compare, explain, go_on, replay, write_header, write_record};
use stagekeeper::{StageTable, testing};

/// Takes bytes as a trace.
pub fn check(data: &[u8]) {
    let Ok(trace) = Trace::read(data) else { return };
    assert_eq!(written(&trace), Some(Trace { cut: None, ..trace.clone() }), "writing and reading changed it");
    let _ = story::story(&trace.inputs());
    let recorded = &trace.header.table;
    let table = StageTable::parse_with(&recorded.file, &recorded.text, &mut |name| {
        recorded.included.get(name).cloned().ok_or_else(|| "the trace does not hold this file".to_owned())
    });
    match table {
        Ok(table) => played(&trace, &table),
        Err(_) => assert!(html::page(&trace, None, &[]).ends_with("</html>\n")),
    }
    let _ = compare(&trace, &StageTable::guards_only(5));
}

fn written(trace: &Trace) -> Option<Trace> {
    let (mut line, mut all) = (Vec::new(), Vec::new());
    write_header(&mut line, &trace.header).ok()?;
    all.extend_from_slice(&line);
    for stamped in &trace.records {
        write_record(&mut line, stamped.n, stamped.at_ms, &stamped.record).ok()?;
        all.extend_from_slice(&line);
    }
    Trace::read(&*all).ok()
}

/// The recorded table: replaying gives the recorded events, or names the record that differs.
fn played(trace: &Trace, table: &StageTable) {
    match replay(trace, table) {
        Ok(None) => {
            let session = trace.replay(table).expect("`replay` and `Trace::replay` disagree");
            let again = go_on(trace, table).expect("what replays can go on");
            assert_eq!(again.session.summary(), session.summary());
            assert_eq!(again.session.view().messages, session.view().messages);
        }
        Ok(Some(difference)) => {
            assert!((1..=trace.records.len()).contains(&difference.record), "{difference:?}");
            assert!(trace.replay(table).is_err());
        }
        Err(_) => assert!(trace.replay(table).is_err()),
    }
    let explained = explain(trace, table).unwrap_or_default();
    for call in &explained {
        let _ = (words::text(call), words::json(call));
    }
    assert!(html::page(trace, Some(table), &explained).ends_with("</html>\n"));
    let _ = testing::scenario_of(trace, table, "a fuzzed run", "table.yaml");
    let _ = testing::first_table(trace, "fuzzed", Some(table));
}
