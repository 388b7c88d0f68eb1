use super::{Shop, compare};

const TASK: &str = "Login crashes on an empty name.";

fn recorded() -> (Shop, String) {
    let shop = Shop::new();
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", TASK]), 0);
    let trace = shop.trace();
    (shop, trace)
}

/// Without the number of records, since time goes by in some and not in others.
fn uncounted(told: &str) -> String {
    regex::Regex::new(r"(: |of )\d+( records|\n)").unwrap().replace(told, "${1}N$2").into_owned()
}

#[test]
fn a_trace_replays_to_the_same_events() {
    let (shop, trace) = recorded();
    compare("replay_same", &uncounted(&shop.told(&["replay", &trace])));
    // The table stands in the trace: the file it came from is not looked at.
    shop.write("diagnose.yaml", "gone");
    assert_eq!(shop.code(&["replay", &trace]), 0);
}

#[test]
fn a_changed_trace_differs_at_its_first_changed_record() {
    let (shop, trace) = recorded();
    let changed = shop.read(&trace).replace("\"ceiling\":15", "\"ceiling\":16");
    shop.write("changed.jsonl", &changed);
    compare("replay_differs", &uncounted(&shop.told(&["replay", "changed.jsonl"])));
    let output = shop.output(&["replay", "changed.jsonl", "--format", "json"]);
    assert_eq!(output.status.code(), Some(6));
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["same"], false);
    assert_eq!(line["difference"]["record"], 1);
}

#[test]
fn another_table_shows_what_it_would_have_judged_otherwise() {
    let (shop, trace) = recorded();
    let other = shop
        .read("diagnose.yaml")
        .replace("    max_steps: 4\n", "    max_steps: 4\n    max_calls: 3\n")
        .replace("max_steps: 8", "max_steps: 2");
    shop.write("other.yaml", &other);
    compare("replay_other_table", &shop.told(&["replay", &trace, "--table", "other.yaml"]));
    compare("replay_own_table", &shop.told(&["replay", &trace, "--table", "diagnose.yaml"]));
    let output = shop.output(&["replay", &trace, "--table", "other.yaml", "--format", "json"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line["differing"].as_u64().unwrap() > 0);
}

#[test]
fn what_is_no_trace_is_a_usage_error() {
    let shop = Shop::new();
    compare("replay_no_trace", &shop.told(&["replay", "diagnose.yaml"]));
    assert_eq!(shop.code(&["replay", "nowhere.jsonl"]), 2);
}
