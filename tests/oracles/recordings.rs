//! Any bytes as recorded runs: every line is a run or said to be unreadable, and every run plays.

use stagekeeper::StageTable;
use stagekeeper::audit::{By, Counts, Reader, Recording, Source, json_line, play, play_and_record, score};
use stagekeeper::render::story;
use std::sync::LazyLock;

static TABLES: LazyLock<[StageTable; 3]> = LazyLock::new(|| {
    [
        include_str!("../../stages/observe.yaml"),
        include_str!("../../docs/examples/audit/declared.yaml"),
        include_str!("../../docs/examples/audit/staged-call.yaml"),
    ]
    .map(|text| StageTable::parse(text).expect("a shipped table loads"))
});

/// Takes bytes as a file of recorded runs, plain or gzip.
pub fn check(data: &[u8]) {
    let Ok(reader) = Reader::new("fuzzed", data) else { return };
    let (mut runs, mut unread) = (Vec::new(), 0);
    for unit in reader {
        match unit.open("fuzzed") {
            Ok(run) => runs.push(run),
            Err(why) => {
                unread += 1;
                assert!(why.line >= 1 && !why.why.is_empty());
            }
        }
    }
    for table in &*TABLES {
        for run in &runs {
            played(table, run);
        }
        let source = Source { file: "fuzzed".to_owned(), input: Box::new(data) };
        let scores = score(table, [source], By::File, 1);
        let counted: u64 = scores.groups.iter().map(|(_, counts)| counts.runs).sum();
        assert_eq!(counted, runs.len() as u64, "the score counts other runs than the reader gives");
        assert_eq!(scores.unread_in_all, unread);
    }
}

fn played(table: &StageTable, run: &Recording) {
    let once = play(table, run).expect("the engine takes every recorded call");
    let (again, records) = play_and_record(table, run).expect("the engine takes every recorded call");
    assert_eq!(once, again, "playing twice differs");
    assert_eq!(once.fates.len(), run.calls(), "a call without a fate");
    let _ = story::story(&records);
    let mut counts = Counts::default();
    counts.count(run.success, &once);
    let _ = json_line("fuzzed", &counts);
}
