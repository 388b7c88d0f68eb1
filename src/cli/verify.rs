//! `stagekeeper verify`: proves what no model can make a run do.

use super::failure::Failure;
use super::{exit, files, out};
use crate::table::StageTable;
use crate::verify::report::{self, Verified};
use crate::verify::{MAX_STATES, Options, Progress, prove};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two looks at the progress line.
const TICK: Duration = Duration::from_millis(100);

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
    /// States explored at most for each table; what is left then is not proved
    #[arg(long, value_name = "N", default_value_t = MAX_STATES, value_parser = from_one::<usize>)]
    max_states: usize,
    /// Seconds at most for each table; what is left then is not proved
    #[arg(long, value_name = "N", value_parser = from_one::<u64>)]
    max_seconds: Option<u64>,
    /// Explore runs to which a person grants steps so often at most
    #[arg(long, value_name = "N", default_value_t = 0)]
    grants: u32,
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

fn from_one<N: std::str::FromStr + From<u8> + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.replace('_', "").parse().ok().filter(|n| *n >= N::from(1));
    number.ok_or_else(|| "write a number from 1".to_owned())
}

/// Each table's result is printed as soon as it is there.
pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let mut code = exit::OK;
    if args.format == Format::Junit {
        out::data(report::JUNIT_HEAD)?;
    }
    for path in &args.tables {
        let table = match files::load_or_say(path) {
            Ok(table) => table,
            Err(failure) => {
                out::say_failure(&failure);
                code = code.max(failure.code);
                continue;
            }
        };
        let one = verified(path, &table, args);
        code = code.max(if one.holds() { exit::OK } else { exit::STOPPED });
        out::data(&match args.format {
            Format::Text => report::text(&one),
            Format::Json => report::json(&one),
            Format::Junit => report::junit(&one),
        })?;
    }
    if args.format == Format::Junit {
        out::data(report::JUNIT_TAIL)?;
    }
    Ok(code)
}

fn verified(path: &Path, table: &StageTable, args: &Args) -> Verified {
    let file = path.display().to_string();
    let begun = Instant::now();
    let bar = progress_line(&file);
    let mut told: Option<Instant> = None;
    let mut progress = |progress: &Progress| {
        if told.is_none_or(|at| at.elapsed() >= TICK) {
            told = Some(Instant::now());
            let Progress { phase, states, open } = progress;
            bar.set_message(if *states == 0 {
                (*phase).to_owned()
            } else {
                format!("{phase}: {states} states, {open} open")
            });
        }
        args.max_seconds.is_none_or(|most| begun.elapsed() < Duration::from_secs(most))
    };
    let mut options = Options { max_states: args.max_states, grants: args.grants, progress: &mut progress };
    let proof = prove(table, &mut options);
    bar.finish_and_clear();
    Verified { file, proof, seconds: begun.elapsed().as_secs_f64() }
}

/// A line on a terminal, which shows the time whatever is being done; nothing elsewhere.
fn progress_line(file: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_prefix(file.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {elapsed}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}
