//! What `stagekeeper test` prints: one format a function, pure.

use super::play::{Line, Played};
use super::scenario::Scenario;
use super::snapshot::{self, State};
use crate::render::xml::attribute;
use crate::table::{Problem, TableError};
use indexmap::IndexMap;
use serde::Serialize;

/// One scenario file and what came of it.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The file as it was named.
    pub file: String,
    /// The scenario's sentence; the file's name when it could not be read.
    pub scenario: String,
    /// What came of it.
    pub result: TestResult,
}

/// What came of a scenario.
#[derive(Clone, Debug)]
pub enum TestResult {
    /// It was played.
    Played {
        /// The counts, with `snapshot` and `failures` filled in.
        line: Box<Line>,
        /// How its story differs from the stored one; empty when it does not.
        difference: String,
        /// Whether the story was stored now.
        written: bool,
    },
    /// The file or its table cannot be used.
    Invalid(TableError),
    /// A file cannot be read, or the run cannot start.
    Unusable(String),
}

/// How a scenario ended for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as expected and as stored.
    Pass,
    /// An expectation failed, or the story is another than the stored one.
    Differs,
    /// It could not be played.
    Invalid,
}

impl Tested {
    /// A scenario that was played; `stored` is the content of its snapshot file, and `None` inside says that there is
    /// none. The outer `None` says that snapshots were not asked for.
    #[must_use]
    pub fn played(scenario: &Scenario, played: &Played, stored: Option<Option<&str>>) -> Self {
        let story = played.story();
        let state = stored.map_or(State::None, |stored| snapshot::compare(stored, &story));
        let mut line = played.line(scenario.name());
        line.snapshot = Some(state);
        line.failures = scenario.failures(played);
        let difference = match (state, stored.flatten()) {
            (State::Differs, Some(stored)) => snapshot::difference(stored, &story),
            _ => String::new(),
        };
        Self {
            file: scenario.file().to_owned(),
            scenario: scenario.name().to_owned(),
            result: TestResult::Played { line: Box::new(line), difference, written: false },
        }
    }

    /// Says that the story was stored: from here on it does not differ.
    pub fn was_written(&mut self) {
        if let TestResult::Played { written, difference, .. } = &mut self.result {
            *written = true;
            difference.clear();
        }
    }

    /// How it ended.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.result {
            TestResult::Played { line, .. } if !line.failures.is_empty() => Verdict::Differs,
            TestResult::Played { line, written: false, .. } if line.snapshot == Some(State::Differs) => {
                Verdict::Differs
            }
            TestResult::Played { .. } => Verdict::Pass,
            TestResult::Invalid(_) | TestResult::Unusable(_) => Verdict::Invalid,
        }
    }

    /// What is wrong, one thing a line; empty when nothing is.
    fn complaints(&self) -> Vec<String> {
        match &self.result {
            TestResult::Played { line, difference, .. } => {
                let mut lines = line.failures.clone();
                if !difference.is_empty() {
                    lines.push("its story differs from the snapshot (- stored, + now):".to_owned());
                    lines.extend(difference.lines().map(str::to_owned));
                }
                lines
            }
            TestResult::Invalid(error) => error.to_string().lines().map(str::to_owned).collect(),
            TestResult::Unusable(why) => vec![why.clone()],
        }
    }
}

/// For people: a line a scenario, what is wrong below it, then the counts by folder.
#[must_use]
pub fn text(tested: &[Tested]) -> String {
    let mut out = String::new();
    for one in tested {
        let word = match (&one.result, one.verdict()) {
            (TestResult::Played { written: true, .. }, Verdict::Pass) => "written",
            (TestResult::Played { line, .. }, Verdict::Pass) if line.snapshot == Some(State::New) => "new    ",
            (_, Verdict::Pass) => "ok     ",
            (_, Verdict::Differs) => "DIFFERS",
            (_, Verdict::Invalid) => "INVALID",
        };
        out.push_str(&format!("{word} {}  {}\n", one.file, one.scenario));
        for complaint in one.complaints() {
            out.push_str(&format!("        {complaint}\n"));
        }
    }
    out.push_str(&counts(tested));
    out
}

