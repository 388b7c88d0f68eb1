//! One broken table per problem code, each with what is said about it.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use stagekeeper::StageTable;
use stagekeeper::render::problems;
use stagekeeper::table::problem::CODES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Codes whose tables are too large to keep: `table_bad_input` makes them.
const MADE: &[&str] = &["file-too-large", "text-too-long"];

/// The last so many problems of one table are kept in its snapshot.
const SHOWN: usize = 12;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn every_broken_table_is_explained() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/problems");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::glob!("../problems", "*.yaml", |path| {
            let code = path.file_stem().unwrap().to_str().unwrap();
            let name = format!("{code}.yaml");
            let text = std::fs::read_to_string(path).unwrap();
            let table = StageTable::parse_with(&name, &text, &mut |_| Err("no such file".into()));
            let found = match table {
                Ok(table) => table.warnings().to_vec(),
                Err(error) => error.problems,
            };
            assert!(found.iter().any(|p| p.code == code), "{code} is not among {found:#?}");
            let shown = found.get(found.len().saturating_sub(SHOWN)..).unwrap();
            let mut settings = insta::Settings::clone_current();
            settings.remove_snapshot_suffix();
            settings.bind(|| insta::assert_snapshot!(code, problems::text(shown, |_| Some(&text), false)));
        });
    });
}

#[test]
fn codes_broken_tables_and_the_reference_agree() {
    let codes: BTreeSet<String> = CODES.iter().map(|c| (*c).to_owned()).collect();
    let mut tables: BTreeSet<String> = std::fs::read_dir(root().join("tests/problems"))
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".yaml").map(str::to_owned))
        .collect();
    tables.extend(MADE.iter().map(|c| (*c).to_owned()));
    assert_eq!(codes, tables);
    let reference = std::fs::read_to_string(root().join("docs/reference/problems.md")).unwrap();
    let described: BTreeSet<String> =
        reference.lines().filter_map(|l| l.strip_prefix("### `")?.strip_suffix('`').map(str::to_owned)).collect();
    assert_eq!(codes, described);
    assert!(CODES.is_sorted());
    // The loader checks the other direction in debug builds: it reports no code that is not listed.
}
