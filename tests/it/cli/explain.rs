//! `stagekeeper explain`.

use super::{Shop, compare};

const TASK: &str = "Login crashes on an empty name.";
const MODEL: &str = r"
script:
  - call: { tool: list_files, args: { path: . } }
  - call: { tool: read_file, args: { path: src/login.rs } }
  - text: Nothing was found.
";

/// A run whose second call is forbidden in its stage.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("model.yaml", MODEL);
    let run = shop.output(&["run", "diagnose.yaml", "--task", TASK, "--model", "script:model.yaml"]);
    assert_eq!(run.status.code(), Some(4), "{}", String::from_utf8_lossy(&run.stderr));
    shop
}

#[test]
fn each_check_of_the_public_order_says_what_it_saw() {
    let shop = shop();
    let trace = shop.trace();
    let told = ["1", "2"].map(|call| shop.told(&["explain", &trace, call]));
    compare("explain", &told.join("\n").replace(&trace, "TRACE"));
}

#[test]
fn a_call_that_is_not_there_lists_those_that_are() {
    let shop = shop();
    let trace = shop.trace();
    compare("explain_not_there", &shop.told(&["explain", &trace, "9"]).replace(&trace, "TRACE"));
}

#[test]
fn as_json_a_refusal_names_its_check_and_its_line() {
    let shop = shop();
    let output = shop.output(&["explain", &shop.trace(), "2", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["verdict"]["check"], "not_allowed", "{told:#}");
}
