//! `stagekeeper replay`: a trace through the engine again, or through another table.

use super::draw::read_trace;
use super::failure::Failure;
use super::out::Format;
use super::{exit, files, out};
use crate::engine::event::{Event, Judged};
use crate::table::StageTable;
use crate::trace::{Comparison, Difference, Trace, compare, replay};
use std::path::PathBuf;

/// Feeds a trace through the engine again; with another table, shows what it would have judged otherwise.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The trace of a run, as kept in .stagekeeper/
    trace: PathBuf,
    /// Another table to judge the recorded replies by
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let trace = read_trace(&args.trace)?;
    match &args.table {
        Some(path) => what_if(&trace, &files::load_or_say(path)?, args.format),
        None => again(&trace, args.format),
    }
}

/// The recorded table must give the recorded events.
fn again(trace: &Trace, format: Format) -> Result<u8, Failure> {
    let table = recorded_table(trace)?;
    let difference = replay(trace, &table).map_err(|e| Failure::new(exit::DIFFERS, e.to_string()))?;
    let records = trace.records.len();
    out::data(&match format {
        Format::Json => json_again(trace, difference.as_ref()),
        Format::Text => match &difference {
            None => format!("the same: {records} records give the events that were recorded\n"),
            Some(difference) => out::visible(&shown_difference(difference, records)),
        },
    })?;
    Ok(if difference.is_some() { exit::DIFFERS } else { exit::OK })
}

pub(super) fn recorded_table(trace: &Trace) -> Result<StageTable, Failure> {
    let recorded = &trace.header.table;
    let mut include =
        |name: &str| recorded.included.get(name).cloned().ok_or_else(|| "the trace does not hold this file".to_owned());
    StageTable::parse_with(&recorded.file, &recorded.text, &mut include)
        .map_err(|e| Failure::new(exit::TABLE, format!("the recorded table is no table for this version\n{e}")))
}

pub(super) fn shown_difference(difference: &Difference, records: usize) -> String {
    let event = |event: &Option<Event>| match event {
        Some(event) => serde_json::to_string(event).unwrap_or_default(),
        None => "(nothing)".to_owned(),
    };
    let mut out = format!("differs at record {} of {records}\n", difference.record);
    out.push_str(&format!("  recorded: {}\n", event(&difference.recorded)));
    match &difference.unfitting {
        Some(why) => out.push_str(&format!("  now:      the input does not fit: {why}\n")),
        None => out.push_str(&format!("  now:      {}\n", event(&difference.now))),
    }
    out
}

fn json_again(trace: &Trace, difference: Option<&Difference>) -> String {
    let difference = difference.map(
        |d| serde_json::json!({ "record": d.record, "recorded": d.recorded, "now": d.now, "unfitting": d.unfitting }),
    );
    let line = serde_json::json!({
        "run": trace.header.run,
        "records": trace.records.len(),
        "same": difference.is_none(),
        "difference": difference,
    });
    format!("{line}\n")
}

/// Another table: information, so the exit code is 0 whatever it shows.
fn what_if(trace: &Trace, other: &StageTable, format: Format) -> Result<u8, Failure> {
    let comparison = compare(trace, other).map_err(|e| Failure::new(exit::TABLE, e.to_string()))?;
    out::data(&match format {
        Format::Json => json_what_if(trace, &comparison),
        Format::Text => out::visible(&shown_comparison(&comparison)),
    })?;
    Ok(exit::OK)
}

fn shown_comparison(comparison: &Comparison) -> String {
    let mut out = String::new();
    for call in &comparison.otherwise {
        out.push_str(&format!(
            "step {} call {} {}: {}, now {}\n",
            call.step,
            call.call.0,
            call.tool,
            words(&call.recorded),
            words(&call.now)
        ));
    }
    let kept = comparison.otherwise.len();
    if comparison.differing > kept {
        out.push_str(&format!("and {} more\n", comparison.differing - kept));
    }
    out.push_str(&format!("{} of {} calls judged otherwise\n", comparison.differing, comparison.compared));
    if let Some(parting) = &comparison.parting {
        let stage = |stage: &str| if stage.is_empty() { "ended".to_owned() } else { format!("in {stage}") };
        out.push_str(&format!(
            "the paths part at step {}: {}, now {}; from there on the recorded replies answer to another view\n",
            parting.step,
            stage(&parting.recorded),
            stage(&parting.now)
        ));
    }
    if comparison.unused_replies > 0 {
        out.push_str(&format!("{} recorded replies come after the end\n", comparison.unused_replies));
    }
    let outcome = |outcome: Option<crate::engine::outcome::Outcome>| outcome.map_or("unfinished", |o| o.as_str());
    out.push_str(&format!("outcome: {}, now {}\n", outcome(comparison.recorded), outcome(comparison.now)));
    out
}

fn words(judged: &Judged) -> String {
    match judged {
        Judged::Run => "ran".to_owned(),
        Judged::Reuse { of, .. } => format!("answered from memory (call {})", of.0),
        Judged::Refuse { check, by, .. } => match by {
            Some(by) => format!("refused by {} ({by})", check.as_str()),
            None => format!("refused by {}", check.as_str()),
        },
        Judged::Ask { by, .. } => format!("asked about ({by})"),
    }
}

fn json_what_if(trace: &Trace, comparison: &Comparison) -> String {
    let otherwise: Vec<serde_json::Value> = comparison
        .otherwise
        .iter()
        .map(|c| {
            serde_json::json!({
                "call": c.call, "step": c.step, "tool": c.tool, "recorded": c.recorded, "now": c.now,
            })
        })
        .collect();
    let parting = comparison
        .parting
        .as_ref()
        .map(|p| serde_json::json!({ "step": p.step, "recorded": p.recorded, "now": p.now }));
    let line = serde_json::json!({
        "run": trace.header.run,
        "compared": comparison.compared,
        "differing": comparison.differing,
        "otherwise": otherwise,
        "parting": parting,
        "unused_replies": comparison.unused_replies,
        "recorded": comparison.recorded,
        "now": comparison.now,
    });
    format!("{line}\n")
}
