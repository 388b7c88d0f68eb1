//! What the keys of a table come to.
#![allow(clippy::disallowed_methods, clippy::panic, reason = "tests read files and may panic")]

use stagekeeper::StageTable;
use stagekeeper::render::effective;
use std::path::Path;

const HEAD: &str = "stagekeeper: 1\nworkflow: meaning\n";

fn load(text: &str) -> StageTable {
    StageTable::parse(&format!("{HEAD}{text}")).unwrap_or_else(|e| panic!("{e}"))
}

/// The lines of `check --show` that hold a key, of all stages.
fn shown(table: &StageTable, key: &str) -> Vec<String> {
    let show = effective::table(table);
    let stages = show.split_once("\nstages:\n").map_or("", |(_, s)| s);
    let stages = stages.split("\nmessages:").next().unwrap_or_default();
    stages.lines().map(str::trim).filter(|l| l.starts_with(&format!("{key}:"))).map(str::to_owned).collect()
}

#[test]
fn expected_steps_are_widened_exactly_and_rounded_up() {
    let stages = "stages:\n  a: { goal: A., allowed_tools: [], expected_steps: 6 }\n  b: { goal: B., allowed_tools: [], expected_steps: 5 }\n";
    assert_eq!(shown(&load(stages), "max_steps"), ["max_steps: 8", "max_steps: 6"]);
    assert_eq!(
        shown(&load(&format!("limits: {{ headroom: 1.1 }}\n{stages}")), "max_steps"),
        ["max_steps: 7", "max_steps: 6"]
    );
    assert_eq!(
        shown(&load(&format!("limits: {{ headroom: 1 }}\n{stages}")), "max_steps"),
        ["max_steps: 6", "max_steps: 5"]
    );
}

#[test]
fn next_is_the_next_stage_that_is_no_aside_and_the_end_after_the_last() {
    let table = load(
        "stages:
  a: { goal: A., allowed_tools: [], max_steps: 1, on_exhausted: help }
  help: { goal: H., allowed_tools: [], max_steps: 1, aside: true, next: back }
  b: { goal: B., allowed_tools: [], max_steps: 1 }
",
    );
    assert_eq!(shown(&table, "next"), ["next: b", "next: back", "next: end"]);
}

#[test]
fn a_gate_does_not_open_by_waiting() {
    let table = load(
        "facts: { green: { from: host } }
stages:
  a: { goal: A., allowed_tools: [], max_steps: 1, requires: { green: Not yet. } }
  b: { goal: B., allowed_tools: [], max_steps: 1 }
",
    );
    assert_eq!(shown(&table, "on_exhausted"), ["on_exhausted: end", "on_exhausted: next"]);
}

#[test]
fn a_stage_changes_the_guards_of_the_table_key_by_key() {
    let table = load(
        "guards: { cycle: { refuse: 5 }, errors: off, duplicate: observe }
stages:
  a: { goal: A., allowed_tools: [], max_steps: 1, guards: { cycle: { hint: 3 }, errors: on } }
  b: { goal: B., allowed_tools: [], max_steps: 1, guards: { same_tool: { in_a_row: 4 }, cycle: false } }
",
    );
    let show = effective::table(&table);
    for line in [
        "cycle: { mode: on, hint: 3, refuse: 5 }",
        "cycle: { mode: off, hint: 2, refuse: 5 }",
        "errors: { mode: on, hint: 3, leave: 6 }",
        "errors: { mode: off, hint: 3, leave: 6 }",
        "same_tool: { mode: on, in_a_row: 4 }",
        "duplicate: { mode: observe }",
    ] {
        assert!(show.contains(line), "{line} is not in\n{show}");
    }
}

#[test]
fn anchors_and_merge_keys_are_applied_and_explicit_keys_win() {
    let table = load(
        "stages:
  a: &base { goal: A., allowed_tools: [], max_steps: 4, leave_by: [advance] }
  b:
    <<: *base
    goal: B.
  c:
    <<: [{ max_steps: 2 }, *base]
",
    );
    assert_eq!(shown(&table, "max_steps"), ["max_steps: 4", "max_steps: 4", "max_steps: 2"]);
    assert_eq!(shown(&table, "goal"), ["goal: A.", "goal: B.", "goal: A."]);
    assert_eq!(shown(&table, "leave_by").len(), 3);
}

#[test]
fn a_problem_in_what_an_alias_repeats_is_reported_once() {
    let error = StageTable::parse(&format!(
        "{HEAD}stages:
  a: &base {{ goal: A., allowed_tools: [], max_steps: 0 }}
  b: *base
"
    ))
    .unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
}

