//! Where records go: a file, memory, nowhere.

use super::id::now_ms;
use super::model::{SinkError, TraceSink};
use crate::engine::session::Record;
use crate::trace::{Header, write_header, write_record};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The folder of traces, below the working folder.
pub const TRACE_FOLDER: &str = ".stagekeeper";

/// Keeps a trace in a file: one write for each record, so that a killed run loses half a line at most.
#[derive(Debug)]
pub struct FileSink {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
    n: u64,
    started: Instant,
}

impl FileSink {
    /// Begins `folder/RUN.jsonl`, making the folder where it is missing. A file that is there is never overwritten.
    ///
    /// # Errors
    /// When the folder cannot be written, the run's id is no file name, or a trace of that run exists.
    pub fn create(folder: impl AsRef<Path>, header: &Header) -> Result<Self, SinkError> {
        let folder = folder.as_ref();
        let name = &header.run;
        if name.is_empty() || name.starts_with('.') || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
            return Err(SinkError(format!("`{name}` cannot name a trace; use letters, digits, `-` and `_`")));
        }
        let path = folder.join(format!("{name}.jsonl"));
        let failed = |e: io::Error| not_written(&path, &e);
        make_folder(folder).map_err(failed)?;
        let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(failed)?;
        let mut sink = Self { path, file, line: Vec::new(), n: 0, started: Instant::now() };
        let mut header = header.clone();
        if header.started_ms == 0 {
            header.started_ms = now_ms();
        }
        write_header(&mut sink.line, &header).map_err(|e| SinkError(e.to_string()))?;
        sink.put()?;
        Ok(sink)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self) -> Result<(), SinkError> {
        self.file.write_all(&self.line).map_err(|e| not_written(&self.path, &e))
    }
}

impl TraceSink for FileSink {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        write_record(&mut self.line, self.n + 1, at_ms, record).map_err(|e| SinkError(e.to_string()))?;
        self.put()?;
        self.n += 1;
        Ok(())
    }
}

/// Makes the folder, and on making it tells git to leave it alone.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if folder.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("`{}` is no folder", folder.display())));
    }
    std::fs::create_dir_all(folder)?;
    OpenOptions::new().write(true).create_new(true).open(folder.join(".gitignore"))?.write_all(b"*\n")
}

fn not_written(path: &Path, e: &io::Error) -> SinkError {
    let help = match e.kind() {
        io::ErrorKind::NotADirectory => "move that file away, or go on with `--no-trace`",
        io::ErrorKind::AlreadyExists => "a trace of that run exists and is never overwritten",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or go on with `--no-trace`",
        _ => "work in a folder that can be written, or go on with `--no-trace`",
    };
    SinkError(format!("cannot write the trace `{}`: {e}; {help}", path.display()))
}

/// Keeps records in memory; a clone sees the same ones.
#[derive(Clone, Debug, Default)]
pub struct MemorySink(Arc<Mutex<Vec<Record>>>);

impl MemorySink {
    /// Nothing kept yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was kept so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TraceSink for MemorySink {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        Ok(())
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl TraceSink for NoSink {
    fn write(&mut self, _: &Record) -> Result<(), SinkError> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::engine::input::Input;

    #[test]
    fn a_full_disk_is_a_clear_error() {
        // The device made for this: every write to it finds no room.
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let mut sink = FileSink { path, file, line: Vec::new(), n: 0, started: Instant::now() };
        let error = sink.write(&Record { input: Input::Cancel, events: Vec::new() }).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the trace `/dev/full`: No space left on device"), "{error}");
        assert!(error.ends_with("make room, or go on with `--no-trace`"), "{error}");
    }
}
