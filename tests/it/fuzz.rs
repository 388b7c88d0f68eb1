//! The oracles of the fuzz targets (`tests/fuzz`), run for a moment on the repository's own files and on noise, so that
//! they are built and hold in every test run; what fuzzing found is in the test of each subject.

#[path = "../oracles/engine.rs"]
mod engine;
#[path = "../oracles/recordings.rs"]
mod recordings;
#[path = "../oracles/scenario.rs"]
mod scenario;
#[path = "../oracles/table.rs"]
mod table;
#[path = "../oracles/trace.rs"]
mod trace;

use super::law;
use proptest::prelude::*;
use std::path::Path;

/// The YAML files of a folder of this repository.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn every_file_of_ours_passes_the_oracle_of_its_kind() {
    for text in ["stages", "tests/tables", "tests/problems"].iter().flat_map(|folder| files(folder)) {
        table::check(&text);
    }
    for text in files("tests/scenarios") {
        scenario::check(&text);
    }
}

/// Replaces a few bytes of a text.
fn damaged(mut text: Vec<u8>, damage: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in damage {
        let at = at.index(text.len());
        text[at] = *byte;
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_of_random_tables_keep_every_law(data in proptest::collection::vec(any::<u8>(), 200..3_000)) {
        engine::check(&data);
    }

    #[test]
    fn a_damaged_trace_or_recording_hurts_nobody(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
    ) {
        let trace = recorded();
        trace::check(&damaged(trace.clone(), &damage));
        recordings::check(&damaged(trace, &damage));
    }
}

/// A trace of a short run.
fn recorded() -> Vec<u8> {
    use stagekeeper::testing::{Script, play};
    use stagekeeper::trace::{Header, write_header, write_record};
    let table = stagekeeper::StageTable::parse(include_str!("../../stages/diagnose.yaml")).unwrap();
    let script = Script::new()
        .call("list_files", "{}")
        .call("read_file", r#"{"path":"a"}"#)
        .text("a")
        .tool("list_files", ["a b"]);
    let played = play(&table, "Find it.", script);
    let (mut all, mut line) = (Vec::new(), Vec::new());
    write_header(&mut line, &Header::new(&table, "r", "Find it.")).unwrap();
    all.extend_from_slice(&line);
    for (n, record) in (1..).zip(&played.records) {
        write_record(&mut line, n, 0, record).unwrap();
        all.extend_from_slice(&line);
    }
    all
}
