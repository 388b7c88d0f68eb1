//! Runs that survive: kept record by record, each before it is acted on, to be resumed by another process.
//!
//! A run has one writer at a time. It holds a lease with a fencing token: whoever claims the run next raises the token,
//! and what the former holder still writes is refused.

#[expect(clippy::disallowed_methods, reason = "records are stamped with the time since the run began")]
mod keep;
mod memory;
#[expect(clippy::disallowed_methods, reason = "a store looks at files and processes")]
mod process;
#[expect(clippy::disallowed_methods, reason = "a file that others open is waited for")]
mod sqlite;
mod state;

pub use keep::{Kept, StoreGroups, StoreSink};
pub use memory::MemoryStore;
pub use process::{Holder, end_group, is_alive};
pub use sqlite::SqliteStore;
pub use state::{NEAR, RunState, StoredRun};

use crate::engine::input::CallNo;
use crate::engine::session::Record;
use crate::trace::{Header, Trace};

/// How long a lease lasts that is not renewed, in milliseconds.
pub const LEASE_MS: u64 = 30_000;

/// The right to write one run, until somebody else claims it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: String,
    /// Raised by every claim; only the highest may write.
    pub fence: u64,
}

/// A process group that a tool runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its id, which is its leader's.
    pub id: i32,
    /// When its leader was started, in the system's ticks: an id that was given to another process differs here.
    pub started: u64,
}

/// What is written of a run under a lease, each in one transaction.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A record, and where the run stands after it.
    Record {
        /// Its number, from 1.
        n: u64,
        /// Milliseconds since the run began.
        at_ms: u64,
        /// What went in and what was decided.
        record: &'a Record,
        /// Where the run stands.
        state: &'a RunState,
    },
    /// These calls are about to run.
    Intents(&'a [CallNo]),
    /// A tool's process group began.
    GroupBegan(Group),
    /// A tool's process group ended.
    GroupEnded(i32),
    /// The lease is to last on.
    Renew,
    /// The run is left: whoever wants may claim it.
    Release,
}

/// A run as it is kept.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its header and records.
    pub trace: Trace,
    /// What the host needs to go on, in its own words.
    pub settings: String,
    /// Calls that were about to run.
    pub intents: Vec<CallNo>,
    /// Process groups that were not seen to end.
    pub groups: Vec<Group>,
}

/// Why a store cannot do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A later version wrote it.
    #[error("the store `{file}` has format {found}, this version reads up to {known}; use a newer stagekeeper")]
    Newer {
        /// The file.
        file: String,
        /// Its format.
        found: i64,
        /// The newest known.
        known: i64,
    },
    /// The file is something else.
    #[error("`{0}` is no store of stagekeeper; name another file")]
    NotAStore(String),
    /// There is no such run.
    #[error("the store holds no run `{0}`; `stagekeeper runs` lists them")]
    NoRun(String),
    /// A run of that id is there.
    #[error("the store holds a run `{0}` already")]
    Exists(String),
    /// Somebody else writes the run.
    #[error("the run `{run}` is held by {holder} for another {left_ms} ms; wait, or end that process")]
    Held {
        /// The run.
        run: String,
        /// Who.
        holder: String,
        /// How long the lease still lasts.
        left_ms: u64,
    },
    /// The lease is lost: somebody else claimed the run meanwhile.
    #[error("another process took over the run `{0}`; nothing more is written by this one")]
    Lost(String),
    /// No room is left.
    #[error("the store is full: {0}; make room")]
    Full(String),
    /// It may not be written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// Anything else.
    #[error("the store cannot be used: {0}")]
    Other(String),
}

/// Keeps runs. [`MemoryStore`] for tests, [`SqliteStore`] for a file.
///
/// `now_ms` is the caller's clock, in milliseconds since 1970. A clock that goes backwards makes no lease last for ever:
/// one that would end later than a fresh one counts as ended.
pub trait RunStore: Send + Sync {
    /// Begins a run and takes its lease.
    ///
    /// # Errors
    /// When a run of that id is there, or the store cannot be written.
    fn begin(&self, header: &Header, settings: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError>;

    /// Takes the lease of a run that nobody holds, or whose holder is dead or silent for too long.
    ///
    /// # Errors
    /// When there is no such run, or somebody holds it.
    fn claim(&self, run: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError>;

    /// Writes under a lease.
    ///
    /// # Errors
    /// When the lease is lost, or the store cannot be written: then nothing of the entry is there.
    fn write(&self, lease: &Lease, entry: Entry<'_>, now_ms: u64) -> Result<(), StoreError>;

    /// Puts a run under another table: its header, and its records with that table's events, all at once.
    ///
    /// # Errors
    /// When the lease is lost, or the store cannot be written.
    fn rewrite(&self, lease: &Lease, header: &Header, records: &[Record]) -> Result<(), StoreError>;

    /// Reads a run.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    fn load(&self, run: &str) -> Result<Stored, StoreError>;

    /// The runs, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn runs(&self) -> Result<Vec<StoredRun>, StoreError>;

    /// Takes out the runs that ended and were last written before a time; returns how many.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn prune(&self, before_ms: u64) -> Result<usize, StoreError>;
}

/// Whether a lease that ends at `until` still binds at `now`.
fn binds(until_ms: u64, now_ms: u64) -> Option<u64> {
    let left = until_ms.checked_sub(now_ms).filter(|left| *left > 0)?;
    // A clock that was set back would make the lease last for as long.
    (left <= LEASE_MS).then_some(left)
}
