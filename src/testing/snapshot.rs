//! Snapshot files in `insta`'s format, so that `cargo test` and `stagekeeper test` keep the same ones.

use serde::Serialize;

/// Lines up to which a difference is worked out line by line.
const MAX_DIFF: usize = 1_500;
/// Equal lines shown around a difference.
const CONTEXT: usize = 2;
/// Who wrote a snapshot, where `insta` names its test.
const SOURCE: &str = "stagekeeper test";

/// How a story compares with its snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is the stored one.
    Same,
    /// None is stored yet.
    New,
    /// It is another than the stored one.
    Differs,
    /// Snapshots were not asked for.
    None,
}

/// The story that a snapshot file holds: everything behind its header.
///
/// ```
/// use stagekeeper::testing::snapshot::body;
/// assert_eq!(body("---\nsource: a.rs\n---\n1 explore\n"), "1 explore\n");
/// assert_eq!(body("1 explore\n"), "1 explore\n");
/// ```
#[must_use]
pub fn body(file: &str) -> &str {
    split(file).1
}

fn split(file: &str) -> (Option<&str>, &str) {
    let rest = file.strip_prefix("---\r\n").or_else(|| file.strip_prefix("---\n"));
    let Some(rest) = rest else {
        return (None, file);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (rest.get(..at), rest.get(at + line.len()..).unwrap_or_default());
        }
        at += line.len();
    }
    (None, file)
}

/// Compares a story with the content of its snapshot file, if there is one. White space at the end and the kind of
/// line ends do not count.
#[must_use]
pub fn compare(stored: Option<&str>, story: &str) -> State {
    match stored {
        None => State::New,
        Some(stored) if same(body(stored), story) => State::Same,
        Some(_) => State::Differs,
    }
}

fn same(a: &str, b: &str) -> bool {
    a.trim_end().lines().eq(b.trim_end().lines())
}

/// The content of a snapshot file; the header of the stored one is kept.
#[must_use]
pub fn file(stored: Option<&str>, scenario_file: &str, story: &str) -> String {
    let header = match stored.and_then(|s| split(s).0) {
        Some(header) => header.to_owned(),
        None => format!("source: {SOURCE}\ninput_file: {scenario_file}\n"),
    };
    format!("---\n{header}---\n{}\n", story.trim_end())
}

/// The difference as lines that begin with `-` (stored), `+` (now) or a blank, equal parts left out.
#[must_use]
pub fn difference(stored: &str, story: &str) -> String {
    let old: Vec<&str> = body(stored).trim_end().lines().collect();
    let new: Vec<&str> = story.trim_end().lines().collect();
    let lines = if old.len().max(new.len()) > MAX_DIFF { whole(&old, &new) } else { diff(&old, &new) };
    shorten(&lines)
}

fn whole<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    old.iter().map(|l| ('-', *l)).chain(new.iter().map(|l| ('+', *l))).collect()
}

/// Longest common subsequence, by the table of its lengths.
fn diff<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or_default();
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let length = if a == b {
                at(&lengths, i + 1, j + 1) + 1
            } else {
                at(&lengths, i + 1, j).max(at(&lengths, i, j + 1))
            };
            if let Some(slot) = lengths.get_mut(i * width + j) {
                *slot = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                lines.push((' ', *a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), Some(_)) if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) => {
                lines.push(('-', *a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(('+', *b));
                j += 1;
            }
            (Some(a), None) => {
                lines.push(('-', *a));
                i += 1;
            }
            (None, None) => return lines,
        }
    }
}

fn shorten(lines: &[(char, &str)]) -> String {
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        lines.iter().skip(from).take(at - from + CONTEXT + 1).any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut left_out = false;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if near(at) {
            if std::mem::take(&mut left_out) {
                out.push_str("  …\n");
            }
            out.push_str(format!("{mark} {line}").trim_end());
            out.push('\n');
        } else {
            left_out = true;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_was_written_compares_as_the_same() {
        let written = file(None, "tests/scenarios/a.yaml", "one\ntwo\n");
        assert_eq!(compare(Some(&written), "one\ntwo\n"), State::Same);
        assert_eq!(compare(Some(&written.replace('\n', "\r\n")), "one\ntwo"), State::Same);
        assert_eq!(compare(Some(&written), "one\n"), State::Differs);
        assert_eq!(compare(None, "one\n"), State::New);
    }

    #[test]
    fn a_header_written_by_insta_is_kept() {
        let stored = "---\nsource: tests/x.rs\nexpression: y\n---\nold\n";
        assert_eq!(file(Some(stored), "a.yaml", "new"), "---\nsource: tests/x.rs\nexpression: y\n---\nnew\n");
    }

    #[test]
    fn a_difference_shows_the_lines_that_changed_and_what_stands_around() {
        let stored = "a\nb\nc\nd\ne\nf\ng\n";
        assert_eq!(difference(stored, "a\nb\nc\nd\ne\nX\ng\nh\n"), "  …\n  d\n  e\n- f\n+ X\n  g\n+ h\n");
    }
}
