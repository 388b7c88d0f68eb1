//! What `stagekeeper verify` prints: one format a function, pure.

use super::prove::Proof;
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
    not_proved: &'a [String],
    bytes: usize,
    counted_up_to: Option<u32>,
}

#[derive(Serialize)]
struct Broken<'a> {
    property: &'a str,
    confirmed: bool,
    scenario: &'a str,
}

/// One object a line.
#[must_use]
pub fn json(verified: &[Verified]) -> String {
    let mut out = String::new();
    for Verified { file, proof, seconds } in verified {
        let broken = proof.broken.iter();
        let line = Line {
            file,
            proved: &proof.proved,
            broken: broken
                .map(|b| Broken { property: &b.property, confirmed: b.confirmed, scenario: &b.scenario })
                .collect(),
            complete: proof.complete,
            states: proof.states,
            seconds: (seconds * 1_000.0).round() / 1_000.0,
            not_proved: &proof.open,
            bytes: proof.bytes,
            counted_up_to: proof.abstracted,
        };
        // Strings and numbers: nothing here can fail to become JSON.
        let _ = writeln!(out, "{}", serde_json::to_string(&line).unwrap_or_default());
    }
    out
}

/// For people.
#[must_use]
pub fn text(verified: &[Verified]) -> String {
    let mut out = String::new();
    for Verified { file, proof, seconds } in verified {
        let word = match (proof.broken.is_empty(), proof.open.is_empty()) {
            (false, _) => "does not hold",
            (true, false) => "not proved",
            (true, true) => "proved",
        };
        let megabytes = proof.bytes as f64 / 1e6;
        let _ = writeln!(out, "{file}: {word} ({} states, {seconds:.2} s, {megabytes:.1} MB of keys)", proof.states);
        if let Some(most) = proof.abstracted {
            let _ = writeln!(out, "  numbers of steps left above {most} were not told apart, which proves as much");
        }
        for property in &proof.proved {
            let _ = writeln!(out, "  proved      {property}");
        }
        for property in &proof.open {
            let _ = writeln!(out, "  not proved  {property}");
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
    }
    out
}

/// JUnit's XML: a suite for each table, a case for each property.
#[must_use]
pub fn junit(verified: &[Verified]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for Verified { file, proof, seconds } in verified {
        let failures = proof.broken.len() + proof.open.len();
        let tests = failures + proof.proved.len();
        let file = escaped(file);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\">"
        );
        for property in &proof.proved {
            let _ = writeln!(out, "    <testcase classname=\"{file}\" name=\"{}\"/>", escaped(property));
        }
        let broken = proof.broken.iter().map(|b| (&b.property, "does not hold", b.scenario.as_str()));
        let open = proof.open.iter().map(|property| (property, "not proved", ""));
        for (property, message, detail) in broken.chain(open) {
            let _ = writeln!(out, "    <testcase classname=\"{file}\" name=\"{}\">", escaped(property));
            let _ = writeln!(out, "      <failure message=\"{message}\">{}</failure>", escaped(detail));
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // XML 1.0 has no place for control characters.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
