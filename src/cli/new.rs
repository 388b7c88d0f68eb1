//! `stagekeeper new`: a commented table and a scenario to start from, or both from a recorded run.

use super::draw::read_trace;
use super::failure::Failure;
use super::replay::recorded_table;
use super::{exit, files, out, recordings};
use crate::audit::{Reader, Recording, Turn};
use crate::engine::roster::ADVANCE;
use crate::table::StageTable;
use crate::testing::{Scenario, first_difference, first_table, first_table_of, scenario_of};
use crate::trace::Trace;
use indexmap::IndexSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("new/table.yaml");
const SCENARIO: &str = include_str!("new/scenario.yaml");
/// Stands for the name in both.
const PLACEHOLDER: &str = "NAME";
/// Longest name, in characters.
const LONGEST: usize = 64;

/// Writes stages/NAME.yaml and tests/scenarios/NAME.yaml to start from.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The workflow's name: small letters, digits, `_` and `-`
    name: String,
    /// Take the run of this trace: writes a scenario that plays the same, and its table
    #[arg(long, value_name = "TRACE")]
    from: Option<PathBuf>,
    /// With --from: write a first table instead, with stages by the tools used and budgets by what was spent; any recording
    /// that `audit` reads will do
    #[arg(long, requires = "from")]
    table: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let name = args.name.as_str();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) || name.len() > LONGEST {
        return Err(Failure::usage(format!(
            "`{}` cannot be a name; use a small letter, then small letters, digits, `_` and `-`, at most {LONGEST}",
            out::visible(name)
        )));
    }
    let files = match &args.from {
        None => blank(name)?,
        Some(run) if args.table => match read_trace(run) {
            Ok(trace) => table_from(&trace, name)?,
            Err(why) => table_from_recording(run, name, why)?,
        },
        Some(trace) => scenario_from(&read_trace(trace)?, name)?,
    };
    files::write_new(&files)?;
    out::data(&files.iter().map(|(path, _)| format!("{}\n", path.display())).collect::<String>())?;
    let verb = |path: &Path| if path.starts_with("tests") { "test" } else { "check" };
    let next = files.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "yaml"));
    let next: String = next.map(|(path, _)| format!("  stagekeeper {} {}\n", verb(path), path.display())).collect();
    out::say(&format!("next: edit them, then\n{next}"));
    Ok(exit::OK)
}

type Files = Vec<(PathBuf, String)>;

fn stage_file(name: &str) -> PathBuf {
    PathBuf::from("stages").join(format!("{name}.yaml"))
}

fn scenario_file(name: &str) -> PathBuf {
    PathBuf::from("tests").join("scenarios").join(format!("{name}.yaml"))
}

fn blank(name: &str) -> Result<Files, Failure> {
    let table = TABLE.replace(PLACEHOLDER, name);
    StageTable::parse(&table).map_err(|e| Failure::usage(format!("`{name}` cannot be a name: {e}")))?;
    Ok(vec![(stage_file(name), table), (scenario_file(name), SCENARIO.replace(PLACEHOLDER, name))])
}

fn table_from(trace: &Trace, name: &str) -> Result<Files, Failure> {
    checked(name, first_table(trace, name, recorded_table(trace).ok().as_ref()))
}

/// A first table from the first run of a recording that succeeded, else from the first one; `why` it is no trace of ours
/// is said when it is no recording either.
fn table_from_recording(path: &Path, name: &str, why: Failure) -> Result<Files, Failure> {
    let recordings::Opened { file, input, .. } = recordings::open(path)?;
    let mut first: Option<Recording> = None;
    for unit in Reader::new(&file, BufReader::new(input)).into_iter().flatten() {
        let Ok(run) = unit.open(&file) else { continue };
        if run.calls() == 0 {
            continue;
        }
        if run.success == Some(true) {
            first = Some(run);
            break;
        }
        first.get_or_insert(run);
    }
    let run = first.ok_or(why)?;
    let tools = |turn: &Turn| turn.calls.iter().map(|call| call.tool.clone()).filter(|tool| tool != ADVANCE).collect();
    let steps: Vec<IndexSet<String>> = run.turns.iter().map(tools).collect();
    checked(name, first_table_of(&run.id, &steps, name, None))
}

/// What was made is checked before it is written.
fn checked(name: &str, table: String) -> Result<Files, Failure> {
    StageTable::parse(&table).map_err(|e| Failure::unexpected(format!("no table can be made of this run: {e}")))?;
    Ok(vec![(stage_file(name), table)])
}

/// The scenario and, unless it stands where it stood, the recorded table with the files it includes.
fn scenario_from(trace: &Trace, name: &str) -> Result<Files, Failure> {
    let table = recorded_table(trace)?;
    let recorded = &trace.header.table;
    let stands = Path::new(&recorded.file).is_relative()
        && files::load(Path::new(&recorded.file)).is_ok_and(|now| now.source == table.source);
    let (path, mut files) = if stands {
        (format!("../../{}", recorded.file), Files::new())
    } else {
        let included = recorded.included.iter().map(|(file, text)| (Path::new("stages").join(file), text.clone()));
        (format!("../../stages/{name}.yaml"), included.chain([(stage_file(name), recorded.text.clone())]).collect())
    };
    let sentence = format!("what run {} did", trace.header.run);
    let text = scenario_of(trace, &table, &sentence, &path);
    say_if_other(trace, &table, &text)?;
    files.push((scenario_file(name), text));
    Ok(files)
}

/// Plays the scenario once; where it cannot play the same, that is said.
fn say_if_other(trace: &Trace, table: &StageTable, text: &str) -> Result<(), Failure> {
    let scenario = Scenario::parse(text, "scenario")
        .map_err(|e| Failure::unexpected(format!("no scenario can be made of this run: {e}")))?;
    let played = scenario.play(table).map_err(|e| Failure::unexpected(e.to_string()))?;
    if let Some((n, ..)) = first_difference(trace, &played.records) {
        out::say(&format!(
            "note: from event {n} on the scenario plays otherwise than the run went; a scenario holds no token counts, no grants, no \
             tools beside the table's, and no texts of time-outs\n"
        ));
    }
    Ok(())
}
