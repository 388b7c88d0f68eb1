//! `grep_code`: where a pattern is found.

use super::ignored::rules_at;
use super::limits::{GREP_BYTES, GREP_FILE_BYTES, MATCH_CHARS, MATCHES, PATTERN_BYTES};
use super::root::{Root, open_file};
use super::walk::{Entry, Go, Walk};
use ignore::overrides::{Override, OverrideBuilder};
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::FileType;
use serde::Deserialize;
use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Deserialize)]
pub(super) struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
}

/// Matching lines as `path:line: text`, sorted by path; empty when there are none.
pub(super) fn grep(root: &Root, args: &Args, stop: &AtomicBool) -> Result<String, String> {
    let mut found = Found::new(args, stop)?;
    let place = root.find(args.path.as_deref().unwrap_or(".")).map_err(|e| e.to_string())?;
    let rules = rules_at(root, &place).map_err(|e| e.to_string())?;
    if place.name.is_some() {
        let file = place.open().map_err(|e| e.to_string())?;
        found.search(file, &place.text());
        return Ok(found.text());
    }
    let at = place.text();
    let mut walk = Walk::new(stop, |entry| found.visit(entry));
    walk.run(place.dir(), &at, &rules);
    found.cut |= walk.cut;
    Ok(found.text())
}

struct Found<'s> {
    regex: Regex,
    globs: Override,
    stop: &'s AtomicBool,
    lines: Vec<String>,
    read: u64,
    large: usize,
    cut: bool,
}

impl<'s> Found<'s> {
    fn new(args: &Args, stop: &'s AtomicBool) -> Result<Self, String> {
        let regex = RegexBuilder::new(&args.pattern).size_limit(PATTERN_BYTES).build().map_err(|e| {
            format!(
                "bad regex `{}`: {}; a `\\` before ( ) [ ] {{ }} . * + ? makes it plain",
                args.pattern,
                last_line(&e)
            )
        })?;
        let mut globs = OverrideBuilder::new("");
        if let Some(glob) = args.glob.as_deref().filter(|glob| !glob.is_empty()) {
            globs.add(glob).map_err(|e| format!("bad glob `{glob}`: {e}"))?;
        }
        let globs = globs.build().map_err(|e| format!("bad glob: {e}"))?;
        Ok(Self { regex, globs, stop, lines: Vec::new(), read: 0, large: 0, cut: false })
    }

    fn visit(&mut self, entry: &Entry<'_>) -> Go {
        if entry.kind == FileType::RegularFile
            && !self.globs.matched(entry.path, false).is_ignore()
            && let Ok(file) = open_file(entry.dir, entry.name)
        {
            self.search(file, entry.path);
        }
        if self.cut { Go::Stop } else { Go::On }
    }

    fn search(&mut self, file: File, path: &str) {
        let mut bytes = Vec::new();
        if file.take(GREP_FILE_BYTES + 1).read_to_end(&mut bytes).is_err() {
            return;
        }
        self.read += bytes.len() as u64;
        if bytes.len() as u64 > GREP_FILE_BYTES {
            self.large += 1;
            return;
        }
        if super::read::is_binary(&bytes) {
            return;
        }
        for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !self.regex.is_match(line) {
                continue;
            }
            if self.lines.len() >= MATCHES {
                self.cut = true;
                return;
            }
            self.lines.push(format!("{path}:{}: {}", number + 1, shown(line)));
        }
        self.cut |= self.read > GREP_BYTES || self.stop.load(Ordering::Relaxed);
    }

    fn text(mut self) -> String {
        if self.cut {
            let count = self.lines.len();
            self.lines.push(format!(
                "({count} matches shown, there may be more; narrow with `path`, `glob` or a longer pattern)"
            ));
        }
        if self.large > 0 {
            self.lines.push(format!("({} files over {GREP_FILE_BYTES} bytes were not searched)", self.large));
        }
        self.lines.join("\n")
    }
}

fn shown(line: &[u8]) -> String {
    // Cut as bytes first: a minified file has lines of megabytes.
    let line = String::from_utf8_lossy(line.get(..MATCH_CHARS * 4).unwrap_or(line));
    let line = line.trim_end();
    match line.char_indices().nth(MATCH_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or(line)),
        None => line.to_owned(),
    }
}

/// The regex crate draws the pattern with a caret over several lines; its last line says what is wrong.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
