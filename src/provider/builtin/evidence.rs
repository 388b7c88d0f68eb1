//! What listing, searching and reading brought, and which lines of it matter for the task.

use super::keywords::{Keyword, Mentions, is_of_failure};
use super::past::Past;
use super::tools::{Kind, kind_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Longest line that is quoted, in characters.
const QUOTED_CHARS: usize = 160;
/// Calls that fail when something is missing, in the languages of the day.
const RISKY: [&str; 10] =
    [".unwrap()", ".expect(", "panic!", "unreachable!", "[0]", "raise ", "throw ", "exit(", "abort(", "!!."];
/// Everything found so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Files that were listed, and folders whose content was not.
    pub files: BTreeSet<String>,
    pub folders: BTreeSet<String>,
    /// Lines seen, by file and number.
    pub lines: BTreeMap<String, BTreeMap<u32, String>>,
    /// Files that were read.
    pub read: Vec<String>,
    /// Words that were searched for in vain.
    pub vain: Vec<String>,
}

/// A line worth quoting.
#[derive(Clone, Debug)]
pub(super) struct Spot<'e> {
    pub file: &'e str,
    pub line: u32,
    pub text: &'e str,
    /// Keywords it holds.
    pub words: Vec<&'e str>,
    pub risky: bool,
    pub score: u32,
}

/// Characters of the task that make a line a quotation of it.
const QUOTED: usize = 40;

impl Evidence {
    pub(super) fn of(past: &Past<'_>) -> Self {
        let mut evidence = Self::default();
        for exchange in past.exchanges.iter().filter(|e| !e.error) {
            let argument =
                |names: &[&str]| names.iter().find_map(|n| exchange.arguments.get(n)).and_then(Value::as_str);
            match kind_of(exchange.tool) {
                Some(Kind::List) => evidence.listed(exchange.text),
                Some(Kind::Search) if evidence.found(exchange.text) => {}
                Some(Kind::Search) => evidence.vain.extend(argument(super::tools::PATTERN).map(plain)),
                Some(Kind::Read) => {
                    if let Some(path) = argument(super::tools::PATH) {
                        let first = super::tools::OFFSET.iter().find_map(|n| exchange.arguments.get(n)?.as_u64());
                        evidence.content(path, first.and_then(|n| u32::try_from(n).ok()).unwrap_or(1), exchange.text);
                    }
                }
                _ => {}
            }
        }
        evidence.drop_the_question(past.task);
        evidence
    }

    /// A line that quotes the task is where the question stands, not its answer.
    fn drop_the_question(&mut self, task: &str) {
        let quoted: String = task.trim().chars().take(QUOTED).collect();
        if quoted.chars().count() < QUOTED {
            return;
        }
        for lines in self.lines.values_mut() {
            lines.retain(|_, text| !text.contains(&quoted));
        }
        self.lines.retain(|_, lines| !lines.is_empty());
    }