/// How many passed, in each folder and in all.
fn counts(tested: &[Tested]) -> String {
    let mut folders: IndexMap<&str, (usize, usize)> = IndexMap::new();
    for one in tested {
        let folder = one.file.rsplit_once(['/', '\\']).map_or(".", |(folder, _)| folder);
        let (passed, all) = folders.entry(folder).or_default();
        *passed += usize::from(one.verdict() == Verdict::Pass);
        *all += 1;
    }
    let mut out = String::from("\n");
    if folders.len() > 1 {
        let width = folders.keys().map(|f| f.chars().count()).max().unwrap_or_default();
        for (folder, (passed, all)) in &folders {
            out.push_str(&format!("{folder:<width$}  {passed} of {all} pass\n"));
        }
    }
    let passed = tested.iter().filter(|t| t.verdict() == Verdict::Pass).count();
    let is_new = |t: &&Tested| match &t.result {
        TestResult::Played { line, written, .. } => line.snapshot == Some(State::New) && !written,
        _ => false,
    };
    let new = match tested.iter().filter(is_new).count() {
        0 => String::new(),
        n => format!(", {n} without a snapshot (`--update` writes it)"),
    };
    out.push_str(&format!("{passed} of {} scenarios pass{new}\n", tested.len()));
    out
}

#[derive(Serialize)]
struct Unplayed<'a> {
    scenario: &'a str,
    outcome: Option<()>,
    file: &'a str,
    problems: &'a [Problem],
    failures: Vec<String>,
}

/// One JSON object a line (design §10).
#[must_use]
pub fn json(tested: &[Tested]) -> String {
    let mut out = String::new();
    for one in tested {
        let line = match &one.result {
            TestResult::Played { line, .. } => serde_json::to_string(line),
            TestResult::Invalid(error) => serde_json::to_string(&Unplayed {
                scenario: &one.scenario,
                outcome: None,
                file: &one.file,
                problems: &error.problems,
                failures: Vec::new(),
            }),
            TestResult::Unusable(why) => serde_json::to_string(&Unplayed {
                scenario: &one.scenario,
                outcome: None,
                file: &one.file,
                problems: &[],
                failures: vec![why.clone()],
            }),
        };
        out.push_str(&line.unwrap_or_default());
        out.push('\n');
    }
    out
}

/// JUnit's XML, for CI servers.
#[must_use]
pub fn junit(tested: &[Tested]) -> String {
    let count = |verdict| tested.iter().filter(|t| t.verdict() == verdict).count();
    let (failures, errors) = (count(Verdict::Differs), count(Verdict::Invalid));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = tested.len();
    out.push_str(&format!(
        "<testsuite name=\"stagekeeper\" tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\">\n"
    ));
    for one in tested {
        let (name, file) = (attribute(&one.scenario), attribute(&one.file));
        let element = match one.verdict() {
            Verdict::Pass => {
                out.push_str(&format!("  <testcase name=\"{name}\" classname=\"{file}\"/>\n"));
                continue;
            }
            Verdict::Differs => "failure",
            Verdict::Invalid => "error",
        };
        let complaints = one.complaints();
        let first = attribute(complaints.first().map(String::as_str).unwrap_or_default());
        let body = attribute(&complaints.join("\n"));
        out.push_str(&format!(
            "  <testcase name=\"{name}\" classname=\"{file}\">\n    <{element} message=\"{first}\">{body}</{element}>\n  </testcase>\n"
        ));
    }
    out.push_str("</testsuite>\n");
    out
}

/// Annotations for GitHub Actions; nothing for scenarios that pass.
#[must_use]
pub fn github(tested: &[Tested]) -> String {
    let mut out = String::new();
    for one in tested.iter().filter(|t| t.verdict() != Verdict::Pass) {
        if let TestResult::Invalid(error) = &one.result {
            for p in &error.problems {
                let place = format!("file={},line={},col={}", property(&p.file), p.line, p.column);
                out.push_str(&format!("::error {place}::{}\n", message(&p.message)));
            }
            continue;
        }
        let said = format!("{}\n{}", one.scenario, one.complaints().join("\n"));
        out.push_str(&format!("::error file={},line=1::{}\n", property(&one.file), message(&said)));
    }
    out
}

/// Escapes as the runner asks for.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unusable() -> Vec<Tested> {
        let result = TestResult::Unusable("there is no file `a<b>.yaml`".to_owned());
        vec![Tested { file: "x/t.yaml".to_owned(), scenario: "t".to_owned(), result }]
    }

    #[test]
    fn every_format_says_what_could_not_be_played() {
        assert_eq!(
            text(&unusable()),
            "INVALID x/t.yaml  t\n        there is no file `a<b>.yaml`\n\n0 of 1 scenarios pass\n"
        );
        assert!(json(&unusable()).contains("\"failures\":[\"there is no file `a<b>.yaml`\"]"));
        assert!(junit(&unusable()).contains("<error message=\"there is no file `a&lt;b&gt;.yaml`\">"));
        assert_eq!(github(&unusable()), "::error file=x/t.yaml,line=1::t%0Athere is no file `a<b>.yaml`\n");
    }
}
