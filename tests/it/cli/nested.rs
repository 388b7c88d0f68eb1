//! Nested runs and people at the command line: what the guide shows is what is printed.

use super::Shop;
use std::path::Path;

fn shop() -> Shop {
    let shop = Shop::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in [
        "stages/research.yaml",
        "stages/research_one.yaml",
        "docs/examples/nested/two_parts.yaml",
        "docs/examples/nested/release.yaml",
        "docs/examples/nested/deploy.yaml",
        "docs/examples/nested/docs/backup.md",
        "docs/examples/nested/docs/roles.md",
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        // Where the guide names it, and at hand.
        shop.write(file, &text).write(Path::new(file).file_name().unwrap().to_str().unwrap(), &text);
    }
    for file in ["backup.md", "roles.md"] {
        shop.write(&format!("docs/{file}"), &shop.read(&format!("docs/examples/nested/docs/{file}")));
        std::fs::remove_file(shop.path(file)).unwrap();
    }
    shop
}

#[test]
fn the_guide_shows_what_the_command_prints() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides/nested-and-people.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let shop = shop();
    let blocks: Vec<&str> = guide.split("```console\n$ stagekeeper ").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let (line, rest) = block.split_once('\n').unwrap();
        let shown = rest.split("```").next().unwrap();
        // Every second part stands in quotation marks.
        let parts = line.split('"').enumerate();
        let mut args: Vec<&str> =
            parts.flat_map(|(i, p)| if i % 2 == 1 { vec![p] } else { p.split_whitespace().collect() }).collect();
        args.push("--no-trace");
        let output = shop.output(&args);
        let printed = String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, shown, "{line}");
    }
}

#[test]
fn a_trace_of_nested_runs_replays_and_is_drawn() {
    let shop = shop();
    let args = ["run", "research.yaml", "--root", "docs", "--model", "script:two_parts.yaml", "--task", "Backups?"];
    assert_eq!(shop.code(&args), 0);
    let trace = shop.trace();
    assert_eq!(shop.code(&["replay", &trace]), 0);
    // With another table the same replies are judged again.
    assert_eq!(shop.code(&["replay", &trace, "--table", "research.yaml"]), 0);
    let drawn = String::from_utf8(shop.output(&["draw", &trace]).stdout).unwrap();
    assert!(drawn.contains("[> research_one runs research_one"), "{drawn}");
}

#[test]
fn a_scenario_from_a_trace_of_nested_runs_plays_the_same() {
    let shop = shop();
    let args = ["run", "research.yaml", "--root", "docs", "--model", "script:two_parts.yaml", "--task", "Backups?"];
    assert_eq!(shop.code(&[&args[..], &["--summary", "summary.json"]].concat()), 0);
    // Tables that are gone are written from the trace.
    for table in ["research.yaml", "research_one.yaml", "stages/research.yaml", "stages/research_one.yaml"] {
        std::fs::remove_file(shop.path(table)).unwrap();
    }
    assert_eq!(shop.code(&["new", "again", "--from", &shop.trace()]), 0);
    assert!(shop.read("stages/again.yaml").contains("workflow: research"));
    assert!(shop.read("stages/research_one.yaml").contains("workflow: research_one"));
    let played = shop.output(&["test", "tests/scenarios/again.yaml", "--snapshots", "none", "--format", "json"]);
    let played: serde_json::Value = serde_json::from_slice(&played.stdout).unwrap();
    let ran: serde_json::Value = serde_json::from_str(&shop.read("summary.json")).unwrap();
    for key in ["outcome", "stage", "steps", "violations", "rollbacks", "text"] {
        assert_eq!(played[key], ran[key], "{key}");
    }
}

#[test]
fn check_prints_the_bound_of_the_tree_and_problems_of_nested_files() {
    let shop = shop();
    let table = shop.read("research.yaml").replace("    max_calls: 6\n", "    max_calls: 6\n    spend: own\n");
    shop.write("own.yaml", &table.replace("  - within: { steps: 29, of: tree }\n", ""));
    let said = String::from_utf8(shop.output(&["check", "own.yaml"]).stdout).unwrap();
    assert!(said.contains("with nested runs: 77 replies"), "{said}");
    let json = String::from_utf8(shop.output(&["check", "own.yaml", "--format", "json"]).stdout).unwrap();
    assert!(json.contains("\"tree\":77"), "{json}");
    shop.write("research_one.yaml", &shop.read("research_one.yaml").replace("max_steps: 3", "max_steps: 0"));
    let output = shop.output(&["check", "research.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--> research_one.yaml:15:16"), "{said}");
}

#[test]
fn a_stage_of_a_nested_run_may_have_a_model_of_its_own() {
    let shop = shop();
    let one = shop.read("research_one.yaml").replace("  answer:\n", "  answer:\n    model: writer\n");
    shop.write("research_one.yaml", &one);
    let script = shop.read("two_parts.yaml");
    // What the answers were is said by the other model now.
    let others: String = script
        .lines()
        .filter(|l| !l.contains("(backup.md)\"") && !l.contains("(roles.md)\""))
        .map(|l| format!("{l}\n"))
        .collect();
    shop.write("main.yaml", &others);
    shop.write(
        "writer.yaml",
        "script:\n  - text: thirty days, says the writer\n  - text: operators, says the writer\n",
    );
    let args = [
        "run",
        "research.yaml",
        "--root",
        "docs",
        "--no-trace",
        "--task",
        "Backups?",
        "--model",
        "script:main.yaml",
        "--model",
        "writer=script:writer.yaml",
    ];
    let output = shop.output(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("says \"thirty days, says the writer\"") && said.contains("says \"operators, says"),
        "{said}"
    );
}

#[test]
fn the_shipped_research_completes_with_the_built_in_agent() {
    let shop = shop();
    let args = ["run", "research.yaml", "--root", "docs", "--no-trace", "--task", "How long do backups stay?"];
    let output = shop.output(&args);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("Backups stay 30 days.") && said.contains("research_one: 1 run"), "{said}");
}
