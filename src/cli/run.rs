//! `stagekeeper run`: a table, a model and the built-in tools on a real task.

mod facts;
mod live;
mod models;
mod report;
mod settings;
mod signals;

use super::ask::TerminalAsker;
use super::failure::Failure;
use super::files::Awaited;
use super::out::Format;
use super::{exit, files, out};
use crate::engine::session::Session;
use crate::provider::{Keyless, Options};
use crate::run::{
    BuiltinTools, Cancel, FileSink, NoSink, Report, RunError, Runner, TRACE_FOLDER, ToolHost, TraceSink, Unanswered,
    new_run_id, now_ms,
};
use crate::store::{Holder, Kept, RunStore, SqliteStore, StoreGroups, StoreSink};
use crate::table::StageTable;
use crate::trace::Header;
use live::Live;
pub(super) use live::time_alone;
pub(super) use models::{ModelArg, Models, Server, build as build_models};
pub(super) use settings::Settings;
use signals::{Asked, Signals};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

/// Runs a task through a table: the model replies, the table decides, the tools run.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The stage table
    table: PathBuf,
    /// What to do
    #[arg(short, long, value_name = "TEXT", value_parser = task)]
    task: String,
    /// The model: builtin, script:FILE, chaos:KIND, openai:MODEL or ollama:MODEL; ALIAS=SPEC for stages that name one
    #[arg(short, long, value_name = "SPEC|ALIAS=SPEC")]
    model: Vec<ModelArg>,
    #[command(flatten)]
    server: Server,
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
    /// Keep the run in this SQLite file instead, to be resumed if it is interrupted
    #[arg(long, value_name = "DB", conflicts_with = "no_trace")]
    store: Option<PathBuf>,
    /// Where send_email puts its mails [default: .stagekeeper/outbox in the root]
    #[arg(long, value_name = "DIR")]
    outbox: Option<PathBuf>,
    /// How to print the answer and the summary
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn task(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is blank; say what to do") } else { Ok(text.to_owned()) }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let table = files::load_or_say(&args.table)?;
    let mut tools = open_tools(args, &table)?;
    let run = new_run_id();
    let mut session = start(args, &table, &tools, &run)?;
    let models = models::build(&args.model, &args.server)?;
    models.fit(&table)?;
    let header = header(args, &table, &tools, &run)?;
    let summary = args.summary.as_deref().map(Awaited::open).transpose()?;
    let (sink, trace): (Box<dyn TraceSink>, Trace) = match &args.store {
        Some(path) => {
            let store = SqliteStore::open(path).map_err(|e| Failure::new(exit::UNREACHABLE, e.to_string()))?;
            let settings = settings::Settings::of(args).text();
            let kept = open_kept(store, &header, &settings)?;
            tools = tools.groups(Arc::new(StoreGroups(Arc::clone(&kept))));
            (Box::new(StoreSink::new(kept)), Trace::Stored(path.clone(), run))
        }
        None => open_sink(args, &header)?,
    };
    let decided = args.yes.then_some(true).or(args.no.then_some(false));
    let ended = drive(&mut session, models, tools, sink, decided, |runner| {
        // A stored run waits for a person who comes later; any other has nobody to come back to.
        if args.store.is_some() { runner.unanswered(Unanswered::Pause) } else { runner }
    })?;
    finish(args.format, summary, ended, &trace)
}

/// Where a run was kept.
pub(super) enum Trace {
    Nowhere,
    File(PathBuf),
    Stored(PathBuf, String),
}

impl Trace {
    fn shown(&self) -> Option<String> {
        match self {
            Self::Nowhere => None,
            Self::File(path) => Some(format!("trace: {}", path.display())),
            Self::Stored(path, run) => Some(format!("run {run} in {}", path.display())),
        }
    }
}

fn open_kept(store: SqliteStore, header: &Header, settings: &str) -> Result<Arc<Kept>, Failure> {
    let store: Arc<dyn RunStore> = Arc::new(store);
    let lease = store
        .begin(header, settings, &Holder::here(), now_ms())
        .map_err(|e| Failure::new(exit::UNREACHABLE, e.to_string()))?;
    Ok(Kept::new(store, lease))
}

