//! `stagekeeper check`: all problems of a table, then its bounds.

use super::failure::Failure;
use super::files::Unloaded;
use super::{exit, files, out};
use crate::render::{effective, problems};
use crate::table::model::Bounds;
use crate::table::{Problem, Severity, StageTable};
use indexmap::IndexMap;
use serde::Serialize;
use std::path::PathBuf;

/// Finds every problem of stage tables and prints their bounds.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Stage tables
    #[arg(required = true, value_name = "TABLE")]
    tables: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print every value that holds, defaults included, as a table
    #[arg(long, conflicts_with = "format")]
    show: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// For people
    Text,
    /// One object a line for each table
    Json,
    /// Annotations for GitHub Actions
    Github,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let mut code = exit::OK;
    for path in &args.tables {
        let checked = match files::load(path) {
            Ok(table) => Checked::Sound(table),
            Err(Unloaded::Wrong { error, text }) => Checked::Wrong { problems: error.problems, text },
            Err(Unloaded::Unreadable(failure)) => {
                out::say_failure(&failure);
                code = code.max(failure.code);
                continue;
            }
        };
        let file = path.display().to_string();
        code = code.max(checked.code());
        match args.format {
            Format::Json => out::data(&(json(&file, &checked) + "\n"))?,
            Format::Github => out::data(&checked.problems().iter().map(annotation).collect::<String>())?,
            Format::Text => text(&file, &checked, args.show)?,
        }
    }
    Ok(code)
}

/// What came of one file.
enum Checked {
    Sound(StageTable),
    Wrong { problems: Vec<Problem>, text: String },
}

impl Checked {
    fn problems(&self) -> &[Problem] {
        match self {
            Self::Sound(table) => table.warnings(),
            Self::Wrong { problems, .. } => problems,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Sound(table) => &table.source.text,
            Self::Wrong { text, .. } => text,
        }
    }

    fn code(&self) -> u8 {
        if self.problems().iter().any(|p| p.severity == Severity::Error) { exit::TABLE } else { exit::OK }
    }
}

/// Problems to stderr, bounds to stdout.
fn text(file: &str, checked: &Checked, show: bool) -> Result<(), Failure> {
    out::say(&problems::text(checked.problems(), checked.text(), out::stderr_has_colour()));
    match checked {
        Checked::Wrong { problems, .. } => {
            let errors = problems.iter().filter(|p| p.severity == Severity::Error).count();
            out::say(&format!("{file}: {errors} error{}\n", if errors == 1 { "" } else { "s" }));
            Ok(())
        }
        Checked::Sound(table) if show => out::data(&effective::text(table)),
        Checked::Sound(table) => out::data(&bounds_text(file, table)),
    }
}

fn bounds_text(file: &str, table: &StageTable) -> String {
    let Bounds { ceiling, ceiling_calls, max_calls, .. } = table.bounds();
    let mut out = format!("{file}: {} is sound\n", table.workflow());
    out.push_str(&format!("  ceiling: {ceiling} replies, {ceiling_calls} calls in a proxy\n"));
    let limited: Vec<String> =
        max_calls.iter().filter_map(|(tool, most)| most.map(|most| format!("{tool} {most}"))).collect();
    if !limited.is_empty() {
        out.push_str(&format!("  most calls: {}\n", limited.join(", ")));
    }
    out
}

/// The line of `--format json`, keys in this order.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    workflow: Option<&'a str>,
    ceiling: Option<u32>,
    ceiling_calls: Option<u64>,
    max_replies: Option<u32>,
    max_calls: IndexMap<String, Option<u64>>,
    problems: &'a [Problem],
}

fn json(file: &str, checked: &Checked) -> String {
    let mut line = Line {
        file,
        workflow: None,
        ceiling: None,
        ceiling_calls: None,
        max_replies: None,
        max_calls: IndexMap::new(),
        problems: checked.problems(),
    };
    if let Checked::Sound(table) = checked {
        let bounds = table.bounds();
        line.workflow = Some(table.workflow());
        line.ceiling = Some(bounds.ceiling);
        line.ceiling_calls = Some(bounds.ceiling_calls);
        line.max_replies = Some(bounds.max_replies);
        line.max_calls = bounds.max_calls;
    }
    // Strings and numbers: nothing here can fail to become JSON.
    serde_json::to_string(&line).unwrap_or_default()
}

/// A workflow command that GitHub shows beside the line.
fn annotation(problem: &Problem) -> String {
    let kind = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let help = problem.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    format!(
        "::{kind} file={},line={},col={},title={}::{}\n",
        property(&problem.file),
        problem.line,
        problem.column,
        property(problem.code),
        message(&format!("{}{help}", problem.message)),
    )
}

/// As GitHub's own toolkit escapes a command's message.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As GitHub's own toolkit escapes a command's property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_cannot_be_broken_out_of() {
        let problem = Problem {
            code: "unknown-key",
            severity: Severity::Error,
            file: "a,b:c.yaml".to_owned(),
            line: 3,
            column: 5,
            width: 4,
            message: "unknown key `x\n::error::y` 100%".to_owned(),
            help: Some("did you mean `z`?".to_owned()),
        };
        insta::assert_snapshot!(annotation(&problem), @"::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=unknown-key::unknown key `x%0A::error::y` 100%25%0Adid you mean `z`?");
    }
}