    fn listed(&mut self, text: &str) {
        // One path a line; a line of several words holds a path each, or is a note in brackets.
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('(')) {
            for path in line.split_whitespace().map(|p| p.trim_start_matches("./").trim_end_matches([',', ';'])) {
                match path.strip_suffix('/') {
                    Some(folder) if !folder.is_empty() => drop(self.folders.insert(folder.to_owned())),
                    None if path.contains(['.', '/']) || path.chars().all(char::is_alphanumeric) => {
                        self.files.insert(path.to_owned());
                    }
                    _ => {}
                }
            }
        }
    }

    /// Takes `path:line: text`; says whether there was any.
    fn found(&mut self, text: &str) -> bool {
        let mut any = false;
        for line in text.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(path), Some(number), Some(text)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let Ok(number) = number.trim().parse() else { continue };
            any = true;
            let text = text.strip_prefix(' ').unwrap_or(text);
            self.lines.entry(path.trim_start_matches("./").to_owned()).or_default().insert(number, text.to_owned());
        }
        any
    }

    fn content(&mut self, path: &str, first: u32, text: &str) {
        if !self.read.iter().any(|known| known == path) {
            self.read.push(path.to_owned());
        }
        let lines = self.lines.entry(path.to_owned()).or_default();
        // What follows a cut has other numbers, and a note in brackets at the end is the tool's.
        let whole = text.lines().take_while(|line| !line.starts_with("[… ") && !line.starts_with("(more follows"));
        for (number, line) in (first..).zip(whole) {
            let known = lines.entry(number).or_insert_with(|| line.to_owned());
            // Two texts for one line: the tool left something out before it, so what follows has other numbers.
            if known.trim_end_matches('…').trim_end() != line.trim_end()
                && !line.starts_with(known.trim_end_matches('…'))
            {
                break;
            }
        }
    }

    /// How telling each keyword proved: one that stands everywhere tells little.
    fn worth(&self, keyword: &Keyword) -> u32 {
        let files = self.lines.values().filter(|lines| lines.values().any(|l| holds(l, &keyword.text))).count();
        let spread = u32::try_from(files).unwrap_or(u32::MAX).max(1);
        100 * keyword.weight / spread.ilog2().saturating_add(1)
    }

    /// The lines that matter, best first, at most `most` of one file.
    pub(super) fn spots<'e>(&'e self, mentions: &'e Mentions, most: usize) -> Vec<Spot<'e>> {
        let worth: Vec<(&str, u32)> = mentions.keywords.iter().map(|k| (k.text.as_str(), self.worth(k))).collect();
        let failing = mentions.keywords.iter().any(|k| is_of_failure(&k.text));
        let mut spots = Vec::new();
        for (file, lines) in &self.lines {
            let mut own: Vec<Spot<'_>> = lines.iter().filter_map(|(n, text)| spot(file, *n, text, &worth)).collect();
            if failing {
                for spot in own.iter_mut().filter(|s| is_risky(s.text)) {
                    (spot.risky, spot.score) = (true, spot.score + 100);
                }
                own.extend(risky(file, lines, &own));
            }
            // A line counts for more in a file that holds more of the words.
            let company = self.score(file, mentions, &worth) / 3;
            for spot in &mut own {
                spot.score = spot.score * standing(file) / 4 + company;
            }
            own.sort_by_key(|s| (std::cmp::Reverse(s.score), s.line));
            own.truncate(most);
            spots.extend(own);
        }
        spots.sort_by_key(|s| (std::cmp::Reverse(s.score), s.file, s.line));
        spots
    }

    /// The files to read, best first: named in the task, then by what was found in them and by their names.
    pub(super) fn candidates<'e>(&'e self, mentions: &'e Mentions) -> Vec<&'e str> {
        let worth: Vec<(&str, u32)> = mentions.keywords.iter().map(|k| (k.text.as_str(), self.worth(k))).collect();
        let all: BTreeSet<&str> = self.files.iter().chain(self.lines.keys()).map(String::as_str).collect();
        let mut scored: Vec<(u32, &str)> =
            all.into_iter().map(|f| (self.score(f, mentions, &worth), f)).filter(|(s, _)| *s > 0).collect();
        scored.sort_by_key(|(score, file)| (std::cmp::Reverse(*score), *file));
        scored.into_iter().map(|(_, file)| file).collect()
    }

    /// What a file is worth: the words it holds, the words in its name, and whether the task names it.
    fn score(&self, file: &str, mentions: &Mentions, worth: &[(&str, u32)]) -> u32 {
        let lines = self.lines.get(file);
        let found = |word: &str| lines.is_some_and(|lines| lines.values().any(|line| holds(line, word)));
        let words = worth.iter().filter(|(word, _)| found(word)).map(|(_, w)| w).sum::<u32>();
        let name = worth.iter().filter(|(word, _)| holds(file, word)).map(|(_, w)| w).sum::<u32>();
        let named = mentions.files.iter().any(|f| file.ends_with(f.as_str()));
        (words + name) * standing(file) / 4 + 3000 * u32::from(named)
    }

    /// The function or class a line stands in, if its head was seen: the nearest one above.
    pub(super) fn around(&self, file: &str, line: u32) -> Option<&str> {
        let above = self.lines.get(file)?.range(..=line).rev().take(60);
        above.map(|(_, text)| text.trim()).find(|text| is_head(text))
    }
}

