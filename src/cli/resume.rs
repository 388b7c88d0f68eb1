//! `stagekeeper resume`: a stored run goes on where its records end.

use super::failure::Failure;
use super::out::Format;
use super::replay::{recorded_table, shown_difference};
use super::run::{ModelArg, Server, Settings, Trace, build_models, drive, finish};
use super::runs::{DEFAULT_STORE, failed};
use super::{exit, files, out};
use crate::engine::outcome::Outcome;
use crate::engine::session::Session;
use crate::run::{BuiltinTools, SinkError, TraceSink, Unanswered, now_ms};
use crate::store::{Holder, Kept, RunStore, SqliteStore, StoreGroups, StoreSink, Stored, end_group};
use crate::table::StageTable;
use crate::trace::{GoesOn, Header, go_on};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Goes on with a stored run that was interrupted, waits or was cancelled.
///
/// What was stored is not asked for again, and nothing is refilled: a run that a limit closed needs a grant.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The run, as `stagekeeper runs` lists it
    run: String,
    /// The store
    #[arg(long, value_name = "DB", default_value = DEFAULT_STORE)]
    store: PathBuf,
    /// Go on under this table, if it judges what happened so far alike
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,
    /// Give a stage more steps, such as `read=3`
    #[arg(long, value_name = "STAGE=N")]
    grant: Vec<Grant>,
    /// Who grants [default: the user's name]
    #[arg(long, value_name = "NAME", requires = "grant")]
    by: Option<String>,
    /// Another model than the run began with; as for `run`
    #[arg(short, long, value_name = "SPEC|ALIAS=SPEC")]
    model: Vec<ModelArg>,
    #[command(flatten)]
    server: Server,
    /// Another folder for the built-in tools
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Answer every question with yes
    #[arg(long, conflicts_with = "no")]
    yes: bool,
    /// Answer every question with no
    #[arg(long)]
    no: bool,
    /// Also write the summary to this file, as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// How to print the answer and the summary
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// `STAGE=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    stage: String,
    steps: u32,
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a stage and a number of steps: `read=3`".to_owned();
        let (stage, steps) = text.split_once('=').ok_or_else(wrong)?;
        let steps = steps.trim().parse().map_err(|_| wrong())?;
        Ok(Self { stage: stage.trim().to_owned(), steps })
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store: Arc<dyn RunStore> = Arc::new(SqliteStore::existing(&args.store).map_err(|e| failed(&e))?);
    // Refusals come before the run is claimed, where they can.
    store.load(&args.run).map_err(|e| failed(&e))?;
    let summary = args.summary.as_deref().map(files::Awaited::open).transpose()?;
    let lease = store.claim(&args.run, &Holder::here(), now_ms()).map_err(|e| failed(&e))?;
    let kept = Kept::new(Arc::clone(&store), lease.clone());
    // Read again: what the former holder wrote until it lost the run.
    let stored = store.load(&args.run).map_err(|e| failed(&e))?;
    end_groups(&stored);
    let table = table(args, &stored)?;
    let GoesOn { mut session, records, asked } =
        go_on(&stored.trace, &table).map_err(|difference| differs(args, &difference, &stored))?;
    let settings = Settings::read(&stored.settings);
    let mut models = models(args, &settings, &table)?;
    let tools = tools(args, &settings, &table)?.groups(Arc::new(StoreGroups(Arc::clone(&kept))));
    grant(args, &mut session)?;
    // Nothing can be refused any more: only now is something written.
    if args.table.is_some() {
        store.rewrite(&lease, &under(&stored.trace.header, &table), &records).map_err(|e| failed(&e))?;
    }
    let mut sink = StoreSink::behind(kept, &stored);
    let granted = session.take_records();
    let unwritten = |e: SinkError| Failure::new(exit::UNREACHABLE, e.to_string());
    granted.iter().try_for_each(|record| sink.write(record)).map_err(unwritten)?;
    for (alias, times) in asked {
        let own = models.by_alias.iter_mut().find(|(known, _)| Some(known) == alias.as_ref());
        own.map_or(&mut models.main, |(_, model)| model).goes_on_behind(times);
    }
    let decided = args.yes.then_some(true).or(args.no.then_some(false));
    let ended = drive(&mut session, models, tools, Box::new(sink), decided, |runner| {
        runner.begun(stored.intents.clone()).unanswered(Unanswered::Pause)
    })?;
    finish(args.format, summary, ended, &Trace::Stored(args.store.clone(), args.run.clone()))
}

