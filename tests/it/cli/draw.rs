use super::{Shop, compare};

#[test]
fn a_table_is_drawn_as_text_unless_told_otherwise() {
    compare("draw_text", &Shop::new().told(&["draw", "diagnose.yaml"]));
}

#[test]
fn the_ending_of_the_output_says_the_format() {
    let shop = Shop::new();
    for (name, start) in [("t.svg", "<svg"), ("t.mmd", "%%"), ("t.dot", "digraph"), ("t.txt", "diagnose:")] {
        let output = shop.output(&["draw", "diagnose.yaml", "-o", name]);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(shop.read(name).starts_with(start), "{name}");
    }
    assert!(shop.output(&["draw", "diagnose.yaml", "--format", "dot"]).stdout.starts_with(b"digraph"));
}

#[test]
fn an_ending_that_says_no_format_is_a_usage_error() {
    let shop = Shop::new();
    for name in ["t.png", "t.md"] {
        let output = shop.output(&["draw", "diagnose.yaml", "-o", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&name[1..]) && said.contains("`.svg`") && said.contains("--format"), "{said}");
        assert!(!shop.path(name).exists());
    }
    assert_eq!(shop.code(&["draw", "diagnose.yaml", "-o", "t.md", "--format", "mermaid"]), 0);
    assert_eq!(shop.code(&["draw", "diagnose.yaml", "-o", "t.SVG"]), 0);
    assert!(shop.read("t.SVG").starts_with("<svg"));
}

#[test]
fn an_empty_trace_is_no_table_with_errors() {
    let shop = Shop::new();
    shop.write("empty.jsonl", "");
    let drawn = shop.output(&["draw", "empty.jsonl"]);
    assert_eq!(drawn.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&drawn.stderr).contains("the trace is empty"));
    assert_eq!(drawn, shop.output(&["replay", "empty.jsonl"]));
}

#[test]
fn a_table_with_errors_is_not_drawn() {
    let shop = Shop::new();
    shop.write("broken.yaml", "stages: {}\n");
    let output = shop.output(&["draw", "broken.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
}

#[test]
fn what_cannot_be_read_or_written_is_a_usage_error() {
    let shop = Shop::new();
    compare("draw_missing", &shop.told(&["draw", "nowhere.yaml"]));
    compare("draw_folder", &shop.told(&["draw", "src"]));
    assert_eq!(shop.code(&["draw", "diagnose.yaml", "-o", "no/such/folder.svg"]), 2);
}

#[test]
fn a_trace_is_told_as_a_story_and_not_drawn() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", "Login crashes on an empty name."]), 0);
    let trace = shop.trace();
    compare("draw_trace", &shop.told(&["draw", &trace]));
    assert_eq!(shop.code(&["draw", &trace, "--format", "svg"]), 2);
}

#[test]
fn a_trace_without_records_says_that_nothing_happened() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", "Login crashes on an empty name."]), 0);
    let header = shop.read(&shop.trace()).lines().next().unwrap().to_owned();
    shop.write("begun.jsonl", &format!("{header}\n"));
    let output = shop.output(&["draw", "begun.jsonl"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "(nothing happened: the trace holds its header alone)\n");
}

#[test]
fn half_a_trace_is_told_as_far_as_it_goes() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", "Login crashes on an empty name."]), 0);
    let whole = shop.read(&shop.trace());
    shop.write("half.jsonl", &whole[..whole.len() / 2]);
    let output = shop.output(&["draw", "half.jsonl"]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("cut off"));
    shop.write("none.jsonl", "{\"stagekeeper_trace\": 99}\n");
    assert_eq!(shop.code(&["draw", "none.jsonl"]), 2);
}
