//! `stagekeeper test`: plays scenario files and compares their stories with the stored ones.

use super::failure::Failure;
use super::files::{self, Unloaded};
use super::{exit, out};
use crate::table::{StageTable, limits};
use crate::testing::report::{self, TestResult, Tested, Verdict};
use crate::testing::{Played, Scenario, TableSource, snapshot};
use indexmap::IndexMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Deepest folder that is searched.
const MAX_DEPTH: usize = 32;
/// Most scenario files of one call.
const MAX_FILES: usize = 50_000;
/// Largest snapshot file, in bytes.
const MAX_SNAPSHOT: u64 = 64 * 1024 * 1024;
/// Where snapshots stand, in a folder at or above the scenario's.
const SNAPSHOTS: &str = "snapshots/runs";

/// Plays scenario files and compares their stories with the stored ones.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Scenario files, or folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Folder of the snapshots, or `none` to check the expectations alone [default: the nearest `snapshots/runs`]
    #[arg(long, value_name = "DIR|none")]
    snapshots: Option<PathBuf>,
    /// Write the snapshots that are new or differ
    #[arg(long)]
    update: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// For people
    Text,
    /// One object a line for each scenario
    Json,
    /// JUnit's XML
    Junit,
    /// Annotations for GitHub Actions
    Github,
}

/// # Errors
/// When a path is not there, holds no scenario, or a snapshot cannot be written.
pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let found = find(&args.paths)?;
    let mut tested = Vec::with_capacity(found.len());
    let mut stored_at: IndexMap<PathBuf, PathBuf> = IndexMap::new();
    for path in &found {
        let snapshot = snapshot_of(path, args.snapshots.as_deref());
        if let Some(snapshot) = &snapshot
            && let Some(other) = stored_at.insert(snapshot.clone(), path.clone())
        {
            let (one, two) = (other.display(), path.display());
            return Err(Failure::usage(format!("`{one}` and `{two}` would share one snapshot: rename one of them")));
        }
        tested.push(test(path, snapshot.as_deref(), args.update)?);
    }
    out::data(&match args.format {
        Format::Text => report::text(&tested),
        Format::Json => report::json(&tested),
        Format::Junit => report::junit(&tested),
        Format::Github => report::github(&tested),
    })?;
    Ok(code(&tested))
}

/// The highest code of any scenario.
fn code(tested: &[Tested]) -> u8 {
    let codes = tested.iter().map(|one| match one.verdict() {
        Verdict::Pass => exit::OK,
        Verdict::Invalid => exit::TABLE,
        Verdict::Differs => exit::DIFFERS,
    });
    codes.max().unwrap_or(exit::OK)
}

fn test(path: &Path, snapshot: Option<&Path>, update: bool) -> Result<Tested, Failure> {
    let file = path.display().to_string();
    let (scenario, played) = match play(path, &file) {
        Ok(played) => played,
        Err(result) => {
            let scenario = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            return Ok(Tested { file, scenario, result });
        }
    };
    let stored = match snapshot {
        Some(at) if at.exists() => Some(read(at, MAX_SNAPSHOT)?),
        _ => None,
    };
    let mut tested = Tested::played(&scenario, &played, snapshot.map(|_| stored.as_deref()));
    if let Some(at) = snapshot.filter(|_| update)
        && snapshot::compare(stored.as_deref(), &played.story()) != snapshot::State::Same
    {
        let text = snapshot::file(stored.as_deref(), &file, &played.story());
        files::write_with_folders(at, &text)?;
        tested.was_written();
    }
    Ok(tested)
}

fn play(path: &Path, file: &str) -> Result<(Scenario, Played), TestResult> {
    let text = read(path, limits::FILE_SIZE as u64 + 1).map_err(|f| TestResult::Unusable(f.message))?;
    let scenario = Scenario::parse(&text, file).map_err(TestResult::Invalid)?;
    let table = match scenario.table() {
        TableSource::Inline(text) => {
            StageTable::parse_with(file, text, &mut |name| files::included(path, name)).map_err(TestResult::Invalid)?
        }
        TableSource::Path(to) => {
            let to = path.parent().unwrap_or(Path::new("")).join(to);
            files::load(&to).map_err(|why| match why {
                Unloaded::Wrong { error, .. } => TestResult::Invalid(error),
                Unloaded::Unreadable(failure) => TestResult::Invalid(scenario.problem(failure.message)),
            })?
        }
    };
    let played = scenario.play(&table).map_err(|e| TestResult::Invalid(scenario.problem(e.to_string())))?;
    Ok((scenario, played))
}

fn read(path: &Path, most: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let unreadable = |e: std::io::Error| Failure::usage(format!("`{}` cannot be read: {e}", path.display()));
    files::open(path)?.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("`{}` is not UTF-8 text", path.display())))
}

/// Where the snapshot of a scenario stands; `None` when snapshots are not wanted.
fn snapshot_of(scenario: &Path, wanted: Option<&Path>) -> Option<PathBuf> {
    let folder = match wanted {
        Some(word) if word == Path::new("none") => return None,
        Some(folder) => folder.to_owned(),
        None => nearest(scenario).unwrap_or_else(|| PathBuf::from(SNAPSHOTS)),
    };
    let mut name = scenario.file_stem().unwrap_or_default().to_owned();
    name.push(".snap");
    Some(folder.join(name))
}

/// `snapshots/runs` in the scenario's folder or one above it.
fn nearest(scenario: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(scenario).ok()?;
    absolute.ancestors().skip(1).take(MAX_DEPTH).map(|folder| folder.join(SNAPSHOTS)).find(|folder| folder.is_dir())
}

/// The scenario files that the paths name, in the order of the paths, each folder sorted.
fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut passed_over = 0_usize;
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            search(path, 0, &mut found, &mut passed_over)?;
            if found.len() == before {
                return Err(Failure::usage(format!("there is no scenario in `{}`", path.display())));
            }
        } else {
            files::open(path)?;
            found.push(path.clone());
        }
    }
    if passed_over > 0 {
        out::say(&format!("{passed_over} YAML files without `scenario:` are passed over\n"));
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Ok(found)
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, passed_over: &mut usize) -> Result<(), Failure> {
    let unreadable = |e: std::io::Error| Failure::usage(format!("`{}` cannot be read: {e}", folder.display()));
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(unreadable)?.take(MAX_FILES).collect();
    let mut entries = entries.map_err(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links to folders are not followed, so that no ring can be walked.
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        if hidden || found.len() >= MAX_FILES {
            continue;
        }
        if is_folder && depth < MAX_DEPTH {
            search(&path, depth + 1, found, passed_over)?;
        } else if !is_folder && path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            if read(&path, limits::FILE_SIZE as u64).is_ok_and(|text| !names_a_scenario(&text)) {
                *passed_over += 1;
            } else {
                found.push(path);
            }
        }
    }
    Ok(())
}

/// Whether a file in a searched folder means to be a scenario; tables and other YAML may stand beside.
fn names_a_scenario(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['\u{feff}', '{', ' ']).trim_start_matches(['"', '\'']);
        line.strip_prefix("scenario").is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    })
}
