//! `stagekeeper audit`: plays recorded runs of any agent through a table and scores what it would have done.

use super::failure::Failure;
use super::out::Format;
use super::recordings::{self, Opened, STDIN};
use super::{exit, files, out};
use crate::audit::{By, Counts, Fate, Played, Reader, Recording, Source, Unread, play_and_record, score};
use crate::audit::{LEGEND, json_line, suggest, text_table};
use crate::engine::session::Record;
use crate::engine::verdict::Check;
use crate::render::story::story;
use crate::table::StageTable;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{BufRead, BufReader, IsTerminal as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes read at once.
const BUFFER: usize = 256 * 1024;
/// How often the progress bar is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Plays recorded runs through a table and prints, per group, what its guards would have cut and withheld.
///
/// A recording may be in the neutral format of `docs/reference/recordings.md`, a trace of ours, a list of OpenAI or
/// Anthropic messages, or a transcript of Claude Code, plain or gzip; or a store of runs. The format is seen from the file.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The stage table, such as `stages/observe.yaml`
    table: PathBuf,
    /// Files of recorded runs, or stores of `run --store`; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What runs are grouped by
    #[arg(long, value_enum, default_value_t = Grouping::File)]
    by: Grouping,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Shows one run as a story instead: its id, or `FILE:LINE`
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// Shows instead what the runs suggest: loops, missing exits, budgets, and lines for the table
    #[arg(long, conflicts_with_all = ["explain", "by"])]
    suggest: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Grouping {
    /// The file a run stands in
    File,
    /// Where it was recorded
    Source,
    /// The model
    Model,
}

impl From<Grouping> for By {
    fn from(grouping: Grouping) -> Self {
        match grouping {
            Grouping::File => Self::File,
            Grouping::Source => Self::Source,
            Grouping::Model => Self::Model,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let table = files::load_or_say(&args.table)?;
    if args.suggest {
        return suggest(args, &table);
    }
    if let Some(id) = &args.explain {
        let found = reading(args, |sources| explain(&table, sources, id, args.format))?;
        return out::data(&found?).map(|()| exit::OK);
    }
    let scores = reading(args, |sources| score(&table, sources, args.by.into(), workers()))?;
    say_unread(&scores.unread, scores.unread_in_all);
    if scores.groups.is_empty() {
        return Err(none_read());
    }
    out::data(&printed(&scores.groups, args.format))?;
    Ok(exit::OK)
}

/// Reads the files twice: to measure, and to weigh what follows.
fn suggest(args: &Args, table: &StageTable) -> Result<u8, Failure> {
    if args.files.iter().any(|file| file == Path::new(STDIN)) {
        return Err(Failure::usage("`--suggest` reads its files twice; write standard input to a file first"));
    }
    let gathered = reading(args, |sources| suggest::gather(table, sources, workers()))?;
    say_unread(&gathered.unread, gathered.unread_in_all);
    if gathered.runs() == 0 {
        return Err(none_read());
    }
    let draft = suggest::draft(table, gathered);
    let made = reading(args, |sources| suggest::weigh(table, draft, sources, workers()))?;
    out::data(&match args.format {
        Format::Text => out::visible(&suggest::suggestions_text(&made)),
        Format::Json => suggest::suggestions_json(&made),
    })?;
    Ok(exit::OK)
}

fn none_read() -> Failure {
    Failure::unexpected("no run could be read")
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Opens all files, then reads them with a progress bar.
fn reading<T>(args: &Args, read: impl FnOnce(&mut dyn Iterator<Item = Source<'static>>) -> T) -> Result<T, Failure> {
    let opened = args.files.iter().map(|path| recordings::open(path)).collect::<Result<Vec<_>, _>>()?;
    let progress = progress(opened.iter().map(|file| file.bytes).sum());
    let bar = progress.clone();
    let mut sources = opened.into_iter().map(move |Opened { file, input, .. }| {
        let input = BufReader::with_capacity(BUFFER, bar.wrap_read(input));
        Source { file, input: Box::new(input) as Box<dyn BufRead> }
    });
    let done = read(&mut sources);
    progress.finish_and_clear();
    Ok(done)
}

/// A bar on a terminal, nothing elsewhere.
fn progress(bytes: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {bytes} of {total_bytes}, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

fn printed(groups: &[(String, Counts)], format: Format) -> String {
    match format {
        Format::Text => text_table(groups) + LEGEND,
        Format::Json => groups.iter().map(|(group, counts)| json_line(group, counts) + "\n").collect(),
    }
}

fn say_unread(unread: &[(String, Unread)], in_all: u64) {
    for (file, unread) in unread {
        out::say(&format!("{file}:{}: {}\n", unread.line, out::visible(&unread.why)));
    }
    let shown = unread.len() as u64;
    if in_all > shown {
        out::say(&format!("and {} more\n", in_all - shown));
    }
    if shown > 0 {
        out::say(&format!("not read, or not in full: {in_all}\n"));
    }
}

fn explain<'a>(
    table: &StageTable,
    sources: impl Iterator<Item = Source<'a>>,
    id: &str,
    format: Format,
) -> Result<String, Failure> {
    for Source { file, input } in sources {
        let Ok(reader) = Reader::new(&file, input) else { continue };
        for unit in reader {
            let Ok(run) = unit.open(&file) else { continue };
            if run.id == id || id == format!("{file}:{}", run.line) {
                let (played, records) =
                    play_and_record(table, &run).map_err(|why| Failure::unexpected(why.to_string()))?;
                return Ok(match format {
                    Format::Text => told(&file, &run, &played, &records),
                    Format::Json => fates(&run, &played),
                });
            }
        }
    }
    Err(Failure::usage(format!("no run has the id `{id}`; ids stand in the recordings, or use FILE:LINE")))
}

/// The run as a story, with what the recording says around it.
fn told(file: &str, run: &Recording, played: &Played, records: &[Record]) -> String {
    let success = match run.success {
        Some(true) => "succeeded",
        Some(false) => "failed",
        None => "has no success label",
    };
    let model = if run.model.is_empty() { "an unnamed model" } else { &run.model };
    let closed = |fate: &&Fate| matches!(fate, Fate::After | Fate::Refused(Check::Ended));
    let after = played.fates.iter().filter(closed).count();
    let mut text = format!("{} ({file}:{}), {model}, {success}\n\n{}\n", run.id, run.line, story(records));
    text.push_str(&format!("{} of {} recorded calls would not have run", played.withheld(), played.fates.len()));
    if after > 0 {
        text.push_str(&format!(", {after} of them because the run would have been closed"));
    }
    text.push_str(&format!("; results not seen before: {}\n", played.new_withheld));
    out::visible(&text)
}

/// One JSON object a call.
fn fates(run: &Recording, played: &Played) -> String {
    let mut text = String::new();
    let calls = run.turns.iter().enumerate().flat_map(|(at, turn)| turn.calls.iter().map(move |call| (at + 1, call)));
    for ((reply, call), fate) in calls.zip(&played.fates) {
        let check = if let Fate::Refused(check) = fate { Some(check.as_str()) } else { None };
        let line = serde_json::json!({
            "run": run.id, "reply": reply, "tool": call.tool, "arguments": call.arguments, "fate": fate.as_str(), "check": check,
        });
        text.push_str(&format!("{line}\n"));
    }
    text
}
