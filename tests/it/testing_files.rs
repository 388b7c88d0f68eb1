//! What a scenario file says about itself: every slip has its place and its help.

use stagekeeper::testing::{Answer, Entry, Failure, HostEntry, Scenario, Script, ScriptedModel, TableSource, Turn};

const TABLE: &str =
    "table: { stagekeeper: 1, workflow: t, stages: { work: { goal: Work., allowed_tools: all, max_steps: 3 } } }\n";

/// Each slip of a file, and what is said to it.
const SLIPS: &[&str] = &[
    "taks: x\nscript: []",
    "script:\n  - call: { tol: ls }",
    "script:\n  - txt: hello",
    "script:\n  - { text: hello, wait: 3s }",
    "script:\n  - {}",
    "script:\n  - hello",
    "script: hello",
    "script:\n  - call: { tool: ls, args: [1] }",
    "script:\n  - calls: { tool: ls }",
    "script:\n  - fails: often",
    "script:\n  - wait: long",
    "script:\n  - wait: 9000h",
    "script:\n  - approve: maybe",
    "script:\n  - cancel: no",
    "script:\n  - repeat: { times: 0, script: [] }",
    "script:\n  - repeat: { times: 30000, script: [empty] }",
    "script:\n  - repeat: { times: 15000, script: [empty, empty] }",
    "script:\n  - call: { tool: ls, result: { bytes: 99999999999 } }",
    "script: []\nthen: stop",
    "script: [cancel]\nthen: repeat",
    "script: []\nassume: { rule: perhaps }",
    "script: []\nexpect: { outcom: completed }",
    "script: []\nexpect: { outcome: complete }",
    "script: []\nexpect: { limit: step }",
    "script: []\nexpect: { run: { ls: -1 } }",
    "script: []\nexpect: { steps: many }",
    "script: []\nscript: []",
    "script: [",
    "task: no script",
];

fn said(text: &str) -> String {
    match Scenario::parse(text, "s.yaml") {
        Ok(_) => "nothing is wrong\n".to_owned(),
        Err(error) => {
            let lines = error.problems.iter().map(|p| {
                let help = p.help.as_deref().map(|h| format!("\n      {h}")).unwrap_or_default();
                format!("  {}:{}: {}{help}\n", p.line, p.column, p.message)
            });
            lines.collect()
        }
    }
}

#[test]
fn every_slip_in_a_scenario_file_is_told_with_its_place_and_help() {
    let mut all = String::new();
    for slip in SLIPS {
        all.push_str(&format!("{slip}\n{}\n", said(&format!("scenario: s\n{TABLE}{slip}\n"))));
    }
    for whole in ["", "scenario: s\nscript: []\n", "- a\n- b\n", "script: []\ntable: ''\n", "a: 1\n---\nb: 2\n"] {
        all.push_str(&format!("{whole:?}\n{}\n", said(whole)));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/scenarios");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("slips", all));
}

#[test]
fn a_large_or_deep_file_gets_an_answer_in_bounded_time() {
    let deep = format!("scenario: s\ntable: x\nscript: {}\n", "[".repeat(20_000));
    let large = format!("scenario: s\ntable: x\nscript: []\ntask: {}\n", "x".repeat(9 << 20));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &(b'b'..b'j')
            .map(|c| {
                let (this, before) = (char::from(c), char::from(c - 1));
                format!("{this}: &{this} [*{before},*{before},*{before},*{before},*{before},*{before},*{before}]\n")
            })
            .collect::<String>();
    let started = std::time::Instant::now();
    for text in [deep, large, bomb] {
        assert!(Scenario::parse(&text, "s.yaml").is_err());
    }
    assert!(started.elapsed().as_secs() < 20, "took {:?}", started.elapsed());
}

#[test]
fn every_kind_of_entry_is_read_as_it_is_written() {
    let text = r#"
tools: { ls: [a, { error: b }, { hang: true }, { bytes: 3 }, { n: 1 }, [1, 2], "7", 8, null] }
script:
  - { text: hello, call: { tool: ls, args: { n: 12345678901234567890123, s: "7" }, id: x } }
  - raw: { tool: ls, arguments: '{"a":' }
  - empty
  - declines
  - { cut: half, call: { tool: ls } }
  - fails: 429
  - fails: overflow
  - user: hi
  - approve: yes
  - fact: { a: [1, x], b: null }
  - wait: 2m
  - cancel
  - repeat: { times: 2, script: [text: again] }
then: repeat
"#;
    let script = Script::parse(text, "s.yaml").unwrap();
    assert_eq!(script.entries.len(), 14);
    assert_eq!(
        script.tools["ls"],
        [
            Answer::Text("a".into()),
            Answer::Error("b".into()),
            Answer::Hang,
            Answer::Bytes(3),
            Answer::Text(r#"{"n":1}"#.into()),
            Answer::Text("[1,2]".into()),
            Answer::Text("7".into()),
            Answer::Text("8".into()),
            Answer::Text("null".into()),
        ]
    );
    assert_eq!(script.entries[5], Entry::Fails(Failure::Status(429)));
    assert_eq!(script.entries[6], Entry::Fails(Failure::Overflow));
    assert_eq!(script.entries[10], Entry::Host(HostEntry::Wait { ms: 120_000 }));
    let mut model = ScriptedModel::new(script);
    let Turn::Reply { reply, answers } = model.next_turn() else { panic!("a reply comes first") };
    assert_eq!(reply.calls[0].arguments, r#"{"n":12345678901234567890123,"s":"7"}"#);
    assert_eq!((reply.calls[0].id.as_str(), reply.text.as_str(), answers), ("x", "hello", vec![None]));
    for _ in 0..20 {
        model.next_turn();
    }
    assert_eq!(model.next_reply().unwrap().text, "again");
}

#[test]
fn an_inline_table_keeps_its_lines_and_columns() {
    let text = "scenario: s\ntable:\n  stagekeeper: 1\n  workflow: t\n  stages:\n    work: { goal: Work. }\ntask: x\nscript: []\n";
    let scenario = Scenario::parse(text, "s.yaml").unwrap();
    let TableSource::Inline(table) = scenario.table() else { panic!("the table is inline") };
    let error = stagekeeper::StageTable::parse(table).unwrap_err();
    assert!(error.problems.iter().all(|p| p.line == 6), "{error}");
    assert!(!table.contains("task"), "{table}");
}
