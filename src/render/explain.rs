//! Why a call got its verdict: each check of the public order, what it saw, and the table's line.

use super::story::words::{arguments, clean, cut, refusal};
use crate::engine::event::Judged;
use crate::engine::explain::{Asked, RuleAsked};
use crate::engine::verdict::Check;
use crate::trace::Explanation;
use serde_json::{Value, json};

/// Most characters of a call.
const CALL: usize = 200;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameOut {
    /// No objection.
    Passes,
    /// It decided.
    Decides,
    /// It was not made: an earlier one decided, or it does not concern the call.
    NotAsked,
}

impl CameOut {
    /// In a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Decides => "decides",
            Self::NotAsked => "not asked",
        }
    }
}

/// One check as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number in the public order.
    pub number: u8,
    /// Which.
    pub check: Check,
    /// How it came out.
    pub came_out: CameOut,
    /// What it saw, in words.
    pub saw: String,
    /// The table's line.
    pub line: Option<usize>,
}

/// The check that decided; `None` for a call that ran unasked.
fn deciding(judged: &Judged) -> Option<Check> {
    match judged {
        Judged::Run => None,
        Judged::Reuse { check, .. } | Judged::Refuse { check, .. } => Some(*check),
        Judged::Ask { .. } => Some(Check::Approval),
    }
}

/// The checks of the public order, every one of them.
#[must_use]
pub fn rows(explanation: &Explanation) -> Vec<Row> {
    let deciding = deciding(&explanation.judged);
    let mut decided = false;
    Check::ORDER
        .iter()
        .map(|(number, check)| {
            let asked = explanation.checks.iter().find(|asked| asked.check == *check);
            let decides = deciding == Some(*check);
            let came_out = match asked {
                _ if decides => CameOut::Decides,
                Some(_) if !decided => CameOut::Passes,
                _ => CameOut::NotAsked,
            };
            decided |= decides;
            let asked = asked.filter(|_| came_out != CameOut::NotAsked);
            Row {
                number: *number,
                check: *check,
                came_out,
                saw: asked.map(words).unwrap_or_default(),
                line: asked.and_then(|asked| line(asked, decides)),
            }
        })
        .collect()
}

/// The rule that decided has the line, else what the check looked at.
fn line(asked: &Asked, decides: bool) -> Option<usize> {
    let of_rule = || asked.rules.last().map(|rule| rule.line).filter(|line| *line > 0);
    if decides { of_rule().or(asked.line) } else { asked.line }
}

fn words(asked: &Asked) -> String {
    let saw = asked.saw.iter().map(|saw| format!("{}: {}", clean(&saw.what), clean(&saw.value)));
    let rule = |rule: &RuleAsked| {
        let line = if rule.line > 0 { format!(", line {}", rule.line) } else { String::new() };
        format!("rule {} ({}{line}): {}", clean(&rule.rule), rule.action, rule.came_out)
    };
    let said: Vec<String> = saw.chain(asked.rules.iter().map(rule)).collect();
    match said.as_slice() {
        [] if matches!(asked.check, Check::Deny | Check::Approval) => "no rule speaks of it".to_owned(),
        said => said.join("; "),
    }
}

/// What came of the call, in a line.
#[must_use]
pub fn verdict(explanation: &Explanation) -> String {
    match &explanation.judged {
        Judged::Run => "run: no check objects".to_owned(),
        Judged::Reuse { of, .. } => format!("answered with the result of call {}", of.0),
        Judged::Refuse { check, violation, by, .. } => {
            let counted = if *violation { ", a violation" } else { "" };
            format!("refused{counted}: {}", refusal(*check, by.as_deref(), &explanation.stage))
        }
        Judged::Ask { by, .. } => {
            let said = match explanation.approved {
                Some(true) => "who said yes",
                Some(false) => "who said no",
                None => "who has not answered",
            };
            format!("a person is asked ({}), {said}", clean(by))
        }
    }
}

/// The call with its arguments, on one line.
#[must_use]
pub fn call(explanation: &Explanation) -> String {
    let resolved = explanation.resolved.as_ref().map(|name| format!(" = {}", clean(name))).unwrap_or_default();
    let proposed = &explanation.proposed;
    cut(&format!("{}{}{resolved}", clean(&proposed.tool), arguments(&proposed.arguments)), CALL)
}

/// The explanation for a terminal.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut out = format!("call {} in step {}", explanation.call.0, explanation.step);
    if !explanation.stage.is_empty() {
        out.push_str(&format!(", stage {}", clean(&explanation.stage)));
    }
    out.push_str(&format!(": {}\n\n", call(explanation)));
    out.push_str(&format!("   {:<15} {:<10}{}\n", "check", "it", "what it saw  [the table's line]"));
    for row in rows(explanation) {
        let at = row.line.map(|line| format!("  [{}:{line}]", clean(&explanation.file))).unwrap_or_default();
        let head = format!("{:>2} {:<15} {:<10}{}{at}", row.number, row.check.as_str(), row.came_out.as_str(), row.saw);
        out.push_str(head.trim_end());
        out.push('\n');
    }
    out.push_str(&format!("14 {:<15} {}\n\n{}\n", "run", ran(explanation), verdict(explanation)));
    match &explanation.judged {
        Judged::Refuse { hint, .. } => out.push_str(&format!("the model is told:\n{}\n", indented(hint))),
        Judged::Ask { question, .. } => out.push_str(&format!("the question:\n{}\n", indented(question))),
        Judged::Run | Judged::Reuse { .. } => {}
    }
    out
}

fn ran(explanation: &Explanation) -> &'static str {
    match (&explanation.judged, explanation.approved) {
        (Judged::Run, _) | (Judged::Ask { .. }, Some(true)) => "yes",
        _ => "no",
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// The explanation as one JSON object.
#[must_use]
pub fn json(explanation: &Explanation) -> Value {
    let rows: Vec<Value> = rows(explanation)
        .into_iter()
        .map(|row| {
            let asked = explanation.checks.iter().find(|asked| asked.check == row.check);
            let asked = asked.filter(|_| row.came_out != CameOut::NotAsked);
            json!({
                "number": row.number, "check": row.check, "came_out": row.came_out.as_str(), "line": row.line,
                "saw": asked.map(|a| a.saw.as_slice()).unwrap_or_default(),
                "rules": asked.map(|a| a.rules.as_slice()).unwrap_or_default(),
            })
        })
        .collect();
    json!({
        "call": explanation.call, "file": explanation.file, "step": explanation.step, "stage": explanation.stage,
        "tool": explanation.proposed.tool, "resolved": explanation.resolved,
        "arguments": explanation.proposed.arguments, "verdict": explanation.judged,
        "approved": explanation.approved, "checks": rows,
    })
}
