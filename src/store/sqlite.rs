//! A store in one SQLite file: WAL, every acknowledged record on the disk, one transaction each.

use super::{Entry, Group, Holder, LEASE_MS, Lease, RunState, RunStore, StoreError, Stored, StoredRun, binds};
use crate::engine::input::CallNo;
use crate::engine::outcome::Outcome;
use crate::engine::session::Record;
use crate::trace::{Header, Stamped, Trace};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// `SKRS`: what the file is, in its header.
const APPLICATION: i64 = 0x534B_5253;
/// The format that this version writes, and the newest it reads.
const FORMAT: i64 = 1;
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(10);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(10);

const TABLES: &str = "
CREATE TABLE runs (
  run TEXT PRIMARY KEY, workflow TEXT NOT NULL, header TEXT NOT NULL, settings TEXT NOT NULL,
  outcome TEXT, stage TEXT NOT NULL, steps INTEGER NOT NULL, ceiling INTEGER NOT NULL, near_limit INTEGER NOT NULL,
  started_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, records INTEGER NOT NULL,
  fence INTEGER NOT NULL, holder TEXT NOT NULL, until_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE records (
  run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, n INTEGER NOT NULL, at_ms INTEGER NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE intents (
  run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, call INTEGER NOT NULL, PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;
CREATE TABLE groups (
  run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, id INTEGER NOT NULL, started INTEGER NOT NULL,
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
";

/// Keeps runs in a file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
    file: String,
}

impl SqliteStore {
    /// Opens a store, making the file where it is missing.
    ///
    /// # Errors
    /// When the file is something else, of a newer format, or cannot be written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = path.as_ref().display().to_string();
        let connection = Connection::open(&path).map_err(|e| said(&e, &file))?;
        let store = Self { connection: Mutex::new(connection), file };
        store.prepare()?;
        Ok(store)
    }

    /// The files that a store at `path` consists of while it is open.
    #[must_use]
    pub fn files(path: &Path) -> Vec<PathBuf> {
        let beside = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        ["", "-wal", "-shm", "-journal"].map(beside).into()
    }

    /// Opens a store that is there.
    ///
    /// # Errors
    /// As [`SqliteStore::open`], and when there is no file.
    pub fn existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        if !path.as_ref().exists() {
            return Err(StoreError::Other(format!("there is no file `{}`", path.as_ref().display())));
        }
        Self::open(path)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn said(&self, e: &rusqlite::Error) -> StoreError {
        said(e, &self.file)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let mut connection = self.connection();
        connection.busy_timeout(BUSY).map_err(|e| self.said(&e))?;
        let set = |name: &str, value: &str| connection.pragma_update(None, name, value).map_err(|e| self.said(&e));
        set("synchronous", "FULL")?;
        set("foreign_keys", "ON")?;
        // In one transaction: another process may be making the tables.
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| self.said(&e))?;
        self.check(&tx)?;
        if number(&tx, "user_version").map_err(|e| self.said(&e))? == 0 {
            tx.execute_batch(TABLES).map_err(|e| self.said(&e))?;
            tx.pragma_update(None, "application_id", APPLICATION).map_err(|e| self.said(&e))?;
            tx.pragma_update(None, "user_version", FORMAT).map_err(|e| self.said(&e))?;
        }
        tx.commit().map_err(|e| self.said(&e))?;
        write_ahead(&connection).map_err(|e| self.said(&e))
    }

    /// Looks at a file before anything is written to it.
    fn check(&self, connection: &Connection) -> Result<(), StoreError> {
        let ask = |name: &str| number(connection, name).map_err(|e| self.said(&e));
        let (application, format) = (ask("application_id")?, ask("user_version")?);
        let objects: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|e| self.said(&e))?;
        if application != APPLICATION && (objects > 0 || application != 0 || format != 0) {
            return Err(StoreError::NotAStore(self.file.clone()));
        }
        if format > FORMAT {
            return Err(StoreError::Newer { file: self.file.clone(), found: format, known: FORMAT });
        }
        Ok(())
    }

    /// Does work in one transaction that takes the file for writing at once, and is gone as a whole when it fails.
    fn change<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop>) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| self.said(&e))?;
        let done = work(&tx).map_err(|stop| match stop {
            Stop::Told(error) => error,
            Stop::Sqlite(e) => self.said(&e),
        })?;
        tx.commit().map_err(|e| self.said(&e))?;
        Ok(done)
    }

    /// Brings everything into the one file, so that a copy of it is whole. Another reader may keep it from that.
    fn checkpoint(&self) {
        let _ = self.connection().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// SQLite's own look at the file; `ok` when it is whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn integrity(&self) -> Result<String, StoreError> {
        self.connection().query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(|e| self.said(&e))
    }

    /// Lets the file grow to `pages` pages at most.
    ///
    /// # Errors
    /// When it cannot be set.
    pub fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.connection()
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .map_err(|e| self.said(&e))
    }
}

