//! `stagekeeper run`: a table, a model and the built-in tools on a real task.

mod facts;
mod live;
mod models;
mod report;

use super::ask::TerminalAsker;
use super::failure::Failure;
use super::{exit, files, out};
use crate::engine::session::Session;
use crate::run::{
    BuiltinTools, Cancel, FileSink, NoSink, Report, RunError, Runner, TRACE_FOLDER, ToolHost, TraceSink, new_run_id,
};
use crate::table::StageTable;
use crate::trace::Header;
use live::Live;
pub(super) use live::time_alone;
use models::ModelArg;
use std::path::PathBuf;
use std::pin::pin;

/// Runs a task through a table: the model replies, the table decides, the tools run.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The stage table
    table: PathBuf,
    /// What to do
    #[arg(short, long, value_name = "TEXT")]
    task: String,
    /// The model: builtin, script:FILE, chaos:KIND, openai:MODEL or ollama:MODEL; ALIAS=SPEC for stages that name one
    #[arg(short, long, value_name = "SPEC|ALIAS=SPEC")]
    model: Vec<ModelArg>,
    /// Another server for openai: or ollama:
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The folder the built-in tools work in
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// A fact that the table declares with `from: host`; VALUE is JSON, else text
    #[arg(long, value_name = "NAME=VALUE")]
    fact: Vec<facts::FactArg>,
    /// Answer every question with yes
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// Answer every question with no
    #[arg(long)]
    no: bool,
    /// Judge and record everything, refuse nothing
    #[arg(long)]
    observe: bool,
    /// Also write the summary to this file, as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Keep no trace in .stagekeeper/
    #[arg(long)]
    no_trace: bool,
    /// Where send_email puts its mails [default: .stagekeeper/outbox in the root]
    #[arg(long, value_name = "DIR")]
    outbox: Option<PathBuf>,
    /// How to print the answer and the summary
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// The answer, then the summary
    Text,
    /// The summary as one JSON object
    Json,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let table = files::load_or_say(&args.table)?;
    let tools = open_tools(args, &table)?;
    let run = new_run_id();
    let mut session = start(args, &table, &tools, &run)?;
    let models = models::build(&args.model, args.base_url.as_deref())?;
    let (sink, trace) = open_sink(args, &table, &tools, &run)?;
    let decided = args.yes.then_some(true).or(args.no.then_some(false));
    let cancel = Cancel::new();
    let mut runner = Runner::new(models.main, Box::new(tools))
        .asker(Box::new(TerminalAsker::new(decided)))
        .sink(Box::new(Live::new(sink, &table)))
        .cancel(cancel.clone());
    for (alias, model) in models.by_alias {
        runner = runner.stage_model(alias, model);
    }
    let Some(ended) = until_ended(runner, &mut session, &cancel)? else {
        return Err(Failure::said(exit::CANCELLED));
    };
    finish(args, ended, trace)
}

fn open_tools(args: &Args, table: &StageTable) -> Result<BuiltinTools, Failure> {
    let tools = BuiltinTools::open(&args.root)
        .map_err(|e| Failure::usage(format!("`--root {}` cannot be used: {e}", args.root.display())))?
        .for_table(table);
    Ok(match &args.outbox {
        Some(folder) => tools.outbox(folder),
        None => tools,
    })
}

fn start(args: &Args, table: &StageTable, tools: &BuiltinTools, run: &str) -> Result<Session, Failure> {
    let mut builder =
        Session::builder(table, args.task.as_str()).tools(tools.tools()).run_id(run).observe(args.observe);
    for (name, value) in facts::checked(&args.fact, table)? {
        builder = builder.fact(&name, value);
    }
    builder.start().map_err(|e| Failure::new(exit::TABLE, e.to_string()))
}

/// The sink, and the path of its file.
fn open_sink(
    args: &Args,
    table: &StageTable,
    tools: &BuiltinTools,
    run: &str,
) -> Result<(Box<dyn TraceSink>, Option<PathBuf>), Failure> {
    if args.no_trace {
        return Ok((Box::new(NoSink), None));
    }
    let mut header = Header::new(table, run, args.task.as_str());
    header.tools = Some(tools.tools());
    header.facts = facts::checked(&args.fact, table)?.into_iter().collect();
    header.observe = args.observe;
    let sink = FileSink::create(TRACE_FOLDER, &header).map_err(|e| Failure::unexpected(e.to_string()))?;
    let path = sink.path().to_owned();
    Ok((Box::new(sink), Some(path)))
}

/// Drives the run to its end. The first Ctrl-C cancels it, the second gives `None` at once.
fn until_ended(
    runner: Runner,
    session: &mut Session,
    cancel: &Cancel,
) -> Result<Option<Result<Report, RunError>>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::unexpected(format!("cannot start: {e}")))?;
    let ended = runtime.block_on(async {
        let mut running = pin!(runner.run(session));
        loop {
            tokio::select! {
                biased;
                Ok(()) = tokio::signal::ctrl_c() => {
                    if cancel.is_cancelled() {
                        return None;
                    }
                    out::say("\ncancelling; once more to stop at once\n");
                    cancel.cancel();
                }
                ended = &mut running => return Some(ended),
            }
        }
    });
    // A thread that still reads the terminal, or a file, is left behind and not waited for.
    runtime.shutdown_background();
    Ok(ended)
}

fn finish(args: &Args, ended: Result<Report, RunError>, trace: Option<PathBuf>) -> Result<u8, Failure> {
    let (report, failure) = match ended {
        Ok(report) => (Some(report), None),
        Err(RunError::Sink { source, report }) => (Some(*report), Some(format!("the run stopped: {source}"))),
        Err(RunError::Broke { message, report }) => {
            (Some(*report), Some(format!("the runner broke: {message}; this is a bug in stagekeeper")))
        }
        Err(e) => (None, Some(e.to_string())),
    };
    if let Some(report) = &report {
        report::say(report, trace.as_deref());
        let json = report::json(&report.summary);
        out::data(&if args.format == Format::Json { json.clone() } else { report::text(&report.summary) })?;
        if let Some(path) = &args.summary {
            files::write(path, &json)?;
        }
    }
    match (failure, report.and_then(|r| r.summary.outcome)) {
        (Some(message), None) => Err(Failure::usage(message)),
        (Some(message), Some(_)) => Err(Failure::unexpected(message)),
        (None, Some(outcome)) => Ok(exit::of_outcome(outcome)),
        (None, None) => Err(Failure::unexpected("the run stopped without an outcome; this is a bug in stagekeeper")),
    }
}
