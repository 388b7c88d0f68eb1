//! A run under way in a store: its records, its lease kept alive, its process groups.

use super::{Entry, Group, LEASE_MS, Lease, RunState, RunStore, StoreError, Stored};
use crate::engine::input::CallNo;
use crate::engine::session::Record;
use crate::run::{Groups, SinkError, TraceSink, now_ms};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a lease is renewed.
const RENEW: Duration = Duration::from_millis(LEASE_MS / 3);

/// Keeps the lease of a run alive from a thread of its own, so that a tool may take as long as it likes. Dropped, it
/// lets the run go.
pub struct Kept {
    store: Arc<dyn RunStore>,
    lease: Lease,
    stop: Mutex<Option<Sender<()>>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl Kept {
    /// Holds a lease from now on.
    #[must_use]
    pub fn new(store: Arc<dyn RunStore>, lease: Lease) -> Arc<Self> {
        Self::renewed_every(RENEW, store, lease)
    }

    /// Holds a lease from now on and renews it so often; well under [`LEASE_MS`], or it is lost in between.
    #[must_use]
    pub fn renewed_every(pause: Duration, store: Arc<dyn RunStore>, lease: Lease) -> Arc<Self> {
        let (stop, stopped) = channel::<()>();
        let (of, held) = (Arc::clone(&store), lease.clone());
        std::thread::spawn(move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A busy file is tried again; a lost lease is told to whoever writes next.
                if let Err(StoreError::Lost(_)) = of.write(&held, Entry::Renew, now_ms()) {
                    return;
                }
            }
        });
        Arc::new(Self { store, lease, stop: Mutex::new(Some(stop)) })
    }

    fn write(&self, entry: Entry<'_>) -> Result<(), StoreError> {
        self.store.write(&self.lease, entry, now_ms())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A lease that was lost is nobody's to give back.
        let _ = self.write(Entry::Release);
    }
}

/// Puts the records of a run into a store.
#[derive(Debug)]
pub struct StoreSink {
    kept: Arc<Kept>,
    n: u64,
    state: RunState,
    began: Instant,
    before_ms: u64,
}

impl StoreSink {
    /// A sink for a run that begins.
    #[must_use]
    pub fn new(kept: Arc<Kept>) -> Self {
        Self { kept, n: 0, state: RunState::default(), began: Instant::now(), before_ms: 0 }
    }

    /// A sink for a run that goes on behind what is stored.
    #[must_use]
    pub fn behind(kept: Arc<Kept>, stored: &Stored) -> Self {
        let mut state = RunState::default();
        stored.trace.records.iter().for_each(|stamped| state.see(&stamped.record));
        let before_ms = stored.trace.records.last().map_or(0, |stamped| stamped.at_ms);
        Self { n: stored.trace.records.len() as u64, state, before_ms, ..Self::new(kept) }
    }
}

impl TraceSink for StoreSink {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let at_ms = self.before_ms.saturating_add(took);
        let mut state = self.state.clone();
        state.see(record);
        let entry = Entry::Record { n: self.n + 1, at_ms, record, state: &state };
        self.kept.write(entry).map_err(|e| SinkError(e.to_string()))?;
        self.n += 1;
        self.state = state;
        Ok(())
    }

    fn intends(&mut self, calls: &[CallNo]) -> Result<(), SinkError> {
        self.kept.write(Entry::Intents(calls)).map_err(|e| SinkError(e.to_string()))
    }
}

/// Notes the process groups of tools in a store.
#[derive(Debug)]
pub struct StoreGroups(pub Arc<Kept>);

impl Groups for StoreGroups {
    fn began(&self, id: i32) {
        if let Some(group) = Group::of_leader(id) {
            // Whoever writes the next record is told what is wrong with the store.
            let _ = self.0.write(Entry::GroupBegan(group));
        }
    }

    fn ended(&self, id: i32) {
        let _ = self.0.write(Entry::GroupEnded(id));
    }
}