#[test]
fn messages_come_from_a_set_and_single_texts_win() {
    let mut asked = Vec::new();
    let table = StageTable::parse_with(
        "t.yaml",
        &format!("{HEAD}messages:\n  last_step: Mine.\n  from: zh.yaml\n  closing: {{ from: texts/closing.txt }}\nstages:\n  a: {{ goal: A., allowed_tools: [], max_steps: 1 }}\n"),
        &mut |name| {
            asked.push(name.to_owned());
            Ok(if name == "zh.yaml" { "last_step: Set.\nadvancing: 好。\n" } else { "The end.\n" }.to_owned())
        },
    )
    .unwrap();
    let show = effective::table(&table);
    for line in ["  last_step: Mine.", "  advancing: \"好。\"", "  closing: \"The end.\""] {
        assert!(show.contains(line), "{line} is not in\n{show}");
    }
    assert_eq!(asked, ["zh.yaml", "texts/closing.txt"]);
}

#[test]
fn problems_of_an_included_file_name_that_file() {
    let error = StageTable::parse_with(
        "t.yaml",
        &format!(
            "{HEAD}messages: {{ from: zh.yaml }}\nstages:\n  a: {{ goal: A., allowed_tools: [], max_steps: 1 }}\n"
        ),
        &mut |_| Ok("advancing: x\nlast_stepp: y\n".to_owned()),
    )
    .unwrap_err();
    let places: Vec<String> =
        error.problems.iter().map(|p| format!("{}:{}:{} {}", p.file, p.line, p.column, p.code)).collect();
    assert_eq!(places, ["zh.yaml:2:1 unknown-message"]);
}

#[test]
fn costs_and_times_are_read_exactly() {
    let show = effective::table(&load(
        "limits: { max_cost: 0.1, max_time: 90m }\nstages:\n  a: { goal: A., allowed_tools: [], max_steps: 1 }\n",
    ));
    assert!(show.contains("max_cost: 0.100000"), "{show}");
    assert!(show.contains("max_time: 90m"), "{show}");
}

#[test]
fn the_catalogue_is_asked_by_exact_name_and_then_by_the_first_pattern() {
    let table = load(
        "tools:
  \"fs_*\": { effect: read, max_calls: 2 }
  fs_write: { effect: write, max_calls: 1 }
  \"*_write\": { effect: write, max_calls: 9 }
stages:
  a: { goal: A., allowed_tools: all, max_steps: 9 }
",
    );
    let bounds = table.bounds();
    assert_eq!(bounds.max_calls.get("fs_write"), Some(&Some(1)));
    assert!(table.tool_entry("fs_read").is_some());
    assert!(table.tool_entry("git_log").is_none());
}

#[test]
fn the_bounds_of_diagnose_are_those_of_its_budgets() {
    let table = StageTable::parse(include_str!("../tables/diagnose.yaml")).unwrap();
    assert_eq!(
        serde_json::to_string(&table.bounds()).unwrap(),
        r#"{"ceiling":15,"ceiling_calls":14,"max_replies":15,"max_calls":{"list_files":32,"grep_code":32,"read_file":64,"send_email":1}}"#
    );
}

#[test]
fn extensions_and_retries_count_in_the_ceiling() {
    let table = load(
        "stages:
  a: { goal: A., allowed_tools: [], max_steps: 12, on_exhausted: retry_fresh }
rules:
  - { name: longer, at: step, when: run.step > 5, extend: { stage: a, steps: 8 } }
",
    );
    assert_eq!(table.ceiling(), 21);
    assert_eq!(table.bounds().max_replies, 21);
}

#[test]
fn what_is_shown_is_a_table_that_means_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let show = effective::table(&StageTable::parse(&text).unwrap());
        let again = StageTable::parse(&show).unwrap_or_else(|e| panic!("{e}\n{show}"));
        assert_eq!(effective::table(&again), show);
    }
}

#[test]
fn every_value_is_shown() {
    let table = load(
        "about: Everything at once.
instructions: Work on {{ task }}.
tools:
  look: { effect: read, mask: [uuid], aliases: [peek], ignore_args: [reason], failed_when: result.empty }
  wait: { effect: poll, every: 15s, until: result.json.done }
facts: { seen: { from: result, tool: look, match: 'x', cleared_by: [wait] } }
finish: { success: [\"[END]\"], window: 2 }
rules:
  - { name: first, at: result, tool: look, when: result.error, set: { seen: true }, hint: Go on. }
stages:
  work:
    goal: Do it.
    allowed_tools: [look, wait]
    max_steps: 3
    model: small
    approval: always
    rules: [{ at: call, deny: No. }]
guarantees: [{ reaches: work }]
",
    );
    let show = effective::table(&table);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/tables");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(show.split("\nmessages:").next().unwrap()));
}

#[test]
fn a_guard_only_table_has_one_stage_with_every_tool() {
    let table = StageTable::guards_only(20);
    assert_eq!((table.workflow(), table.ceiling()), ("guard", 20));
    assert!(StageTable::parse(&effective::table(&table)).is_ok());
    assert_eq!(StageTable::guards_only(0).ceiling(), 1);
}