/// How much a file's place counts, in quarters: code before documents, documents before tests.
fn standing(file: &str) -> u32 {
    let lower = file.to_lowercase();
    let is = |endings: &[&str]| endings.iter().any(|e| lower.ends_with(e));
    if is(&[".lock", ".svg", ".min.js", ".map", "changelog.md", ".snap", ".orig", "license"]) {
        1
    } else if lower.contains("test")
        || lower.contains("example")
        || is(&[".md", ".txt", ".rst", ".json", ".toml", ".yaml"])
    {
        2
    } else {
        4
    }
}

fn spot<'e>(file: &'e str, line: u32, text: &'e str, worth: &[(&'e str, u32)]) -> Option<Spot<'e>> {
    let held: Vec<&(&str, u32)> = worth.iter().filter(|(word, _)| holds(text, word)).collect();
    if held.is_empty() {
        return None;
    }
    let mut score = held.iter().map(|(_, worth)| worth).sum::<u32>();
    let trimmed = text.trim();
    if is_head(trimmed) {
        // Where something is defined under exactly the task's name for it.
        let defined = held.iter().any(|(word, _)| stands_alone(text, word));
        score += if defined { score } else { score / 4 };
    }
    // Comments, imports and the assertions of tests seldom are the place.
    if ["//", "#", "*", "<!--", "--", "use ", "import ", "from ", "mod ", "assert"]
        .iter()
        .any(|mark| trimmed.starts_with(mark))
    {
        score /= 2;
    }
    let words = held.iter().map(|(word, _)| *word).collect();
    Some(Spot { file, line, text, words, risky: false, score })
}

/// Lines that may fail at run time, within a few lines below one that holds a keyword.
fn risky<'e>(file: &'e str, lines: &'e BTreeMap<u32, String>, own: &[Spot<'e>]) -> Vec<Spot<'e>> {
    let mut found: BTreeMap<u32, Spot<'e>> = BTreeMap::new();
    for near in own {
        for (number, text) in lines.range(near.line + 1..=near.line.saturating_add(6)) {
            if is_risky(text) && !own.iter().any(|s| s.line == *number) {
                let words = near.words.clone();
                let spot = Spot { file, line: *number, text, words, risky: true, score: near.score + 50 };
                let known = found.entry(*number).or_insert_with(|| spot.clone());
                if known.score < spot.score {
                    *known = spot;
                }
            }
        }
    }
    found.into_values().collect()
}

fn is_risky(text: &str) -> bool {
    !is_remark(text.trim()) && RISKY.iter().any(|risk| text.contains(risk))
}

fn is_remark(trimmed: &str) -> bool {
    ["//", "#", "*", "/*", "<!--", "--"].iter().any(|mark| trimmed.starts_with(mark))
}

fn is_head(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|w| {
        w.starts_with("pub")
            || ["async", "const", "static", "unsafe", "export", "default", "private", "public"].contains(w)
    });
    let first = words.next().unwrap_or_default();
    ["fn", "def", "function", "class", "struct", "enum", "impl", "trait", "func", "sub", "interface"].contains(&first)
        || first.starts_with("impl<")
}

/// Whether the word is in the text, whatever the case.
pub(super) fn holds(text: &str, word: &str) -> bool {
    if word.is_ascii() {
        let (text, word) = (text.as_bytes(), word.as_bytes());
        return !word.is_empty() && text.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    }
    text.to_lowercase().contains(&word.to_lowercase())
}

/// Whether the word stands in the text as a whole name.
fn stands_alone(text: &str, word: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|t| t.chars().next());
        !before.is_some_and(inner) && !after.is_some_and(inner)
    })
}

/// A line as it is quoted.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// A searched pattern as the word it was made of.
fn plain(pattern: &str) -> String {
    pattern.trim_start_matches("(?i)").replace('\\', "")
}
