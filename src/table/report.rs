//! Collects what is wrong with a table, so that all of it can be said at once.

use super::limits;
use super::problem::{Problem, Severity, TableError};
use std::collections::HashSet;

/// Problems kept while loading; beyond it they are only counted.
const KEPT: usize = 20 * limits::PROBLEMS;
/// Candidates a "did you mean" looks at.
const CANDIDATES: usize = 2_000;
/// Characters of the user's own words quoted in a message.
const QUOTED: usize = 60;

/// A place in one of the files of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Index into the report's files; 0 is the table itself.
    pub file: u16,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Characters that are meant.
    pub width: u32,
}

impl Place {
    /// `width` characters from `skip` characters further on.
    pub fn part(self, skip: usize, width: usize) -> Self {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { column: self.column.saturating_add(narrow(skip)), width: narrow(width).max(1), ..self }
    }
}

/// All problems of one load.
#[derive(Debug)]
pub(crate) struct Report {
    files: Vec<String>,
    found: Vec<(Place, Problem)>,
    seen: HashSet<(Place, &'static str, String)>,
    errors: usize,
    uncounted: usize,
}

impl Report {
    pub fn new(file: &str) -> Self {
        Self { files: vec![file.to_owned()], found: Vec::new(), seen: HashSet::new(), errors: 0, uncounted: 0 }
    }

    /// Adds an included file and returns its number.
    pub fn add_file(&mut self, name: &str) -> u16 {
        self.files.push(name.to_owned());
        u16::try_from(self.files.len() - 1).unwrap_or(u16::MAX)
    }

    pub fn error(&mut self, code: &'static str, place: Place, message: impl Into<String>, help: impl Into<Help>) {
        self.errors += 1;
        self.add(Severity::Error, code, place, message.into(), help.into().0);
    }

    pub fn warning(&mut self, code: &'static str, place: Place, message: impl Into<String>, help: impl Into<Help>) {
        self.add(Severity::Warning, code, place, message.into(), help.into().0);
    }

    /// How many errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// The codes of all problems so far.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.found.iter().map(|(_, p)| p.code)
    }

    fn add(&mut self, severity: Severity, code: &'static str, place: Place, message: String, help: Option<String>) {
        // A part that is used twice by an alias is wrong once.
        if !self.seen.insert((place, code, message.clone())) {
            return;
        }
        if self.found.len() >= KEPT {
            self.uncounted += 1;
            return;
        }
        let file = self.files.get(usize::from(place.file)).cloned().unwrap_or_default();
        let problem = Problem {
            code,
            severity,
            file,
            line: place.line as usize,
            column: place.column as usize,
            width: (place.width as usize).max(1),
            message,
            help,
        };
        self.found.push((place, problem));
    }

    /// The warnings when there is no error, else everything in the order of the places.
    pub fn finish(mut self) -> Result<Vec<Problem>, TableError> {
        self.found.sort_by(|(a, p), (b, q)| (a, p.code, &p.message).cmp(&(b, q.code, &q.message)));
        let all = self.found.len() + self.uncounted;
        if all > limits::PROBLEMS {
            // Warnings must not push errors out of the list.
            if self.errors > 0 {
                self.found.sort_by_key(|(_, p)| p.severity == Severity::Warning);
            }
            self.found.truncate(limits::PROBLEMS);
            self.found.sort_by_key(|(place, _)| *place);
            let mut last = self.found.last().map(|(_, p)| p.clone());
            if let Some(p) = &mut last {
                p.code = "too-many-problems";
                p.severity = if self.errors > 0 { Severity::Error } else { Severity::Warning };
                p.message = format!("not all problems are shown: {} are left out", all - limits::PROBLEMS);
                p.help = Some("repair the ones above and check again".into());
            }
            self.found.extend(last.map(|p| (Place::default(), p)));
        }
        let problems: Vec<Problem> = self.found.into_iter().map(|(_, p)| p).collect();
        if self.errors > 0 { Err(TableError { problems }) } else { Ok(problems) }
    }
}

/// An optional help text.
pub(crate) struct Help(pub Option<String>);

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

impl From<Option<String>> for Help {
    fn from(text: Option<String>) -> Self {
        Self(text)
    }
}

/// The user's words, cut to a length that fits a line, control characters made visible.
pub(crate) fn quoted(words: &str) -> String {
    let mut said: String = words.chars().take(QUOTED).flat_map(visible).collect();
    if words.chars().nth(QUOTED).is_some() {
        said.push('…');
    }
    format!("`{said}`")
}

fn visible(c: char) -> impl Iterator<Item = char> {
    let escape =
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let (plain, escaped) = if escape { (None, Some(c.escape_default())) } else { (Some(c), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// The nearest of `candidates`, when one is near.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().count() > limits::NAME {
        return None;
    }
    let folded = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(CANDIDATES) {
        let (length, wanted) = (candidate.chars().count(), folded.chars().count());
        let most = (length.max(wanted) / 3).max(1);
        if length.abs_diff(wanted) > most {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
        if distance <= most && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "did you mean", or else what there is to choose from.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(near) = nearest(word, candidates.clone()) {
        return Some(format!("did you mean {}?", quoted(near)));
    }
    let mut all = candidates.into_iter();
    let some: Vec<String> = all.by_ref().take(SHOWN).map(quoted).collect();
    let more = if all.next().is_some() { ", …" } else { "" };
    (!some.is_empty())
        .then(|| format!("there {} {}{more}", if some.len() == 1 { "is" } else { "are" }, some.join(", ")))
}

/// Names listed where none is near.
const SHOWN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        assert_eq!(nearest("grep_cod", ["grep_code", "read_file"]), Some("grep_code"));
        assert_eq!(nearest("Explore", ["explore"]), Some("explore"));
        assert_eq!(nearest("zzz", ["explore", "read"]), None);
    }

    #[test]
    fn quoted_words_are_cut_and_made_visible() {
        assert_eq!(quoted("a\nb"), "`a\\nb`");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), QUOTED + 3);
    }
}
