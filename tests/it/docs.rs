//! The pages say what the code says.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn every_text_is_described_with_its_default_and_its_names() {
    let page = read("docs/reference/texts.md");
    let described = page.matches("\n### `").count();
    assert_eq!(described, stagekeeper::table::messages::MESSAGES.len(), "texts described and texts there are");
    for text in stagekeeper::table::messages::MESSAGES {
        let heading = format!("\n### `{}`\n", text.name);
        let after = page.split(&heading).nth(1).unwrap_or_else(|| panic!("`{}` is not described", text.name));
        let section = after.split("\n### ").next().unwrap();
        assert!(section.contains(&format!("```jinja\n{}\n```", text.default)), "`{}` has another default", text.name);
        for name in text.names {
            assert!(section.contains(&format!("`{name}`")), "`{}` may read `{name}`", text.name);
        }
    }
}

#[cfg(feature = "cli")]
#[test]
fn every_exit_code_is_described() {
    use stagekeeper::cli::exit;
    let page = read("docs/reference/exit-codes.md");
    let codes = [
        ("OK", exit::OK),
        ("UNEXPECTED", exit::UNEXPECTED),
        ("USAGE", exit::USAGE),
        ("TABLE", exit::TABLE),
        ("STOPPED", exit::STOPPED),
        ("UNREACHABLE", exit::UNREACHABLE),
        ("DIFFERS", exit::DIFFERS),
        ("PAUSED", exit::PAUSED),
        ("CANCELLED", exit::CANCELLED),
    ];
    for (name, code) in codes {
        assert!(page.contains(&format!("| {code} | `{name}` |")), "{name} = {code}");
    }
    assert_eq!(page.matches("\n| ").count(), codes.len() + 1, "a row a code, and the head");
}

/// The checks in their public order, as `docs/concepts/one-call.md` tells them.
#[test]
fn every_check_of_a_call_is_told_in_its_order() {
    use stagekeeper::Check;
    let order = [
        Check::Ended,
        Check::Malformed,
        Check::UnknownTool,
        Check::NotAllowed,
        Check::Requires,
        Check::Deny,
        Check::MaxCalls,
        Check::Conservative,
        Check::Depth,
        Check::Reentry,
        Check::Duplicate,
        Check::Cycle,
        Check::SameTool,
        Check::CallsPerStep,
        Check::Approval,
    ];
    let page = read("docs/concepts/one-call.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && line.contains('`')).collect();
    let mut before = (0, 0);
    for check in order {
        let name = format!("`{}`", check.as_str());
        let row = rows.iter().position(|row| row.contains(&name)).unwrap_or_else(|| panic!("{name} is not told"));
        let place = (row, rows[row].find(&name).unwrap());
        assert!(place >= before, "{name} stands too early");
        assert_eq!(rows[row].ends_with("| yes |"), check.is_violation(), "{name}");
        before = place;
    }
}

#[test]
fn the_rust_of_the_readme_is_an_example_that_runs() {
    let readme = read("README.md");
    let block = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let example = read("docs/examples/embed.rs");
    let mut lines = example.lines().map(str::trim);
    for line in block.lines().map(str::trim) {
        assert!(lines.any(|l| l == line), "the example lacks, or has elsewhere: {line}");
    }
}

/// The table and the story of the README: the scenario that makes it stands beside it.
#[cfg(feature = "cli")]
#[test]
fn the_story_of_the_readme_is_the_one_its_table_yields() {
    use stagekeeper::StageTable;
    use stagekeeper::testing::{Script, play};
    let readme = read("README.md");
    let block = |language: &str, n: usize| {
        let fence = format!("```{language}\n");
        readme.split(&fence).nth(n).unwrap_or_else(|| panic!("{language} {n}")).split("```").next().unwrap().to_owned()
    };
    let table = StageTable::parse(&block("yaml", 1)).unwrap();
    assert!(block("yaml", 1).lines().count() <= 10);
    let script = Script::new()
        .tool("list_files", ["src/login.rs src/db.rs"])
        .tool("read_file", ["name.chars().next().unwrap()"])
        .call("read_file", r#"{"path":"src/login.rs"}"#)
        .call("list_files", r#"{"path":"src"}"#)
        .text("src/login.rs")
        .call("read_file", r#"{"path":"src/login.rs"}"#)
        .text("It unwraps the first character.")
        .text("An empty name has no first character; do not unwrap it.");
    let story = play(&table, "Login crashes on an empty name.", script).story();
    assert_eq!(block("text", 1), story);
}

#[test]
fn the_architecture_page_stays_short() {
    assert!(read("docs/architecture.md").lines().count() <= 150);
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let target = link.split('#').next().unwrap();
            if !target.is_empty() && !page.parent().unwrap().join(target).exists() {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The front pages and everything below `docs`.
fn pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|p| root().join(p)).into();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The targets of `[text](target)` outside fenced blocks, without those of the web.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|t| !t.contains("://") && !t.contains(' ')).map(str::to_owned).collect()
}
