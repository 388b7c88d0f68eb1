//! Files, read and written with bounds and clear words.

use super::exit;
use super::failure::Failure;
use crate::table::messages::MESSAGES;
use crate::table::{Problem, StageTable, TableError, limits};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Why a table cannot be used.
pub(super) enum Unloaded {
    /// Its file cannot be read.
    Unreadable(Failure),
    /// It has errors; the texts for showing them.
    Wrong { error: TableError, texts: Texts },
}

/// The texts of a table and the files it includes, by the names they have in problems.
#[derive(Default)]
pub(super) struct Texts(HashMap<String, String>);

impl Texts {
    /// The texts a loaded table was made of.
    pub(super) fn of(table: &StageTable) -> Self {
        let source = &table.source;
        let own = (source.file.clone(), source.text.clone());
        let included = source.included.iter().map(|(name, text)| (name.clone(), text.clone()));
        Self(included.chain([own]).collect())
    }

    /// Problems with the lines they speak of, for a terminal.
    pub(super) fn show(&self, problems: &[Problem]) -> String {
        let source = |file: &str| self.0.get(file).map(String::as_str);
        crate::render::problems::text(problems, source, super::out::stderr_has_colour())
    }
}

/// The name of the user, for what a person decides.
pub(super) fn user() -> String {
    ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "somebody".to_owned())
}

/// Whether SIGHUP is ignored, as under `nohup`: then a run outlives its terminal. Known on Linux only.
pub(super) fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // A bit for each signal from 1 on, and SIGHUP is 1.
    ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 1 == 1)
}

/// Opens a file for reading.
///
/// # Errors
/// With exit code 2 when it is not there, a folder, forbidden, or a pipe or device, which could be waited for for ever.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let wrong = match path.metadata() {
        Ok(what) if what.is_dir() => Some("is a folder, not a file"),
        Ok(what) if !what.is_file() => {
            Some("is no regular file but a pipe or a device; write its content to a file first")
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(Failure::usage(format!("`{}` {wrong}", path.display())));
    }
    File::open(path).map_err(|e| {
        Failure::usage(match e.kind() {
            ErrorKind::NotFound => format!("there is no file `{}`", path.display()),
            ErrorKind::PermissionDenied => format!("`{}` may not be read by this user", path.display()),
            _ => format!("`{}` cannot be read: {e}", path.display()),
        })
    })
}

/// Reads at most one byte more than a table may have, so that the loader can say that it is too large.
fn bytes_of_table(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?
        .take(limits::FILE_SIZE as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::usage(format!("`{}` cannot be read: {e}", path.display())))?;
    Ok(bytes)
}

/// Loads a table with the files it includes.
pub(super) fn load(path: &Path) -> Result<StageTable, Unloaded> {
    let bytes = bytes_of_table(path).map_err(Unloaded::Unreadable)?;
    let file = path.display().to_string();
    let mut texts = Texts::default();
    let mut include = |name: &str| {
        let text = included(path, name)?;
        texts.0.insert(name.to_owned(), text.clone());
        Ok(text)
    };
    StageTable::parse_bytes(&file, &bytes, &mut include).map_err(|error| {
        texts.0.insert(file, String::from_utf8_lossy(&bytes).into_owned());
        Unloaded::Wrong { error, texts }
    })
}

