//! The first reading: every run is measured and played once.

use super::evidence::{Evidence, Masks};
use super::label::Labels;
use super::loops::Loops;
use super::near::Near;
use super::over_time::Parts;
use super::spent::Spent;
use super::steps::{Step, lay_out};
use crate::audit::crew::{Clerk, Place, Source, UnreadList, staff};
use crate::audit::play::{CannotPlay, play};
use crate::audit::read::Unread;
use crate::audit::recording::Recording;
use crate::table::StageTable;
use std::collections::BTreeMap;

/// The longest rows of trouble in one run, over all runs that succeeded and over all others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worst {
    /// Failures of one tool in a row.
    pub(super) errors: [u32; 2],
    /// Calls whose result was known, in the whole run.
    pub(super) stale: [u32; 2],
}

/// What one reading of all runs showed.
#[derive(Debug, Default)]
pub struct Gathered {
    pub(super) runs: Labels,
    pub(super) calls: u64,
    pub(super) parts: Parts,
    pub(super) loops: Loops,
    pub(super) near: Near,
    pub(super) spent: Spent,
    pub(super) evidence: Evidence,
    pub(super) worst: Worst,
    /// The first lines that could not be read, each with its file.
    pub unread: Vec<(String, Unread)>,
    /// How many there were.
    pub unread_in_all: u64,
}

impl Gathered {
    /// Runs that were read.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs.all()
    }
}

/// Measures every run of every source, on `workers` threads beside this one. What comes out does not depend on who was
/// faster.
#[must_use]
pub fn gather<'a>(table: &StageTable, sources: impl IntoIterator<Item = Source<'a>>, workers: usize) -> Gathered {
    let masks = Masks::new();
    let (clerks, unread) = staff(sources, workers, || Measure { table, masks: &masks, made: Gathered::default() });
    finish(clerks.into_iter().map(|clerk| clerk.made), unread)
}

fn finish(parts: impl Iterator<Item = Gathered>, unread: UnreadList) -> Gathered {
    let mut all = Gathered::default();
    for part in parts {
        all.runs += part.runs;
        all.calls += part.calls;
        all.parts.merge(&part.parts);
        all.loops.merge(part.loops);
        all.near.merge(part.near);
        all.spent.merge(&part.spent);
        all.evidence.merge(part.evidence);
        all.worst.merge(part.worst);
    }
    (all.unread, all.unread_in_all) = unread.finish();
    all
}

struct Measure<'t> {
    table: &'t StageTable,
    masks: &'t Masks,
    made: Gathered,
}

impl Clerk for Measure<'_> {
    fn take(&mut self, _: Place, _: &str, run: &Recording) -> Result<(), CannotPlay> {
        let played = play(self.table, run)?;
        let steps = lay_out(self.table, run);
        let made = &mut self.made;
        made.runs.count(run.success);
        made.calls += steps.len() as u64;
        made.parts.see(run.success, &steps, &played.fates);
        made.loops.see(&run.id, run.success, &steps);
        made.near.see(self.table, &run.id, run.success, &played);
        made.evidence.see(self.masks, run, &steps);
        made.worst.see(run.success, &steps);
        if run.success == Some(true) {
            made.spent.see(run);
        }
        Ok(())
    }
}

impl Worst {
    fn see(&mut self, success: Option<bool>, steps: &[Step<'_>]) {
        let (mut rows, mut errors, mut stale): (BTreeMap<&str, u32>, u32, u32) = (BTreeMap::new(), 0, 0);
        for step in steps {
            let row = rows.entry(step.tool()).or_default();
            *row = if step.failed { *row + 1 } else { 0 };
            errors = errors.max(*row);
            stale += u32::from(step.stale && !step.poll);
        }
        let at = usize::from(success != Some(true));
        let one = |most: u32| std::array::from_fn(|n| if n == at { most } else { 0 });
        self.merge(Self { errors: one(errors), stale: one(stale) });
    }

    fn merge(&mut self, other: Self) {
        let most = |own: &mut [u32; 2], other: [u32; 2]| own.iter_mut().zip(other).for_each(|(a, b)| *a = b.max(*a));
        most(&mut self.errors, other.errors);
        most(&mut self.stale, other.stale);
    }
}
