//! What is counted over a group of runs (design §12).

use super::play::Played;
use super::recording::Recording;
use serde::Serialize;
use std::ops::AddAssign;

/// What runs are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The file they stand in.
    #[default]
    File,
    /// Where they were recorded.
    Source,
    /// The model.
    Model,
}

/// The name of runs that say no source or model.
const UNKNOWN: &str = "(unknown)";

impl By {
    /// The group of a run that stands in `file`.
    #[must_use]
    pub fn group<'a>(self, file: &'a str, run: &'a Recording) -> &'a str {
        let name = match self {
            Self::File => file,
            Self::Source => &run.source,
            Self::Model => &run.model,
        };
        if name.is_empty() { UNKNOWN } else { name }
    }
}

/// How often each guard spoke, hints and observed answers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fired {
    /// The same call again.
    pub duplicate: u64,
    /// The same calls in turn.
    pub cycle: u64,
    /// Results that were known.
    pub no_progress: u64,
    /// One tool failing in a row.
    pub errors: u64,
    /// One tool in a row.
    pub same_tool: u64,
    /// Few steps left.
    pub conservative: u64,
    /// Forbidden calls in a row.
    pub violations: u64,
}

impl Fired {
    /// Counts one guard by its name.
    pub fn count(&mut self, guard: &str) {
        match guard {
            "duplicate" => self.duplicate += 1,
            "cycle" => self.cycle += 1,
            "no_progress" => self.no_progress += 1,
            "errors" => self.errors += 1,
            "same_tool" => self.same_tool += 1,
            "conservative" => self.conservative += 1,
            "violations" => self.violations += 1,
            _ => debug_assert!(false, "a guard without a count: {guard}"),
        }
    }

    /// Names and numbers, those of zero left out.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("duplicate", self.duplicate),
            ("cycle", self.cycle),
            ("no_progress", self.no_progress),
            ("errors", self.errors),
            ("same_tool", self.same_tool),
            ("conservative", self.conservative),
            ("violations", self.violations),
        ]
        .into_iter()
        .filter(|(_, times)| *times > 0)
    }
}

impl AddAssign for Fired {
    fn add_assign(&mut self, other: Self) {
        self.duplicate += other.duplicate;
        self.cycle += other.cycle;
        self.no_progress += other.no_progress;
        self.errors += other.errors;
        self.same_tool += other.same_tool;
        self.conservative += other.conservative;
        self.violations += other.violations;
    }
}

/// Raw counts of a group. A run without a success label counts only in `runs`, `calls` and `fired`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Runs.
    pub runs: u64,
    /// Their calls.
    pub calls: u64,
    /// Runs that failed.
    pub failed_runs: u64,
    /// Their calls.
    pub failed_calls: u64,
    /// Of those, the ones that would not have run.
    pub failed_calls_cut: u64,
    /// Runs that succeeded.
    pub successful_runs: u64,
    /// Of those, the ones with at least one call that would not have run.
    pub successful_runs_touched: u64,
    /// Calls of successful runs that would not have run.
    pub successful_calls_withheld: u64,
    /// Of those, the ones whose recorded result was new.
    pub new_results_withheld: u64,
    /// How often each guard spoke.
    pub fired: Fired,
}

impl Counts {
    /// Counts one run.
    pub fn count(&mut self, success: Option<bool>, played: &Played) {
        let (calls, withheld) = (played.fates.len() as u64, played.withheld());
        self.runs += 1;
        self.calls += calls;
        match success {
            Some(false) => {
                self.failed_runs += 1;
                self.failed_calls += calls;
                self.failed_calls_cut += withheld;
            }
            Some(true) => {
                self.successful_runs += 1;
                self.successful_runs_touched += u64::from(withheld > 0);
                self.successful_calls_withheld += withheld;
                self.new_results_withheld += played.new_withheld;
            }
            None => {}
        }
        self.fired += played.fired;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.failed_runs += other.failed_runs;
        self.failed_calls += other.failed_calls;
        self.failed_calls_cut += other.failed_calls_cut;
        self.successful_runs += other.successful_runs;
        self.successful_runs_touched += other.successful_runs_touched;
        self.successful_calls_withheld += other.successful_calls_withheld;
        self.new_results_withheld += other.new_results_withheld;
        self.fired += other.fired;
    }
}
