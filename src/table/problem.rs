//! What is wrong with a table: every problem at once, each with its place and what to do.

use serde::Serialize;

/// Every code there is, sorted. Each has a paragraph in `docs/reference/problems.md` and a broken table under
/// `tests/problems`.
pub const CODES: &[&str] = &[
    "action-not-here",
    "aside-first",
    "back-outside-aside",
    "bad-combination",
    "bad-duration",
    "bad-expression",
    "bad-merge",
    "bad-name",
    "bad-number",
    "bad-regex",
    "bad-template",
    "bad-value",
    "duplicate-key",
    "empty-file",
    "empty-list",
    "empty-text",
    "every-without-until",
    "expression-too-long",
    "file-too-large",
    "final-stage-one-step",
    "format-version",
    "hint-never-said",
    "include-not-read",
    "include-outside",
    "jumps-back",
    "listed-twice",
    "missing-key",
    "name-taken",
    "no-action",
    "no-stages",
    "no-way-to-end",
    "not-text",
    "reserved-name",
    "text-too-long",
    "too-many",
    "too-many-problems",
    "tool-never-allowed",
    "tool-not-in-catalogue",
    "two-actions",
    "two-budgets",
    "two-documents",
    "two-guarantees",
    "undefined-name",
    "unknown-fact",
    "unknown-key",
    "unknown-message",
    "unknown-stage",
    "unknown-tool",
    "unreachable-stage",
    "write-without-bound",
    "wrong-type",
    "yaml-alias",
    "yaml-colon",
    "yaml-key",
    "yaml-nesting",
    "yaml-quote",
    "yaml-syntax",
    "yaml-tab",
    "yaml-tag",
    "yaml-too-many-values",
];

/// Whether a problem stops the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The table is not used.
    Error,
    /// The table is used; a look is worth it.
    Warning,
}

/// One problem of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Stable code in kebab case, described in `docs/reference/problems.md`.
    pub code: &'static str,
    /// Whether it stops the load.
    pub severity: Severity,
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters of the line that are meant, at least 1.
    #[serde(skip)]
    pub width: usize,
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Why a table cannot be used: at least one error, warnings beside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", summary(.problems))]
pub struct TableError {
    /// All problems in the order of their places.
    pub problems: Vec<Problem>,
}

fn summary(problems: &[Problem]) -> String {
    let lines: Vec<String> =
        problems.iter().map(|p| format!("{}:{}:{}: {} [{}]", p.file, p.line, p.column, p.message, p.code)).collect();
    lines.join("\n")
}
