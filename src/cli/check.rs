//! `stagekeeper check`: all problems of a table, then its bounds.

use super::failure::Failure;
use super::files::{Texts, Unloaded};
use super::{exit, files, out};
use crate::render::{effective, problems};
use crate::table::{Bounds, Problem, Severity, StageTable};
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
        let set = files::message_set(path);
        let is_set = set.is_some();
        let checked = match set.unwrap_or_else(|| files::load(path)) {
            Ok(_) if is_set => Checked::Messages,
            Ok(table) => Checked::Sound(table),
            Err(Unloaded::Wrong { error, texts }) => Checked::Wrong { problems: error.problems, texts },
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
            Format::Github => out::data(&problems::github(checked.problems()))?,
            Format::Text => text(&file, &checked, args.show)?,
        }
    }
    Ok(code)
}

/// What came of one file.
enum Checked {
    Sound(StageTable),
    /// A file of messages without a problem.
    Messages,
    Wrong {
        problems: Vec<Problem>,
        texts: Texts,
    },
}

impl Checked {
    fn problems(&self) -> &[Problem] {
        match self {
            Self::Sound(table) => table.warnings(),
            Self::Messages => &[],
            Self::Wrong { problems, .. } => problems,
        }
    }

    fn code(&self) -> u8 {
        if self.problems().iter().any(|p| p.severity == Severity::Error) { exit::TABLE } else { exit::OK }
    }
}

/// Problems to stderr, bounds to stdout.
fn text(file: &str, checked: &Checked, show: bool) -> Result<(), Failure> {
    match checked {
        Checked::Wrong { problems, texts } => {
            out::say(&texts.show(problems));
            out::say(&format!("{file}: {}\n", problems::count(problems)));
            Ok(())
        }
        Checked::Messages => out::data(&format!("{file}: a sound set of messages\n")),
        Checked::Sound(table) => {
            out::say(&Texts::of(table).show(table.warnings()));
            out::data(&if show { effective::table(table) } else { bounds_text(file, table) })
        }
    }
}

fn bounds_text(file: &str, table: &StageTable) -> String {
    let Bounds { ceiling, ceiling_calls, max_calls, .. } = table.bounds();
    let mut out = format!("{file}: {} is sound\n", table.workflow());
    out.push_str(&format!(
        "  ceiling: {ceiling} replies, {ceiling_calls} calls in a proxy, where each call is a step\n"
    ));
    let tree = crate::engine::tree::ceiling(table);
    if table.nested_runs() {
        out.push_str(&tree_text(tree));
    }
    let limited: Vec<String> =
        max_calls.iter().filter_map(|(tool, most)| most.map(|most| format!("{tool} {most}"))).collect();
    if !limited.is_empty() {
        let a_step = table.limits.calls_per_step;
        out.push_str(&format!("  most calls, at up to {a_step} a step: {}\n", limited.join(", ")));
    }
    out
}

/// The bound of the run with all its nested runs.
fn tree_text(tree: u64) -> String {
    match tree {
        u64::MAX => "  with nested runs: more replies than can be counted\n".to_owned(),
        tree => format!("  with nested runs: {tree} replies\n"),
    }
}

/// The line of `--format json`, keys in this order. Of a table with errors nothing is known but the problems.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    workflow: Option<&'a str>,
    #[serde(flatten)]
    bounds: Option<Bounds>,
    /// Replies with all nested runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<u64>,
    problems: &'a [Problem],
}

fn json(file: &str, checked: &Checked) -> String {
    let sound = match checked {
        Checked::Sound(table) => Some(table),
        Checked::Messages | Checked::Wrong { .. } => None,
    };
    let line = Line {
        file,
        workflow: sound.map(|table| table.workflow()),
        bounds: sound.map(|table| table.bounds()),
        tree: sound.map(crate::engine::tree::ceiling),
        problems: checked.problems(),
    };
    // Strings and numbers: nothing here can fail to become JSON.
    serde_json::to_string(&line).unwrap_or_default()
}