/// Turns the write-ahead log on. SQLite does not wait here while others open the same new file, so this does.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < BUSY => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            done => return done,
        }
    }
}

/// Why a transaction is given up.
enum Stop {
    Told(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sqlite(e)
    }
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn said(e: &rusqlite::Error, file: &str) -> StoreError {
    match e.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(format!("`{file}`")),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly(format!("`{file}`: {e}"))
        }
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore(file.to_owned()),
        _ => StoreError::Other(format!("`{file}`: {e}")),
    }
}

/// SQLite's integers have a sign.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

fn outcome_of(text: Option<String>) -> Option<Outcome> {
    serde_json::from_value(serde_json::Value::String(text?)).ok()
}

fn json(value: &impl serde::Serialize) -> Result<String, Stop> {
    serde_json::to_string(value).map_err(|e| Stop::Told(StoreError::Other(e.to_string())))
}

impl RunStore for SqliteStore {
    fn begin(&self, header: &Header, settings: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError> {
        self.change(|tx| {
            let now = signed(now_ms);
            let made = tx.execute(
                "INSERT OR IGNORE INTO runs VALUES (?1,?2,?3,?4,NULL,'',0,0,0,?5,?6,0,1,?7,?8)",
                params![
                    header.run,
                    header.workflow,
                    json(header)?,
                    settings,
                    signed(header.started_ms),
                    now,
                    holder.0,
                    signed(now_ms.saturating_add(LEASE_MS))
                ],
            )?;
            if made == 0 {
                return Err(Stop::Told(StoreError::Exists(header.run.clone())));
            }
            Ok(Lease { run: header.run.clone(), fence: 1 })
        })
    }

    fn claim(&self, run: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError> {
        self.change(|tx| {
            let found: Option<(i64, String, i64)> = tx
                .query_row("SELECT fence, holder, until_ms FROM runs WHERE run = ?1", [run], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()?;
            let Some((fence, held, until)) = found else {
                return Err(Stop::Told(StoreError::NoRun(run.to_owned())));
            };
            let held = Holder(held);
            if let Some(left_ms) = binds(unsigned(until), now_ms)
                && !held.0.is_empty()
                && !held.is_dead()
            {
                let (run, holder) = (run.to_owned(), held.shown());
                return Err(Stop::Told(StoreError::Held { run, holder, left_ms }));
            }
            tx.execute(
                "UPDATE runs SET fence = ?2, holder = ?3, until_ms = ?4 WHERE run = ?1",
                params![run, fence + 1, holder.0, signed(now_ms.saturating_add(LEASE_MS))],
            )?;
            Ok(Lease { run: run.to_owned(), fence: unsigned(fence + 1) })
        })
    }

    fn write(&self, lease: &Lease, entry: Entry<'_>, now_ms: u64) -> Result<(), StoreError> {
        let until = if matches!(entry, Entry::Release) { 0 } else { signed(now_ms.saturating_add(LEASE_MS)) };
        self.change(|tx| {
            let run = lease.run.as_str();
            let held = tx
                .prepare_cached("UPDATE runs SET until_ms = ?3 WHERE run = ?1 AND fence = ?2")?
                .execute(params![run, signed(lease.fence), until])?;
            let lost = || Stop::Told(StoreError::Lost(run.to_owned()));
            if held == 0 {
                return Err(lost());
            }
            match entry {
                Entry::Record { n, at_ms, record, state } => {
                    if !advance(tx, run, n, state, now_ms)? {
                        return Err(lost());
                    }
                    tx.prepare_cached("INSERT INTO records VALUES (?1,?2,?3,?4)")?.execute(params![
                        run,
                        signed(n),
                        signed(at_ms),
                        json(record)?
                    ])?;
                }
                Entry::Intents(calls) => {
                    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO intents VALUES (?1,?2)")?;
                    for call in calls {
                        insert.execute(params![run, call.0])?;
                    }
                }
                Entry::GroupBegan(group) => {
                    tx.prepare_cached("INSERT OR REPLACE INTO groups VALUES (?1,?2,?3)")?.execute(params![
                        run,
                        group.id,
                        signed(group.started)
                    ])?;
                }
                Entry::GroupEnded(id) => {
                    tx.prepare_cached("DELETE FROM groups WHERE run = ?1 AND id = ?2")?.execute(params![run, id])?;
                }
                Entry::Renew => {}
                Entry::Release => {
                    tx.execute("UPDATE runs SET holder = '' WHERE run = ?1", [run])?;
                }
            }
            Ok(())
        })?;
        if matches!(entry, Entry::Release) {
            self.checkpoint();
        }
        Ok(())
    }

    fn rewrite(&self, lease: &Lease, header: &Header, records: &[Record]) -> Result<(), StoreError> {
        self.change(|tx| {
            let held = tx.execute(
                "UPDATE runs SET header = ?3, workflow = ?4 WHERE run = ?1 AND fence = ?2",
                params![lease.run, signed(lease.fence), json(header)?, header.workflow],
            )?;
            if held == 0 {
                return Err(Stop::Told(StoreError::Lost(lease.run.clone())));
            }
            let mut update = tx.prepare_cached("UPDATE records SET record = ?3 WHERE run = ?1 AND n = ?2")?;
            for (n, record) in (1_i64..).zip(records) {
                update.execute(params![lease.run, n, json(record)?])?;
            }
            Ok(())
        })
    }

    fn load(&self, run: &str) -> Result<Stored, StoreError> {
        let mut connection = self.connection();
        // One view of the file for all that is read.
        let tx = connection.transaction().map_err(|e| self.said(&e))?;
        let found = read(&tx, run).map_err(|stop| match stop {
            Stop::Told(error) => error,
            Stop::Sqlite(e) => self.said(&e),
        })?;
        found.ok_or_else(|| StoreError::NoRun(run.to_owned()))
    }

    fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let connection = self.connection();
        let listed = || -> rusqlite::Result<Vec<StoredRun>> {
            let mut select = connection.prepare_cached(
                "SELECT run, workflow, outcome, stage, steps, ceiling, near_limit, started_ms, updated_ms FROM runs \
                 ORDER BY started_ms DESC, run DESC",
            )?;
            let rows = select.query_map([], |row| {
                Ok(StoredRun {
                    run: row.get(0)?,
                    workflow: row.get(1)?,
                    outcome: outcome_of(row.get(2)?),
                    stage: row.get(3)?,
                    steps: row.get(4)?,
                    ceiling: row.get(5)?,
                    near_limit: row.get(6)?,
                    started: unsigned(row.get(7)?),
                    updated: unsigned(row.get(8)?),
                })
            })?;
            rows.collect()
        };
        listed().map_err(|e| self.said(&e))
    }

    fn prune(&self, before_ms: u64) -> Result<usize, StoreError> {
        let pauses: Vec<String> =
            [Outcome::AwaitingApproval, Outcome::AwaitingUser, Outcome::ProviderError, Outcome::Cancelled]
                .iter()
                .map(|outcome| format!("'{outcome}'"))
                .collect();
        let pruned = self.change(|tx| {
            let delete = format!(
                "DELETE FROM runs WHERE updated_ms < ?1 AND outcome IS NOT NULL AND outcome NOT IN ({})",
                pauses.join(",")
            );
            Ok(tx.execute(&delete, [signed(before_ms)])?)
        })?;
        self.checkpoint();
        Ok(pruned)
    }
}

/// Moves the run's row on to record `n`; `false` when it does not stand right before it.
fn advance(tx: &Transaction<'_>, run: &str, n: u64, state: &RunState, now_ms: u64) -> rusqlite::Result<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE runs SET records = ?2, outcome = ?3, stage = ?4, steps = ?5, ceiling = ?6, near_limit = ?7, \
             updated_ms = ?8 WHERE run = ?1 AND records = ?2 - 1",
        )?
        .execute(params![
            run,
            signed(n),
            state.outcome.map(Outcome::as_str),
            state.stage,
            state.steps,
            state.ceiling,
            state.near_limit(),
            signed(now_ms)
        ])?;
    Ok(changed == 1)
}

fn read(tx: &Transaction<'_>, run: &str) -> Result<Option<Stored>, Stop> {
    let damaged = |what: &str, e: &serde_json::Error| {
        Stop::Told(StoreError::Other(format!("{what} of run `{run}` cannot be read: {e}")))
    };
    let row: Option<(String, String)> = tx
        .query_row("SELECT header, settings FROM runs WHERE run = ?1", [run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((header, settings)) = row else { return Ok(None) };
    let header: Header = serde_json::from_str(&header).map_err(|e| damaged("the header", &e))?;
    let mut records = Vec::new();
    let mut select = tx.prepare_cached("SELECT n, at_ms, record FROM records WHERE run = ?1 ORDER BY n")?;
    let mut rows = select.query([run])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_str().map_err(|e| Stop::Sqlite(e.into()))?;
        let record: Record = serde_json::from_str(text).map_err(|e| damaged("a record", &e))?;
        records.push(Stamped { n: unsigned(row.get(0)?), at_ms: unsigned(row.get(1)?), record });
    }
    let intents = tx
        .prepare_cached("SELECT call FROM intents WHERE run = ?1 ORDER BY call")?
        .query_map([run], |row| Ok(CallNo(row.get(0)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let groups = tx
        .prepare_cached("SELECT id, started FROM groups WHERE run = ?1")?
        .query_map([run], |row| Ok(Group { id: row.get(0)?, started: unsigned(row.get(1)?) }))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Some(Stored { trace: Trace { header, records, cut: None }, settings, intents, groups }))
}
