//! Tables that load.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use stagekeeper::{Problem, StageTable};
use std::path::Path;

fn problems(table: Result<StageTable, stagekeeper::TableError>) -> Vec<Problem> {
    match table {
        Ok(table) => table.warnings().to_vec(),
        Err(error) => error.problems,
    }
}

#[test]
fn tables_of_real_jobs_load_and_only_warn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let mut said = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for p in problems(StageTable::parse_with(&name, &text, &mut |_| Err("no files here".into()))) {
            said.push(format!("{}:{}:{} {} {}", p.file, p.line, p.column, p.code, p.message));
        }
    }
    said.sort();
    assert_eq!(
        said,
        [
            "fix_defect.yaml:10:3 write-without-bound the tool `edit_file` writes, and only the budgets of its stages limit how often",
            "incident.yaml:9:34 every-without-until the tool `metrics_query` has `every`, but no `until`, so the host does not know when to stop and does not repeat",
        ]
    );
}

#[test]
fn diagnose_has_a_ceiling_of_fifteen_steps() {
    let table = StageTable::parse(include_str!("../tables/diagnose.yaml")).unwrap();
    assert_eq!(table.ceiling(), 15);
    assert_eq!(table.workflow(), "diagnose");
    assert_eq!(table.stages().len(), 4);
}
