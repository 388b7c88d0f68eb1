//! Any text as a stage table: reading ends, says the same twice, and what loads can be shown, drawn and started.

use stagekeeper::render::{Picture, draw, effective, problems};
use stagekeeper::{Problem, Session, StageTable, TableError};

const FILE: &str = "fuzzed.yaml";

/// Takes bytes as a table, which may include itself.
pub fn check(data: &[u8]) {
    match (parse(data), parse(data)) {
        (Ok(one), Ok(two)) => {
            assert_eq!(effective::table(&one), effective::table(&two), "two readings differ");
            sound(&one, data);
        }
        (Err(one), Err(two)) => {
            assert_eq!(one, two, "two readings differ");
            wrong(&one, &String::from_utf8_lossy(data));
        }
        _ => panic!("a table loads once and then no more"),
    }
}

/// Nested tables are the table itself; included texts are plain.
fn parse(data: &[u8]) -> Result<StageTable, TableError> {
    let own = String::from_utf8_lossy(data).into_owned();
    StageTable::parse_bytes(FILE, data, &mut |name| match name.rsplit_once('.') {
        Some((_, "yaml")) => Ok(own.clone()),
        Some(_) => Ok("a text about {{ task }}".to_owned()),
        None => Err("there is no such file".to_owned()),
    })
}

fn sound(table: &StageTable, data: &[u8]) {
    places(table.warnings(), &String::from_utf8_lossy(data));
    let budgets: u64 = table.stages().iter().map(|stage| u64::from(stage.budget())).sum();
    let bounds = table.bounds();
    assert!(u64::from(bounds.ceiling) >= budgets, "the ceiling is below the budgets");
    assert_eq!(bounds.ceiling, table.ceiling());
    for picture in [Picture::Text, Picture::Mermaid, Picture::Dot, Picture::Svg] {
        assert!(!draw(table, picture).is_empty());
    }
    let session = Session::builder(table, "a task").start().expect("a table without a host starts");
    assert!(!session.view().system.is_empty());
    assert_eq!(session.summary().steps, 0);
}

fn wrong(error: &TableError, text: &str) {
    assert!(error.problems.iter().any(|p| p.severity == stagekeeper::table::Severity::Error), "no error among them");
    places(&error.problems, text);
}

/// Every problem stands somewhere in the file, has a known code, and can be shown.
fn places(found: &[Problem], text: &str) {
    // Lines as YAML counts them: a carriage return alone ends one, too.
    let lines = text.replace("\r\n", "\n").split(['\n', '\r']).count();
    for problem in found {
        assert!(stagekeeper::table::problem::CODES.contains(&problem.code), "unknown code {}", problem.code);
        assert!(problem.file != FILE || (1..=lines).contains(&problem.line), "{problem:?} of {lines} lines");
        assert!(problem.column >= 1 && problem.width >= 1, "{problem:?}");
    }
    let _ = problems::text(found, |file| (file == FILE).then_some(text), true);
    let _ = problems::github(found);
    let _ = problems::json(found);
}
