//! A recorded run as a scenario that plays the same, and as a first table.

use stagekeeper::StageTable;
use stagekeeper::testing::{Scenario, Script, TableSource, first_difference, first_table, play, scenario_of};
use stagekeeper::trace::explain;
use std::path::Path;

/// Each scenario of ours that assumes nothing, with its table and its run.
fn each(mut look: impl FnMut(&str, &Scenario, &StageTable)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("\nassume:") {
            continue;
        }
        let scenario = Scenario::parse(&text, "scenario").unwrap();
        let table = match scenario.table() {
            TableSource::Inline(text) => StageTable::parse(text),
            TableSource::Path(file) => {
                let at = folder.join(file);
                let text = std::fs::read_to_string(&at).unwrap();
                let mut read = |name: &str| std::fs::read_to_string(at.with_file_name(name)).map_err(|e| e.to_string());
                StageTable::parse_with(file, &text, &mut read)
            }
        };
        if let Ok(table) = table {
            look(path.file_stem().unwrap().to_str().unwrap(), &scenario, &table);
        }
    }
}

#[test]
fn a_scenario_made_of_a_run_plays_the_same() {
    let mut seen = 0;
    each(|name, scenario, table| {
        let played = scenario.play(table).unwrap();
        let trace = scenario.trace(table, played.records);
        let made = scenario_of(&trace, table, "again", "table.yaml");
        let again = Scenario::parse(&made, "made").unwrap_or_else(|e| panic!("{name}: {e}\n{made}"));
        let replayed = again.play(table).unwrap();
        assert_eq!(first_difference(&trace, &replayed.records), None, "{name}\n{made}");
        seen += 1;
    });
    assert!(seen > 100, "{seen}");
}

#[test]
fn every_call_of_every_scenario_is_explained_by_the_check_that_judged_it() {
    use stagekeeper::engine::Judged;
    use stagekeeper::render::explain::{CameOut, rows};
    each(|name, scenario, table| {
        let trace = scenario.trace(table, scenario.play(table).unwrap().records);
        for one in explain(&trace, table).unwrap() {
            let decided = rows(&one).into_iter().find(|row| row.came_out == CameOut::Decides).map(|row| row.check);
            match &one.judged {
                Judged::Run => assert_eq!(decided, None, "{name}"),
                Judged::Refuse { check, .. } | Judged::Reuse { check, .. } => {
                    assert_eq!(decided, Some(*check), "{name}");
                    // What was asked before it passed: the deciding check is the last one that was asked, but for the
                    // two identity guards, which are asked together.
                    let last = one.checks.last().map(|asked| asked.check);
                    assert!(last.is_none_or(|last| last >= *check), "{name}: {last:?} {check:?}");
                }
                Judged::Ask { .. } => assert_eq!(decided, Some(stagekeeper::Check::Approval), "{name}"),
            }
        }
    });
}

#[test]
fn a_first_table_has_the_tools_that_a_person_approved_and_none_that_one_refused() {
    let text = "stagekeeper: 1\nworkflow: w\ntools: { ls: { effect: read }, put: { effect: write, approval: always, max_calls: 2 }, drop: { approval: always } }\nstages:\n  s: { goal: G., allowed_tools: all, max_steps: 9 }\n";
    let table = StageTable::parse(text).unwrap();
    let script = "scenario: s\ntable: t.yaml\nscript:\n  - call: { tool: ls }\n  - call: { tool: put }\n  - approve: yes\n  - call: { tool: drop }\n  - approve: no\n  - text: done\n";
    let scenario = Scenario::parse(script, "s").unwrap();
    let played = scenario.play(&table).unwrap();
    let made = first_table(&scenario.trace(&table, played.records), "mine", Some(&table));
    assert!(made.contains("\"put\": { effect: write, max_calls: 2, approval: always }"), "{made}");
    assert!(made.contains("\"ls\"") && !made.contains("drop"), "{made}");
}

#[test]
fn a_first_table_has_a_stage_for_each_group_of_tools_and_a_budget_from_what_was_spent() {
    let table = StageTable::guards_only(20);
    let script = Script::new()
        .call("ls", "{}")
        .call("grep", "{}")
        .call("ls", r#"{"a":1}"#)
        .call("mcp:read/x", "{}")
        .text("done");
    let played = play(&table, "Look.", script);
    let scenario = Scenario::parse("scenario: s\ntable: t.yaml\nscript: []\n", "s").unwrap();
    let made = first_table(&scenario.trace(&table, played.records), "mine", None);
    insta::assert_snapshot!(made, @r#"
    # From run scenario: stages by the tools it used together, budgets by the steps it spent (4), and a fifth more.
    stagekeeper: 1
    workflow: mine

    limits: { headroom: 1.2 }

    tools:          # say what each does to the world: read, write, poll or stateful
      "ls": { effect: stateful }
      "grep": { effect: stateful }
      "mcp:read/x": { effect: stateful }

    stages:
      use_ls:
        goal: "Use ls, grep as far as the task needs it."
        allowed_tools: ["ls", "grep"]
        expected_steps: 3
      use_mcp_read_x:
        goal: "Use mcp:read/x as far as the task needs it."
        allowed_tools: ["mcp:read/x"]
        expected_steps: 1
      answer:
        goal: Answer the task from what was found.
        allowed_tools: []
        max_steps: 1
    "#);
    StageTable::parse(&made).unwrap();
}

/// Found by fuzzing the engine.
#[test]
fn a_recorded_wait_longer_than_can_be_counted_is_the_longest_there_is() {
    let table = StageTable::parse(
        "stagekeeper: 1\nworkflow: w\nlimits: { max_time: 1h }\nstages:\n  a: { goal: A., allowed_tools: [], max_steps: 1 }\n",
    )
    .unwrap();
    let mut trace =
        Scenario::parse("scenario: s\ntable: t.yaml\nscript: [{ text: done }]\n", "s").unwrap().trace(&table, vec![]);
    let wait = stagekeeper::Record { input: stagekeeper::Input::Time { ms: u64::MAX, waiting: false }, events: vec![] };
    let reply = stagekeeper::Record { input: stagekeeper::Input::Reply(stagekeeper::Reply::text("x")), events: vec![] };
    let records = [wait.clone(), wait, reply];
    trace.records = (1..).zip(records).map(|(n, record)| stagekeeper::trace::Stamped { n, at_ms: 0, record }).collect();
    assert!(scenario_of(&trace, &table, "long", "t.yaml").contains("wait: 18446744073709551615ms"));
}
