//! `stagekeeper explain`: why a call of a recorded run got its verdict.

use super::draw::read_trace;
use super::failure::Failure;
use super::out::Format;
use super::replay::recorded_table;
use super::{exit, out};
use crate::render::explain;
use crate::trace::{Explanation, explain as of_trace};
use std::path::PathBuf;

/// Most calls listed when the one asked for is not there.
const LISTED: usize = 20;

/// Shows why a call got its verdict: each check in order, what it saw, the rule and the table's line.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The trace of a run, as kept in .stagekeeper/
    trace: PathBuf,
    /// The number of the call, from 1
    call: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let trace = read_trace(&args.trace)?;
    let table = recorded_table(&trace)?;
    let calls = of_trace(&trace, &table).map_err(|e| {
        Failure::new(exit::DIFFERS, format!("the recorded inputs do not fit this version of the engine: {e}"))
    })?;
    let Some(call) = calls.iter().find(|c| c.call.0 == args.call) else {
        return Err(Failure::usage(not_there(args.call, &calls)));
    };
    out::data(&match args.format {
        Format::Text => out::visible(&explain::text(call)),
        Format::Json => format!("{}\n", explain::json(call)),
    })?;
    Ok(exit::OK)
}

fn not_there(call: u32, calls: &[Explanation]) -> String {
    if calls.is_empty() {
        return "the run has no calls".to_owned();
    }
    let listed: Vec<String> =
        calls.iter().take(LISTED).map(|c| format!("\n  {}  {}", c.call.0, out::visible(&explain::call(c)))).collect();
    let more = match calls.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("the run has no call {call}; its calls are:{}{more}", listed.concat())
}
