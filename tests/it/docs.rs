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
