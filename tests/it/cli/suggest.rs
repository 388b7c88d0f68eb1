use super::{Shop, compare};
use serde_json::{Value, json};

const TABLE: &str = "stagekeeper: 1
workflow: desk
stages:
  find: { goal: Find the order., allowed_tools: [get_order], max_steps: 8, leave_by: [answer] }
  act: { goal: Cancel it if asked., allowed_tools: [cancel_order], max_steps: 2 }
";

/// Each run is one call a reply: a tool, its `id` and the result.
fn runs(list: &[(&str, bool, Vec<(&str, u32, &str)>)]) -> String {
    let one = |(id, success, calls): &(&str, bool, Vec<(&str, u32, &str)>)| {
        let events: Vec<Value> = calls
            .iter()
            .enumerate()
            .flat_map(|(turn, (tool, id, result))| {
                let no = format!("c{turn}");
                [
                    json!({ "t": "call", "turn": turn, "id": no, "name": tool, "args": { "id": id } }),
                    json!({ "t": "result", "turn": turn, "id": no, "content": result }),
                ]
            })
            .collect();
        json!({ "id": id, "success": success, "events": events }).to_string() + "\n"
    };
    list.iter().map(one).collect()
}

fn shop() -> Shop {
    let shop = Shop::new();
    let good =
        || vec![("get_order", 1, "order 1: open"), ("get_order", 2, "order 2: open"), ("cancel_order", 2, "done")];
    let round = [("get_order", 7, "order 7: open"), ("get_order", 8, "order 8: open")];
    let recorded = [
        ("good-1", true, good()),
        ("good-2", true, good()),
        ("good-3", true, good()),
        ("same", false, vec![("get_order", 7, "order 7: open"); 9]),
        ("turn", false, round.into_iter().cycle().take(10).collect()),
    ];
    shop.write("desk.yaml", TABLE).write("runs.jsonl", &runs(&recorded));
    shop
}

#[test]
fn what_runs_suggest_is_told_to_people_and_to_programs() {
    let shop = shop();
    compare("suggest_text", &shop.told(&["audit", "desk.yaml", "runs.jsonl", "--suggest"]));
    let told = shop.told(&["audit", "desk.yaml", "runs.jsonl", "--suggest", "--format", "json"]);
    let line = told.lines().nth(3).unwrap();
    let made: Value = serde_json::from_str(line).unwrap();
    let place = |key: &str| line.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no `{key}`: {line}"));
    let keys = ["workflow", "runs", "calls", "over_time", "near_limit", "budgets", "proposals", "left_out"];
    assert!(keys.map(place).is_sorted(), "{line}");
    assert_eq!(made["proposals"][0]["worse"], json!(0));
}

#[test]
fn a_store_is_read_like_a_recording_and_another_binary_file_is_named_once() {
    let shop = Shop::new();
    let run = [
        "run",
        "diagnose.yaml",
        "--task",
        "Login crashes on an empty name.",
        "--model",
        "builtin",
        "--store",
        "runs.db",
    ];
    assert_eq!(shop.code(&run), 0);
    for more in [&[][..], &["--suggest"]] {
        let told = shop.told(&[&["audit", "diagnose.yaml", "runs.db"], more].concat());
        assert!(told.contains("exit 0"), "{told}");
    }
    let told = shop.told(&["audit", "diagnose.yaml", "runs.db", "--suggest", "--format", "json"]);
    assert!(told.contains("\"successful\":1") && told.contains("\"stage\":\"explore\""), "{told}");

    std::fs::write(shop.path("photo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\nx\ny\nz\n").unwrap();
    let told = shop.told(&["audit", "diagnose.yaml", "photo.png"]);
    assert!(told.contains("exit 1") && told.contains("photo.png:1: the file is binary"), "{told}");
    assert_eq!(told.matches("photo.png:").count(), 1, "{told}");
    std::fs::write(shop.path("other.db"), b"SQLite format 3\0 and nothing that one could read").unwrap();
    assert_eq!(shop.code(&["audit", "diagnose.yaml", "other.db"]), 5);
    assert_eq!(shop.code(&["audit", "diagnose.yaml", "-", "--suggest"]), 2);
    assert_eq!(shop.code(&["audit", "diagnose.yaml", "runs.db", "--suggest", "--by", "model"]), 2);
}

#[test]
fn a_first_table_is_made_of_the_first_good_run_of_any_recording() {
    let shop = shop();
    assert_eq!(shop.code(&["new", "desk", "--table", "--from", "runs.jsonl"]), 0);
    let table = shop.read("stages/desk.yaml");
    assert!(table.starts_with("# From run good-1: "), "{table}");
    assert!(table.contains("use_get_order:") && table.contains("expected_steps: 2"), "{table}");
    assert!(table.contains("use_cancel_order:"), "{table}");
    assert_eq!(shop.code(&["check", "stages/desk.yaml"]), 0);
    let told = shop.told(&["new", "other", "--table", "--from", "desk.yaml"]);
    assert!(told.contains("exit 2") && !shop.path("stages/other.yaml").exists(), "{told}");
}
