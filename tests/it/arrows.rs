//! The layers of `docs/architecture.md`, read off the sources: no arrow points up, and the pure modules stay pure.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module and what it may use, beside itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("table", &[]),
    ("engine", &["table"]),
    ("trace", &["table", "engine"]),
    ("render", &["table", "engine", "trace"]),
    ("testing", &["table", "engine", "trace", "render"]),
    ("verify", &["table", "engine", "render", "testing"]),
    ("audit", &["table", "engine", "trace", "render"]),
    ("run", &["table", "engine", "trace", "render", "testing"]),
    ("provider", &["table", "engine", "trace", "render", "testing", "run"]),
    ("store", &["table", "engine", "trace", "run"]),
    ("cli", &["table", "engine", "trace", "render", "testing", "verify", "audit", "run", "provider", "store"]),
];

/// Modules that know nothing of the world.
const PURE: &[&str] = &["table", "engine", "trace", "render", "testing", "verify"];

/// What the world is called.
const WORLD: &[&str] = &[
    "tokio",
    "reqwest",
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread::sleep",
    "std::thread::spawn",
    "Instant",
    "SystemTime",
    "println!",
    "eprintln!",
];

#[test]
fn no_arrow_points_up() {
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        let Some((_, may)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{}: the module `{module}` has no place in the picture", path.display()));
            continue;
        };
        for (line, used) in used(&code) {
            if used != module && !may.contains(&used.as_str()) {
                wrong.push(format!("{}:{line}: `{module}` uses `crate::{used}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_modules_know_nothing_of_the_world() {
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        if !PURE.contains(&module.as_str()) {
            continue;
        }
        for (at, line) in code.lines().enumerate() {
            for word in WORLD.iter().filter(|word| names(line, word)) {
                wrong.push(format!("{}:{}: `{module}` names `{word}`", path.display(), at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comment_or_a_test_is_no_arrow() {
    let text = "//! crate::cli\nuse crate::table::Name; // crate::run\nfn f() {}\n#[cfg(test)]\nmod tests { use crate::run; }\n";
    assert_eq!(used(&code_of(text)), [(2, "table".to_owned())]);
    assert_eq!(used("use crate::{engine::event, table};"), [(1, "engine".to_owned()), (1, "table".to_owned())]);
    assert!(names("let at = Instant::now();", "Instant") && !names("let Instantly = 1;", "Instant"));
}

/// Module, path and code of every source file below a module's folder.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    assert!(found.len() > 20, "only {} sources found", found.len());
    let module_of = |path: &Path| {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    };
    found
        .into_iter()
        .map(|path| (module_of(&path), path))
        .filter(|(module, _)| module != "lib" && module != "main")
        .map(|(module, path)| {
            let code = code_of(&fs::read_to_string(&path).unwrap());
            (module, path, code)
        })
        .collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_some_and(|s| s != "tests") {
            found.push(path);
        }
    }
}

/// The text without comments, and without the tests at its end.
fn code_of(text: &str) -> String {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect()
}

/// The modules of this crate that the code names, with their lines. `use crate::{a::b, c}` names `a` and `c`.
fn used(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        let firsts = match rest.strip_prefix('{') {
            Some(list) => firsts_of(list),
            None => vec![word(rest)],
        };
        found.extend(firsts.into_iter().filter(|w| !w.is_empty()).map(|w| (line, w)));
    }
    found
}

/// The first word of each entry of a `{…}` list.
fn firsts_of(list: &str) -> Vec<String> {
    let (mut depth, mut start, mut firsts) = (0, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if start && !c.is_whitespace() => {
                firsts.push(word(&list[at..]));
                start = false;
            }
            _ => {}
        }
    }
    firsts
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether a line names a word, not as a part of a longer one.
fn names(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(inside)
            && !line[at + word.len()..].chars().next().is_some_and(|c| inside(c) && word.ends_with(inside))
    })
}
