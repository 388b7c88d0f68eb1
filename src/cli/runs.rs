//! `stagekeeper runs`: what a store holds.

use super::failure::Failure;
use super::out::Format;
use super::{exit, files, out};
use crate::engine::outcome::Outcome;
use crate::run::now_ms;
use crate::store::{RunStore, SqliteStore, StoreError, StoredRun};
use crate::trace::{write_header, write_record};
use std::path::PathBuf;

/// The store that is meant when none is named.
pub(super) const DEFAULT_STORE: &str = "runs.db";

/// Lists the runs of a store, the latest first.
///
/// Those that came within 3 steps of their ceiling and still called tools are marked.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The store
    #[arg(long, value_name = "DB", default_value = DEFAULT_STORE)]
    store: PathBuf,
    /// Only runs that ended or pause so, such as `exhausted`; `running` for those without an outcome
    #[arg(long, value_name = "OUTCOME", value_parser = known_outcome)]
    outcome: Option<String>,
    /// Takes out the runs that ended and were not written to for so long, such as `30d`
    #[arg(long, value_name = "AGE", value_parser = age)]
    prune: Option<u64>,
    /// Prints this run as a trace instead
    #[arg(long, value_name = "RUN", conflicts_with_all = ["outcome", "prune", "format"])]
    export: Option<String>,
    /// Write the trace to this file instead of standard output
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What a run without an outcome is called.
const RUNNING: &str = "running";

/// `30d`, `12h`, `5m` or `10s` as milliseconds.
fn age(text: &str) -> Result<u64, String> {
    let wrong = || "write a whole number and a unit: `30d`, `12h`, `5m` or `10s`".to_owned();
    let unit = match text.chars().last() {
        Some('d') => 86_400_000,
        Some('h') => 3_600_000,
        Some('m') => 60_000,
        Some('s') => 1_000,
        _ => return Err(wrong()),
    };
    let number: u64 = text.get(..text.len() - 1).and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
    number.checked_mul(unit).ok_or_else(wrong)
}

fn known_outcome(text: &str) -> Result<String, String> {
    match serde_json::from_value::<Outcome>(text.into()) {
        Err(e) if text != RUNNING => Err(format!("{e}, or `{RUNNING}`")),
        _ => Ok(text.to_owned()),
    }
}

/// A store that cannot be used is exit code 5, a run that is not there 2.
pub(super) fn failed(e: &StoreError) -> Failure {
    let code = if matches!(e, StoreError::NoRun(_)) { exit::USAGE } else { exit::UNREACHABLE };
    Failure::new(code, e.to_string())
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = SqliteStore::existing(&args.store).map_err(|e| failed(&e))?;
    if let Some(run) = &args.export {
        let trace = export(&store, run)?;
        match &args.output {
            Some(path) => files::write(path, &trace)?,
            None => out::data(&trace)?,
        }
        return Ok(exit::OK);
    }
    if let Some(age) = args.prune {
        let pruned = store.prune(now_ms().saturating_sub(age)).map_err(|e| failed(&e))?;
        out::say(&format!("{pruned} runs taken out\n"));
    }
    let mut runs = store.runs().map_err(|e| failed(&e))?;
    if let Some(wanted) = &args.outcome {
        runs.retain(|run| outcome(run) == wanted);
    }
    out::data(&match args.format {
        Format::Json => runs.iter().map(|run| serde_json::to_string(run).unwrap_or_default() + "\n").collect(),
        Format::Text => table(&runs),
    })?;
    Ok(exit::OK)
}

/// A stored run as the text of a trace.
pub(super) fn export(store: &SqliteStore, run: &str) -> Result<String, Failure> {
    let trace = store.load(run).map_err(|e| failed(&e))?.trace;
    let too_long = |e: crate::trace::TooLong| Failure::unexpected(e.to_string());
    let (mut out, mut line) = (Vec::new(), Vec::new());
    write_header(&mut line, &trace.header).map_err(too_long)?;
    out.extend_from_slice(&line);
    for stamped in &trace.records {
        write_record(&mut line, stamped.n, stamped.at_ms, &stamped.record).map_err(too_long)?;
        out.extend_from_slice(&line);
    }
    String::from_utf8(out).map_err(|e| Failure::unexpected(e.to_string()))
}

fn outcome(run: &StoredRun) -> &'static str {
    run.outcome.map_or(RUNNING, |outcome| outcome.as_str())
}

fn table(runs: &[StoredRun]) -> String {
    let heads = ["run", "workflow", "outcome", "stage", "steps", "ago", ""].map(str::to_owned);
    let rows = runs.iter().map(|run| {
        [
            out::visible(&run.run),
            out::visible(&run.workflow),
            outcome(run).to_owned(),
            out::visible(&run.stage),
            format!("{}/{}", run.steps, run.ceiling),
            ago(now_ms().saturating_sub(run.updated)),
            if run.near_limit { "near its limit and still calling".to_owned() } else { String::new() },
        ]
    });
    let rows: Vec<_> = std::iter::once(heads).chain(rows).collect();
    let widths: Vec<usize> = (0..7)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or_default())
        .collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn ago(ms: u64) -> String {
    match ms / 1000 {
        s if s < 120 => format!("{s}s"),
        s if s < 7_200 => format!("{}m", s / 60),
        s if s < 172_800 => format!("{}h", s / 3_600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_numbers_with_a_unit() {
        assert_eq!(age("30d"), Ok(2_592_000_000));
        assert_eq!(age("5m"), Ok(300_000));
        for wrong in ["", "d", "3", "-1d", "1w", "1.5h", "99999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
