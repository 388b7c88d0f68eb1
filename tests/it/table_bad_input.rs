//! Files that are not what they should be: a clear message, in bounded time and memory.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use proptest::prelude::*;
use stagekeeper::{Problem, StageTable, TableError};
use std::fmt::Write;

const TABLE: &str = "stagekeeper: 1\nworkflow: plain\nstages:\n  work:\n    goal: Do the task.\n    allowed_tools: []\n    max_steps: 3\n";

fn found(table: Result<StageTable, TableError>) -> Vec<Problem> {
    match table {
        Ok(table) => table.warnings().to_vec(),
        Err(error) => error.problems,
    }
}

/// `line:column code` of each problem.
fn places(text: &str) -> Vec<String> {
    found(StageTable::parse(text)).iter().map(|p| format!("{}:{} {}", p.line, p.column, p.code)).collect()
}

fn bytes(bytes: &[u8]) -> Vec<String> {
    let table = StageTable::parse_bytes("t.yaml", bytes, &mut |_| Err(String::new()));
    found(table).iter().map(|p| format!("{}:{} {}", p.line, p.column, p.code)).collect()
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "~\n", "\u{feff}"] {
        assert_eq!(places(text), ["1:1 empty-file"], "{text:?}");
    }
}

/// Found by fuzzing: YAML counts it as the end of a line, and the line shown was another.
#[test]
fn a_carriage_return_alone_ends_a_line_and_the_right_one_is_shown() {
    let text = "stagekeeper: 1\rworkflow: w\r\rstages: 1\nabuot: x\n";
    let problems = found(StageTable::parse(text));
    let of = |code: &str| problems.iter().find(|p| p.code == code).map(|p| (p.line, p.column));
    assert_eq!((of("wrong-type"), of("unknown-key")), (Some((4, 9)), Some((5, 1))));
    let said = stagekeeper::render::problems::text(&problems, |_| Some(text), false);
    assert!(said.contains("4 | stages: 1") && said.contains("5 | abuot: x"), "{said}");
    assert_eq!(places("a: 1\rb: \u{1}"), ["2:4 not-text"]);
    assert_eq!(bytes(b"a: 1\r\rb: \xff"), ["3:4 not-text"]);
}

#[test]
fn a_table_with_a_byte_order_mark_is_read() {
    assert!(StageTable::parse(&format!("\u{feff}{TABLE}")).is_ok());
    assert_eq!(places(&format!("\u{feff}x: 1\n{TABLE}")), ["1:1 unknown-key"]);
}

#[test]
fn a_table_with_windows_line_ends_is_read_and_places_are_right() {
    assert!(StageTable::parse(&TABLE.replace('\n', "\r\n")).is_ok());
    assert_eq!(places(&TABLE.replace("max_steps: 3", "max_steps: 0").replace('\n', "\r\n")), ["7:16 bad-number"]);
}

#[test]
fn a_second_document_is_refused() {
    assert_eq!(places(&format!("{TABLE}---\n{TABLE}")), ["8:1 two-documents"]);
    assert!(StageTable::parse(&format!("---\n{TABLE}...\n")).is_ok());
}

#[test]
fn tabs_are_named_as_such() {
    assert_eq!(places("stages:\n\twork:\n\t\tgoal: x\n"), ["2:2 yaml-tab"]);
    assert_eq!(places("stages:\n  work:\n  \tgoal: x\n").first().unwrap().split(' ').next_back(), Some("yaml-tab"));
}

#[test]
fn binary_files_and_other_encodings_are_no_text() {
    assert_eq!(bytes(b"\x7fELF\x02\x01\x01\0\0\0"), ["1:1 not-text"]);
    assert_eq!(bytes(b"stagekeeper: 1\nworkflow: a\0b\n"), ["2:12 not-text"]);
    assert_eq!(bytes(b"a: 1\nb: \xff\xfe\n"), ["2:4 not-text"]);
    assert_eq!(bytes(b"\xff\xfes\0t\0a\0"), ["1:1 not-text"]);
    assert!(bytes(TABLE.as_bytes()).is_empty());
}

#[test]
fn a_file_of_a_hundred_megabytes_is_refused_unread() {
    let text = "a".repeat(100 * 1024 * 1024);
    assert_eq!(places(&text), ["1:1 file-too-large"]);
    assert_eq!(bytes(text.as_bytes()), ["1:1 file-too-large"]);
}

#[test]
fn twenty_thousand_brackets_are_refused() {
    for brackets in ["[".repeat(20_000), "{".repeat(20_000), "{a: ".repeat(20_000), "- ".repeat(20_000)] {
        let codes = places(&brackets);
        assert_eq!(codes.len(), 1, "{codes:?}");
        assert!(codes.iter().all(|c| c.ends_with("yaml-nesting")), "{codes:?}");
    }
}

#[test]
fn twenty_thousand_nested_blocks_are_refused() {
    let mut text = String::new();
    for depth in 0..2_000 {
        writeln!(text, "{}a:", " ".repeat(depth)).unwrap();
    }
    assert_eq!(places(&text).first().map(|p| p.ends_with("yaml-nesting")), Some(true));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ('b'..='z').zip('a'..) {
        let again: Vec<String> = (0..10).map(|_| format!("*{before}")).collect();
        writeln!(text, "{name}: &{name} [{}]", again.join(", ")).unwrap();
    }
    let codes = places(&text);
    assert!(codes.iter().all(|c| c.ends_with("yaml-too-many-values")), "{codes:?}");
}

