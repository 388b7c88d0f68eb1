//! A store that lives as long as the process: for tests and embedders.

use super::{Entry, Group, Holder, LEASE_MS, Lease, RunState, RunStore, StoreError, Stored, StoredRun, binds};
use crate::engine::input::CallNo;
use crate::engine::session::Record;
use crate::trace::{Header, Stamped, Trace};
use indexmap::IndexMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug)]
struct Row {
    header: Header,
    settings: String,
    records: Vec<Stamped>,
    intents: Vec<CallNo>,
    groups: Vec<Group>,
    state: RunState,
    updated_ms: u64,
    fence: u64,
    holder: Option<Holder>,
    until_ms: u64,
}

/// Keeps runs in memory; a clone sees the same ones.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<IndexMap<String, Row>>>);

impl MemoryStore {
    /// Nothing kept yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, IndexMap<String, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunStore for MemoryStore {
    fn begin(&self, header: &Header, settings: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError> {
        let mut rows = self.rows();
        if rows.contains_key(&header.run) {
            return Err(StoreError::Exists(header.run.clone()));
        }
        let row = Row {
            header: header.clone(),
            settings: settings.to_owned(),
            records: Vec::new(),
            intents: Vec::new(),
            groups: Vec::new(),
            state: RunState::default(),
            updated_ms: now_ms,
            fence: 1,
            holder: Some(holder.clone()),
            until_ms: now_ms + LEASE_MS,
        };
        rows.insert(header.run.clone(), row);
        Ok(Lease { run: header.run.clone(), fence: 1 })
    }

    fn claim(&self, run: &str, holder: &Holder, now_ms: u64) -> Result<Lease, StoreError> {
        let mut rows = self.rows();
        let row = rows.get_mut(run).ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        if let Some((held, left_ms)) = row.holder.as_ref().zip(binds(row.until_ms, now_ms))
            && !held.is_dead()
        {
            return Err(StoreError::Held { run: run.to_owned(), holder: held.shown(), left_ms });
        }
        row.fence += 1;
        row.holder = Some(holder.clone());
        row.until_ms = now_ms + LEASE_MS;
        Ok(Lease { run: run.to_owned(), fence: row.fence })
    }

    fn write(&self, lease: &Lease, entry: Entry<'_>, now_ms: u64) -> Result<(), StoreError> {
        let mut rows = self.rows();
        let lost = || StoreError::Lost(lease.run.clone());
        let row = rows.get_mut(&lease.run).filter(|row| row.fence == lease.fence).ok_or_else(lost)?;
        match entry {
            Entry::Record { n, at_ms, record, state } => {
                if n != row.records.len() as u64 + 1 {
                    return Err(lost());
                }
                row.records.push(Stamped { n, at_ms, record: record.clone() });
                row.state = state.clone();
                row.updated_ms = now_ms;
            }
            Entry::Intents(calls) => row.intents.extend_from_slice(calls),
            Entry::GroupBegan(group) => row.groups.push(group),
            Entry::GroupEnded(id) => row.groups.retain(|group| group.id != id),
            Entry::Renew => {}
            Entry::Release => {
                row.holder = None;
                return Ok(());
            }
        }
        row.until_ms = now_ms + LEASE_MS;
        Ok(())
    }

    fn rewrite(&self, lease: &Lease, header: &Header, records: &[Record]) -> Result<(), StoreError> {
        let mut rows = self.rows();
        let lost = || StoreError::Lost(lease.run.clone());
        let row = rows.get_mut(&lease.run).filter(|row| row.fence == lease.fence).ok_or_else(lost)?;
        row.header = header.clone();
        for (stamped, record) in row.records.iter_mut().zip(records) {
            stamped.record = record.clone();
        }
        Ok(())
    }

    fn load(&self, run: &str) -> Result<Stored, StoreError> {
        let rows = self.rows();
        let row = rows.get(run).ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        Ok(Stored {
            trace: Trace { header: row.header.clone(), records: row.records.clone(), cut: None },
            settings: row.settings.clone(),
            intents: row.intents.clone(),
            groups: row.groups.clone(),
        })
    }

    fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let rows = self.rows();
        Ok(rows
            .values()
            .rev()
            .map(|row| StoredRun {
                run: row.header.run.clone(),
                workflow: row.header.workflow.clone(),
                outcome: row.state.outcome,
                stage: row.state.stage.clone(),
                steps: row.state.steps,
                ceiling: row.state.ceiling,
                near_limit: row.state.near_limit(),
                started: row.header.started_ms,
                updated: row.updated_ms,
            })
            .collect())
    }

    fn prune(&self, before_ms: u64) -> Result<usize, StoreError> {
        let mut rows = self.rows();
        let before = rows.len();
        rows.retain(|_, row| row.updated_ms >= before_ms || row.state.outcome.is_none_or(|o| o.is_pause()));
        Ok(before - rows.len())
    }
}