/// Checks a file of messages (`messages: { from: FILE }`) by itself; `None` when it is none, or cannot be read.
pub(super) fn message_set(path: &Path) -> Option<Result<StageTable, Unloaded>> {
    let bytes = bytes_of_table(path).ok().filter(|b| b.len() <= limits::FILE_SIZE)?;
    let text = String::from_utf8(bytes).ok()?;
    let keys = || text.lines().filter_map(|l| l.split_once(':')).map(|(key, _)| key);
    let named = |key: &str| MESSAGES.iter().any(|m| m.name == key);
    if keys().any(|key| key == "stagekeeper" || key == "stages") || !keys().any(named) {
        return None;
    }
    let name = path.file_name()?.to_str()?.to_owned();
    // The smallest table that uses the set: it is checked as every table's texts are.
    let table = format!(
        "stagekeeper: 1\nworkflow: messages\nmessages: {{ from: {} }}\nstages: {{ s: {{ goal: g, allowed_tools: [], max_steps: 1 }} }}\n",
        serde_json::to_string(&name).ok()?
    );
    let file = path.display().to_string();
    Some(StageTable::parse_with(&file, &table, &mut |_| Ok(text.clone())).map_err(|mut error| {
        error.problems.iter_mut().for_each(|p| p.file.clone_from(&file));
        Unloaded::Wrong { error, texts: Texts(HashMap::from([(file.clone(), text.clone())])) }
    }))
}

/// Loads a table for a verb that needs one: problems are shown on stderr.
///
/// # Errors
/// With exit code 2 when the file cannot be read, 3 when the table has errors.
pub(super) fn load_or_say(path: &Path) -> Result<StageTable, Failure> {
    load(path).map_err(|why| match why {
        Unloaded::Unreadable(failure) => failure,
        Unloaded::Wrong { error, texts } => {
            super::out::say(&texts.show(&error.problems));
            Failure::said(exit::TABLE)
        }
    })
}

/// Reads a file that a table includes: within the table's folder, wherever links lead.
pub(super) fn included(table: &Path, name: &str) -> Result<String, String> {
    let folder = match table.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|e| e.to_string())?;
    let path = folder.join(name).canonicalize().map_err(|e| match e.kind() {
        ErrorKind::NotFound => "there is no such file in the table's folder".to_owned(),
        _ => e.to_string(),
    })?;
    if !path.starts_with(&folder) {
        return Err("a link leads out of the table's folder".to_owned());
    }
    let bytes = bytes_of_table(&path).map_err(|failure| failure.message)?;
    if bytes.len() > limits::FILE_SIZE {
        return Err(format!("it is too large; the most is {} bytes", limits::FILE_SIZE));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Writes a whole file, replacing what was there.
///
/// # Errors
/// With exit code 2 when it cannot be opened, 1 when it cannot be filled.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Awaited::open(path)?.fill(text)
}

/// A file that is opened before its content is known, so that a wrong path is told before anything is spent.
pub(super) struct Awaited {
    path: PathBuf,
    file: File,
}

impl Awaited {
    /// Opens or makes the file; what it holds stays until it is filled.
    ///
    /// # Errors
    /// With exit code 2 when that cannot be done.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|e| Failure::usage(not_written(path, &e)))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces what the file holds.
    ///
    /// # Errors
    /// With exit code 1 when it cannot be written: the path was right, so the disk is not.
    pub(super) fn fill(mut self, text: &str) -> Result<(), Failure> {
        let regular = self.file.metadata().is_ok_and(|what| what.is_file());
        let emptied = if regular { self.file.set_len(0) } else { Ok(()) };
        emptied
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .map_err(|e| Failure::unexpected(not_written(&self.path, &e)))
    }
}

fn not_written(path: &Path, e: &std::io::Error) -> String {
    format!("`{}` cannot be written: {e}", path.display())
}

/// Writes a whole file and makes the folders it needs.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_with_folders(path: &Path, text: &str) -> Result<(), Failure> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|e| Failure::usage(not_written(path, &e)))?;
    write(path, text)
}

/// Writes new files with the folders they need, none of them over one that is there.
///
/// # Errors
/// When one of them exists already (then nothing is written) or cannot be written.
pub(super) fn write_new(files: &[(PathBuf, String)]) -> Result<(), Failure> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(Failure::usage(format!("`{}` is there already; nothing was written", path.display())));
    }
    for (path, text) in files {
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| Failure::usage(not_written(path, &e)))?;
    }
    Ok(())
}