/// Runs the session to its end with everything it needs.
pub(super) fn drive(
    session: &mut Session,
    models: models::Models,
    tools: BuiltinTools,
    sink: Box<dyn TraceSink>,
    decided: Option<bool>,
    more: impl FnOnce(Runner) -> Runner,
) -> Result<Result<Report, RunError>, Failure> {
    let cancel = Cancel::new();
    let table = session.table().clone();
    let tools = Keyless::new(tools, Options::from_env().api_key);
    let mut runner = Runner::new(models.main, Box::new(tools))
        .asker(Box::new(TerminalAsker::new(decided)))
        .sink(Box::new(Live::new(sink, &table)))
        .cancel(cancel.clone());
    for (alias, model) in models.by_alias {
        runner = runner.stage_model(alias, model);
    }
    until_ended(more(runner), session, &cancel)?.ok_or_else(|| Failure::said(exit::CANCELLED))
}

fn open_tools(args: &Args, table: &StageTable) -> Result<BuiltinTools, Failure> {
    let kept = args.store.as_deref().map(SqliteStore::files).unwrap_or_default();
    let tools = BuiltinTools::open_without(&args.root, &kept)
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

fn header(args: &Args, table: &StageTable, tools: &BuiltinTools, run: &str) -> Result<Header, Failure> {
    let mut header = Header::new(table, run, args.task.as_str());
    header.tools = Some(tools.tools());
    header.facts = facts::checked(&args.fact, table)?.into_iter().collect();
    header.observe = args.observe;
    header.started_ms = now_ms();
    Ok(header)
}

/// The sink, and the path of its file.
fn open_sink(args: &Args, header: &Header) -> Result<(Box<dyn TraceSink>, Trace), Failure> {
    if args.no_trace {
        return Ok((Box::new(NoSink), Trace::Nowhere));
    }
    let sink = FileSink::create(TRACE_FOLDER, header).map_err(|e| Failure::unexpected(e.to_string()))?;
    let path = sink.path().to_owned();
    Ok((Box::new(sink), Trace::File(path)))
}

/// Drives the run to its end. The first signal cancels it; Ctrl-C after that gives `None` at once.
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
        let mut signals = Signals::catch()?;
        let mut running = pin!(runner.run(session));
        loop {
            tokio::select! {
                biased;
                asked = signals.next() => match (asked, cancel.is_cancelled()) {
                    (Asked::CtrlC, true) => return Ok(None),
                    // Those who end programs send several signals in a row: each means the same.
                    (Asked::Otherwise, true) => {}
                    (_, false) => {
                        out::say("\ncancelling; Ctrl-C now stops at once\n");
                        cancel.cancel();
                    }
                },
                ended = &mut running => return Ok(Some(ended)),
            }
        }
    });
    // A thread that still reads the terminal, or a file, is left behind and not waited for.
    runtime.shutdown_background();
    ended
}

pub(super) fn finish(
    format: Format,
    summary: Option<Awaited>,
    ended: Result<Report, RunError>,
    trace: &Trace,
) -> Result<u8, Failure> {
    let (report, failure) = match ended {
        Ok(report) => (Some(report), None),
        Err(RunError::Sink { source, report }) => (Some(*report), Some(format!("the run stopped: {source}"))),
        Err(RunError::Broke { message, report }) => {
            (Some(*report), Some(format!("the runner broke: {message}; this is a bug in stagekeeper")))
        }
        Err(e) => (None, Some(e.to_string())),
    };
    if let Some(report) = &report {
        report::say(report, trace.shown().as_deref());
        let json = report::json(&report.summary);
        // Both are tried: neither goes missing because the other has no place.
        let printed = out::data(&if format == Format::Json { json.clone() } else { report::text(&report.summary) });
        summary.map_or(Ok(()), |file| file.fill(&json)).and(printed)?;
    }
    match (failure, report) {
        // It did not begin.
        (Some(message), None) => Err(Failure::usage(message)),
        (Some(message), Some(_)) => Err(Failure::unexpected(message)),
        (None, report) => match report.and_then(|r| r.summary.outcome) {
            Some(outcome) => Ok(exit::of_outcome(outcome)),
            None => Err(Failure::unexpected("the run stopped without an outcome; this is a bug in stagekeeper")),
        },
    }
}