#[test]
fn aliases_that_only_nest_deeper_are_refused() {
    let mut text = String::from("a: &a [x]\n");
    for n in 0..200 {
        let before = if n == 0 { "a".to_owned() } else { format!("n{}", n - 1) };
        writeln!(text, "k{n}: &n{n} [*{before}]").unwrap();
    }
    assert!(places(&text).iter().all(|c| c.ends_with("yaml-nesting")));
}

#[test]
fn an_alias_of_what_holds_it_is_refused() {
    assert_eq!(places("a: &a [*a]\n").len(), 1);
}

#[test]
fn a_text_longer_than_the_limit_is_refused() {
    let text = TABLE.replace("Do the task.", &"x".repeat(70_000));
    assert_eq!(places(&text), ["5:11 text-too-long"]);
}

#[test]
fn an_expression_of_five_thousand_terms_is_refused() {
    let terms = vec!["stage.left > 1"; 5_000].join(" and ");
    let text = format!("{TABLE}rules:\n  - {{ name: long, at: step, when: '{terms}', forget: 1 }}\n");
    let codes = places(&text);
    assert_eq!(codes.len(), 1);
    assert!(codes.iter().all(|c| c.ends_with("expression-too-long")), "{codes:?}");
}

#[test]
fn a_deep_expression_within_the_length_is_judged_without_harm() {
    let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
    let text = format!("{TABLE}rules:\n  - {{ name: deep, at: step, when: '{deep}', forget: 1 }}\n");
    assert!(places(&text).iter().all(|c| c.ends_with("bad-expression")));
}

#[test]
fn ten_thousand_problems_are_counted_and_the_first_are_shown() {
    let mut text = String::from("stagekeeper: 1\nworkflow: plain\nstages:\n");
    for n in 0..10_000 {
        writeln!(text, "  s{n}: {{ goal: Do it., allowed_tools: [], max_steps: 3, next: nowhere{n} }}").unwrap();
    }
    let problems = found(StageTable::parse(&text));
    assert_eq!(problems.len(), 201);
    assert_eq!(problems.last().map(|p| p.code), Some("too-many-problems"));
    assert!(problems.is_sorted_by_key(|p| p.line));
}

#[test]
fn more_stages_than_the_limit_are_refused() {
    let mut text = String::from("stagekeeper: 1\nworkflow: plain\nstages:\n");
    for n in 0..20_001 {
        writeln!(text, "  s{n}: {{ goal: Go., allowed_tools: [], max_steps: 1 }}").unwrap();
    }
    assert_eq!(places(&text), ["3:1 too-many"]);
}

#[test]
fn both_slips_of_newcomers_get_their_own_words() {
    for text in ["goal: First: look\n", "a: { b: No one: put it }\n", "goal: Look\n  first: then\n"] {
        assert!(places(text).iter().any(|p| p.ends_with("yaml-colon")), "{text:?} {:?}", places(text));
    }
    for text in ["when: \"x\" in result.text\n", "a: { when: 'x' in result.text, b: c }\n", "- deny: \"No\" it said\n"]
    {
        assert!(places(text).iter().any(|p| p.ends_with("yaml-quote")), "{text:?} {:?}", places(text));
    }
    let list = TABLE.replace(
        "allowed_tools: []",
        "allowed_tools: []\n    hints:\n      read_file:\n        - Look first: then read.",
    );
    assert!(!places(&list).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_the_loader_panic(text in r#"[ \na-c:\-\[\]{}&*<>|"'#!?,%@~0-9.\t]{0,120}"#) {
        let _ = StageTable::parse(&text);
    }

    #[test]
    fn no_mangled_table_makes_the_loader_panic(
        which in 0..TABLES.len(),
        from in 0..2_500_usize,
        length in 0..60_usize,
        put in r#"[ \na-c:\-\[\]{}&*<>|"'#!?,%~0-9.é]{0,12}"#,
    ) {
        let table = TABLES.get(which).copied().unwrap_or_default();
        let mut chars: Vec<char> = table.chars().collect();
        let from = from.min(chars.len());
        let to = (from + length).min(chars.len());
        chars.splice(from..to, put.chars());
        let text: String = chars.into_iter().collect();
        let problems = found(StageTable::parse(&text));
        prop_assert!(problems.iter().all(|p| p.line >= 1 && p.column >= 1 && p.width >= 1));
        let said = stagekeeper::render::problems::text(&problems, |_| Some(&text), false);
        prop_assert!(problems.iter().all(|p| said.contains(p.code)));
    }
}

const TABLES: &[&str] = &[
    include_str!("../tables/diagnose.yaml"),
    include_str!("../tables/fix_defect.yaml"),
    include_str!("../tables/incident.yaml"),
    include_str!("../tables/support.yaml"),
    include_str!("../tables/warehouse.yaml"),
];
