//! What `stagekeeper verify` prints: one format a function, pure.

use super::prove::{GRANT, Proof};
use crate::render::xml::escaped;
use serde::Serialize;
use std::fmt::Write as _;

/// A table and what came of it.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The file as it was named.
    pub file: String,
    /// What came of it.
    pub proof: Proof,
    /// Seconds it took.
    pub seconds: f64,
}

impl Verified {
    /// Whether everything is proved.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.proof.broken.is_empty() && self.proof.open.is_empty()
    }
}

/// The object of `--format json`, keys in this order (design §12).
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    proved: &'a [String],
    broken: Vec<Broken<'a>>,
    complete: bool,
    states: usize,
    seconds: f64,
    not_proved: Vec<Open<'a>>,
    bytes: usize,
    counted_up_to: Option<u32>,
    grants: u32,
}

#[derive(Serialize)]
struct Open<'a> {
    property: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct Broken<'a> {
    property: &'a str,
    confirmed: bool,
    scenario: &'a str,
}

/// One object on one line.
#[must_use]
pub fn json(verified: &Verified) -> String {
    let Verified { file, proof, seconds } = verified;
    let broken = proof.broken.iter();
    let open = proof.open.iter();
    let line = Line {
        file,
        proved: &proof.proved,
        broken: broken
            .map(|b| Broken { property: &b.property, confirmed: b.confirmed, scenario: &b.scenario })
            .collect(),
        complete: proof.complete,
        states: proof.states,
        seconds: (seconds * 1_000.0).round() / 1_000.0,
        not_proved: open.map(|o| Open { property: &o.property, why: &o.why }).collect(),
        bytes: proof.bytes,
        counted_up_to: proof.abstracted,
        grants: proof.grants,
    };
    // Strings and numbers: nothing here can fail to become JSON.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// For people.
#[must_use]
pub fn text(verified: &Verified) -> String {
    let Verified { file, proof, seconds } = verified;
    let word = match (proof.broken.is_empty(), proof.open.is_empty()) {
        (false, _) => "does not hold",
        (true, false) => "not proved",
        (true, true) => "proved",
    };
    let megabytes = proof.bytes as f64 / 1e6;
    let mut out = format!("{file}: {word} ({} states, {seconds:.2} s, {megabytes:.1} MB of keys)\n", proof.states);
    out.push_str(&scope(proof));
    for property in &proof.proved {
        let _ = writeln!(out, "  proved      {property}");
    }
    for open in &proof.open {
        let _ = writeln!(out, "  not proved  {}\n              {}", open.property, open.why);
    }
    for broken in &proof.broken {
        let _ = writeln!(out, "  broken      {}", broken.property);
        for line in broken.story.lines() {
            let _ = writeln!(out, "    {line}");
        }
        out.push_str("  play it again with `stagekeeper test --snapshots none FILE`:\n");
        for line in broken.scenario.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

/// What was explored.
fn scope(proof: &Proof) -> String {
    let mut out = match proof.grants {
        0 => "  for runs without granted steps (`--grants N` explores them)\n".to_owned(),
        most => format!(
            "  for runs in which a person grants 1 to {GRANT} steps up to {most} times; they come on top of every bound of steps\n"
        ),
    };
    if let Some(most) = proof.abstracted {
        let _ = writeln!(out, "  numbers of steps left above {most} were not told apart, which proves as much");
    }
    out
}

/// How JUnit's XML begins.
pub const JUNIT_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
/// How it ends.
pub const JUNIT_TAIL: &str = "</testsuites>\n";

/// A suite of JUnit's XML, with a case for each property.
#[must_use]
pub fn junit(verified: &Verified) -> String {
    let Verified { file, proof, seconds } = verified;
    let failures = proof.broken.len() + proof.open.len();
    let tests = failures + proof.proved.len();
    let file = escaped(file);
    let mut out =
        format!("  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\">\n");
    for property in &proof.proved {
        let _ = writeln!(out, "    <testcase classname=\"{file}\" name=\"{}\"/>", escaped(property));
    }
    let broken = proof.broken.iter().map(|b| (&b.property, "does not hold", &b.scenario));
    let open = proof.open.iter().map(|o| (&o.property, "not proved", &o.why));
    for (property, message, detail) in broken.chain(open) {
        let _ = writeln!(out, "    <testcase classname=\"{file}\" name=\"{}\">", escaped(property));
        let _ = writeln!(out, "      <failure message=\"{message}\">{}</failure>", escaped(detail));
        out.push_str("    </testcase>\n");
    }
    out + "  </testsuite>\n"
}
