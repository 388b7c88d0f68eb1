//! What became of calls early and late in a run.

use super::steps::Step;
use crate::audit::play::Fate;
use serde::Serialize;

/// Parts a run is cut into.
pub const PARTS: usize = 10;

/// The calls of one part of the runs of one label. `calls` = `withheld` + `failed` + `repeated` + `new`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// All calls.
    pub calls: u64,
    /// Calls that brought something new.
    pub new: u64,
    /// Calls whose result was known.
    pub repeated: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that the table would have answered from memory or refused.
    pub withheld: u64,
}

/// The ten parts of the runs of one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverTime {
    /// `failed`, `successful` or `unlabelled`.
    pub runs: &'static str,
    /// From the first calls to the last.
    pub parts: [Part; PARTS],
}

/// All runs, by label.
#[derive(Debug)]
pub(super) struct Parts([OverTime; 3]);

impl Default for Parts {
    fn default() -> Self {
        Self(["failed", "successful", "unlabelled"].map(|runs| OverTime { runs, parts: Default::default() }))
    }
}

impl Parts {
    pub(super) fn see(&mut self, success: Option<bool>, steps: &[Step<'_>], fates: &[Fate]) {
        let [failed, successful, unlabelled] = &mut self.0;
        let of_label = match success {
            Some(false) => failed,
            Some(true) => successful,
            None => unlabelled,
        };
        for (at, (step, fate)) in steps.iter().zip(fates).enumerate() {
            let Some(part) = of_label.parts.get_mut(at * PARTS / steps.len().max(1)) else { continue };
            part.calls += 1;
            *match (fate.is_withheld(), step.failed, step.stale) {
                (true, ..) => &mut part.withheld,
                (_, true, _) => &mut part.failed,
                (_, _, true) => &mut part.repeated,
                _ => &mut part.new,
            } += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            for (own, other) in own.parts.iter_mut().zip(&other.parts) {
                own.calls += other.calls;
                own.new += other.new;
                own.repeated += other.repeated;
                own.failed += other.failed;
                own.withheld += other.withheld;
            }
        }
    }

    /// Those labels that any run has.
    pub(super) fn finish(self) -> Vec<OverTime> {
        self.0.into_iter().filter(|of_label| of_label.parts.iter().any(|part| part.calls > 0)).collect()
    }
}