/// What tools of a dead run left running is ended before anything is begun again.
fn end_groups(stored: &Stored) {
    let ended = stored.groups.iter().filter(|group| end_group(**group, &stored.trace.header.run)).count();
    if ended > 0 {
        out::say(&format!("ended what the interrupted run left running: {ended}\n"));
    }
}

fn table(args: &Args, stored: &Stored) -> Result<StageTable, Failure> {
    match &args.table {
        Some(path) => files::load_or_say(path),
        None => recorded_table(&stored.trace),
    }
}

fn differs(args: &Args, difference: &crate::trace::Difference, stored: &Stored) -> Failure {
    let shown = shown_difference(difference, stored.trace.records.len());
    let why = if args.table.is_some() {
        "the run cannot go on under the new table, which judges what happened otherwise"
    } else {
        "the run cannot go on: this version of the engine judges what happened otherwise"
    };
    Failure::new(exit::DIFFERS, format!("{why}\n{}", out::visible(shown.trim_end())))
}

/// The header of the run under another table.
fn under(header: &Header, table: &StageTable) -> Header {
    let new = Header::new(table, header.run.as_str(), header.task.as_str());
    Header { table: new.table, table_hash: new.table_hash, workflow: new.workflow, ..header.clone() }
}

/// Gives the grants, with who; a run that has ended and got none says what it needs.
fn grant(args: &Args, session: &mut Session) -> Result<(), Failure> {
    let by = args.by.clone().unwrap_or_else(files::user);
    // The first grant says where a run that has ended goes on; the others widen budgets on its way.
    for Grant { stage, steps } in &args.grant {
        session.grant(stage, *steps, &by).map_err(|e| Failure::usage(format!("`--grant {stage}={steps}`: {e}")))?;
    }
    match session.outcome() {
        Some(outcome) if !outcome.is_pause() => Err(ended(session, outcome)),
        _ => Ok(()),
    }
}

fn ended(session: &Session, outcome: Outcome) -> Failure {
    let code = exit::of_outcome(outcome).max(exit::USAGE);
    let needed = session.grants_needed();
    if needed.is_empty() {
        return Failure::new(code, format!("the run has ended ({outcome}) and cannot go on"));
    }
    let grants: Vec<String> = needed.iter().map(|(stage, steps)| format!("--grant {stage}={steps}")).collect();
    Failure::new(code, format!("the run has ended ({outcome}); to go on it needs `{}`", grants.join(" ")))
}

fn models(args: &Args, settings: &Settings, table: &StageTable) -> Result<super::run::Models, Failure> {
    if !args.model.is_empty() {
        let models = build_models(&args.model, &args.server)?;
        models.fit(table)?;
        return Ok(models);
    }
    let stored: Vec<ModelArg> = settings.model.iter().filter_map(|spec| spec.parse().ok()).collect();
    build_models(&stored, &args.server.or(&settings.server))
}

fn tools(args: &Args, settings: &Settings, table: &StageTable) -> Result<BuiltinTools, Failure> {
    let root = args.root.as_deref().unwrap_or(&settings.root);
    let tools = BuiltinTools::open_without(root, &SqliteStore::files(&args.store))
        .map_err(|e| Failure::usage(format!("the folder `{}` cannot be used: {e}", root.display())))?
        .for_table(table);
    Ok(match &settings.outbox {
        Some(folder) => tools.outbox(folder),
        None => tools,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_a_stage_and_a_number_of_steps() {
        assert_eq!("read=3".parse(), Ok(Grant { stage: "read".to_owned(), steps: 3 }));
        for wrong in ["read", "read=", "read=-1", "read=x"] {
            assert!(wrong.parse::<Grant>().is_err(), "{wrong}");
        }
    }
}
