//! The JSON Schema and the reference say what the loader does.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests read files and the environment, and may panic"
)]

use serde_json::Value;
use stagekeeper::StageTable;
use std::path::{Path, PathBuf};

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(name)
}

/// `STAGEKEEPER_UPDATE=1 cargo test` writes the files anew instead of comparing.
fn kept_or_written(path: &Path, wanted: &str) -> String {
    if std::env::var("STAGEKEEPER_UPDATE").is_ok() {
        std::fs::write(path, wanted).unwrap();
    }
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn the_checked_in_schema_is_the_one_of_the_loader() {
    let schema = StageTable::schema();
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    let kept: Value = serde_json::from_str(&kept_or_written(&reference("stage-table.schema.json"), &text)).unwrap();
    assert!(kept == schema, "run the tests with STAGEKEEPER_UPDATE=1");
}

#[test]
fn the_reference_lists_every_key_of_the_loader() {
    let path = reference("stage-table.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- keys: begin -->\n", "<!-- keys: end -->\n");
    let (head, rest) = page.split_once(begin).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    let wanted = format!("{head}{begin}{}{end}{tail}", StageTable::key_reference());
    assert!(kept_or_written(&path, &wanted) == wanted, "run the tests with STAGEKEEPER_UPDATE=1");
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn walk(value: &Value, path: &str, missing: &mut Vec<String>) {
        let Value::Object(object) = value else {
            return;
        };
        if let Some(Value::Object(properties)) = object.get("properties") {
            for (name, property) in properties {
                if property.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
                    missing.push(format!("{path}.{name}"));
                }
            }
        }
        for (name, inner) in object {
            walk(inner, &format!("{path}/{name}"), missing);
        }
    }
    let mut missing = Vec::new();
    walk(&StageTable::schema(), "", &mut missing);
    assert_eq!(missing, [""; 0]);
}

/// What the examples leave out because it stands elsewhere on the page.
const STAGES: &str = "stages:
  work: { goal: Work., allowed_tools: all, max_steps: 3 }
  fallback: { goal: Try another way., allowed_tools: all, max_steps: 3 }
  follow: { goal: Follow., allowed_tools: all, max_steps: 3 }
";

#[test]
fn the_examples_of_the_reference_load() {
    let page = std::fs::read_to_string(reference("stage-table.md")).unwrap();
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    assert!(blocks.len() > 7);
    for block in blocks {
        let head = if block.contains("stagekeeper: 1") { "" } else { "stagekeeper: 1\nworkflow: example\n" };
        let stages = if block.contains("\nstages:") || block.starts_with("stages:") { "" } else { STAGES };
        let text = format!("{head}{block}{stages}");
        let include = &mut |name: &str| {
            Ok(match name {
                "research_one.yaml" | "deeper.yaml" => format!("stagekeeper: 1\nworkflow: inner\n{STAGES}"),
                name if name.ends_with(".yaml") => "last_step: x\n".to_owned(),
                _ => "x".to_owned(),
            })
        };
        if let Err(error) = StageTable::parse_with("example.yaml", &text, include) {
            panic!("{error}\n{text}");
        }
    }
}
