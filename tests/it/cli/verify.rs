//! `stagekeeper verify`: what it prints, when it stops, with which exit code.

use super::{Shop, compare};
use regex::Regex;
use serde_json::Value;

/// What it told, without the seconds it took.
fn told(shop: &Shop, args: &[&str]) -> String {
    let seconds = Regex::new(r#"\d+\.\d+ s\b|("seconds":|time=")[\d.]+"#).unwrap();
    seconds.replace_all(&shop.told(args), "${1}TIME").into_owned()
}

const TABLE: &str = "stagekeeper: 1
workflow: w
stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 2 }
  say: { goal: Say., allowed_tools: [], max_steps: 1 }
guarantees: [{ at_most: { tool: ls, times: 1 } }]
";

#[test]
fn what_holds_and_what_does_not_is_told_in_each_format() {
    let shop = Shop::new();
    shop.write("t.yaml", TABLE);
    let formats = ["text", "json", "junit"].map(|format| told(&shop, &["verify", "--format", format, "t.yaml"]));
    compare("verify_formats", &formats.join("\n"));
}

#[test]
fn a_search_stopped_by_states_or_by_seconds_says_so_and_proves_nothing() {
    let shop = Shop::new();
    let loops = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/verify/loop.yaml");
    for (option, table, why) in [
        ("--max-states=50", "diagnose.yaml", "the search was stopped at 50 states; `--max-states` lets it see more"),
        ("--max-seconds=1", loops, "the search was stopped before it had seen every state"),
    ] {
        let output = shop.output(&["verify", "--format", "json", option, table]);
        assert_eq!(output.status.code(), Some(4), "{option}");
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(line["proved"], Value::Array(Vec::new()), "{option}");
        assert_eq!(line["complete"], false, "{option}");
        let open = line["not_proved"].as_array().unwrap();
        assert!(!open.is_empty() && open.iter().all(|o| o["why"] == why), "{option}: {open:?}");
    }
}

#[test]
fn the_same_table_gives_the_same_bytes_apart_from_seconds() {
    let shop = Shop::new();
    let args = ["verify", "--format", "json", "--grants", "0", "diagnose.yaml"];
    assert_eq!(told(&shop, &args), told(&shop, &args));
}
