//! `stagekeeper verify`: proves what no model can make a run do.

use super::failure::Failure;
use super::{exit, files, out};
use crate::verify::report::{self, Verified};
use crate::verify::{MAX_STATES, Options, prove};
use indicatif::ProgressBar;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Instant;

/// Explores every behaviour a model could show and proves bounds and guarantees of stage tables.
///
/// Proved of every table: the ceiling holds, every run ends, every call is answered once, no tool runs outside its
/// stage, limits of calls, gates and rollbacks hold, a run that closes is asked for its answer. And what its `guarantees` say. A property
/// that does not hold is shown as the shortest run that breaks it. Exit code 4 when anything is broken or not proved.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Stage tables
    #[arg(required = true, value_name = "TABLE")]
    tables: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// States explored at most; what is left then is not proved
    #[arg(long, value_name = "N", default_value_t = MAX_STATES, value_parser = states)]
    max_states: usize,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// For people
    Text,
    /// One object a line for each table
    Json,
    /// JUnit's XML
    Junit,
}

fn states(text: &str) -> Result<usize, String> {
    match text.replace('_', "").parse() {
        Ok(0) | Err(_) => Err("write a number from 1".to_owned()),
        Ok(n) => Ok(n),
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let mut code = exit::OK;
    let mut verified = Vec::new();
    for path in &args.tables {
        let table = match files::load_or_say(path) {
            Ok(table) => table,
            Err(failure) => {
                out::say_failure(&failure);
                code = code.max(failure.code);
                continue;
            }
        };
        let file = path.display().to_string();
        let begun = Instant::now();
        let bar = progress(&file);
        let mut progress = |states: usize| {
            bar.set_message(format!("{states} states"));
            bar.tick();
            true
        };
        let proof = prove(&table, &mut Options { max_states: args.max_states, progress: &mut progress });
        bar.finish_and_clear();
        let one = Verified { file, proof, seconds: begun.elapsed().as_secs_f64() };
        code = code.max(if one.holds() { exit::OK } else { exit::STOPPED });
        verified.push(one);
    }
    out::data(&match args.format {
        Format::Text => report::text(&verified),
        Format::Json => report::json(&verified),
        Format::Junit => report::junit(&verified),
    })?;
    Ok(code)
}

/// A line on a terminal, nothing elsewhere.
fn progress(file: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new_spinner().with_prefix(file.to_owned())
}
