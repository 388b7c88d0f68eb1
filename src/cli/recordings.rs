//! Recorded runs to be read: files, standard input, or the runs of a store.

use super::failure::Failure;
use super::{files, runs};
use crate::store::{RunStore as _, SqliteStore};
use std::collections::VecDeque;
use std::io::{Cursor, Read};
use std::path::Path;

/// The name that stands for standard input.
pub(super) const STDIN: &str = "-";
/// How every SQLite file begins.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Something to read runs from.
pub(super) struct Opened {
    /// Its name, as it was given.
    pub file: String,
    /// How long it is; 0 when that is not known.
    pub bytes: u64,
    pub input: Box<dyn Read>,
}

/// Opens a file, standard input, or a store.
///
/// # Errors
/// When it is not there, or is an SQLite file that is no store.
pub(super) fn open(path: &Path) -> Result<Opened, Failure> {
    let file = path.display().to_string();
    if file == STDIN {
        return Ok(Opened { file, bytes: 0, input: Box::new(std::io::stdin().lock()) });
    }
    let mut input = files::open(path)?;
    let mut first = Vec::new();
    let looked = (&mut input).take(SQLITE.len() as u64).read_to_end(&mut first);
    looked.map_err(|e| Failure::usage(format!("`{file}` cannot be read: {e}")))?;
    if first == SQLITE {
        return Ok(Opened { file, bytes: 0, input: Box::new(StoreLines::open(path)?) });
    }
    let bytes = input.metadata().map_or(0, |meta| meta.len());
    // A pipe cannot be read twice.
    Ok(Opened { file, bytes, input: Box::new(Cursor::new(first).chain(input)) })
}

/// The runs of a store as traces, one after another, one in memory at a time.
struct StoreLines {
    store: SqliteStore,
    /// Those not read yet, the oldest first.
    ids: VecDeque<String>,
    under_way: Cursor<String>,
}

impl StoreLines {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e| runs::failed(&e);
        let store = SqliteStore::existing(path).map_err(failed)?;
        let ids = store.runs().map_err(failed)?.into_iter().rev().map(|run| run.run).collect();
        Ok(Self { store, ids, under_way: Cursor::default() })
    }
}

impl Read for StoreLines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.under_way.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(id) = self.ids.pop_front() else { return Ok(0) };
            let trace = runs::export(&self.store, &id).map_err(|failure| std::io::Error::other(failure.message))?;
            self.under_way = Cursor::new(trace);
        }
    }
}
