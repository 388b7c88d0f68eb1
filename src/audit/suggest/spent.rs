//! What successful runs spent, and the budgets that follow from it.

use crate::audit::recording::Recording;
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewer successful runs than this make a figure weak, and it says so.
pub const MIN_SUCCESSES: u64 = 20;
/// Stages that are told apart.
const MAX_STAGES: usize = 1_000;

/// How often each number occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(BTreeMap<u32, u64>);

impl Histogram {
    pub(super) fn count(&mut self, number: u32) {
        *self.0.entry(number).or_default() += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(number, times)| *self.0.entry(*number).or_default() += times);
    }

    pub(super) fn all(&self) -> u64 {
        self.0.values().sum()
    }

    /// How many are above `limit`.
    pub(super) fn above(&self, limit: u32) -> u64 {
        self.0.iter().filter(|(number, _)| **number > limit).map(|(_, times)| times).sum()
    }

    pub(super) fn most(&self) -> u32 {
        self.0.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// The number at a rank, from 1.
    fn at(&self, rank: u64) -> u32 {
        let mut seen = 0;
        let reached = self.0.iter().find(|(_, times)| {
            seen += **times;
            seen >= rank
        });
        reached.map_or(0, |(number, _)| *number)
    }

    /// Twice the median, so that it stays whole: the sum of the two in the middle.
    pub(super) fn twice_median(&self) -> u32 {
        let all = self.all();
        self.at(all.div_ceil(2)) + self.at(all / 2 + 1)
    }

    /// The 95th percentile by the nearest rank.
    pub(super) fn p95(&self) -> u32 {
        self.at((self.all() * 95).div_ceil(100))
    }
}

/// Where a budget comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// 1.2 times the median.
    Median,
    /// 1.5 times the 95th percentile.
    P95,
}

impl Formula {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Median, Self::P95];

    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Median => "1.2 × the median",
            Self::P95 => "1.5 × the 95th percentile",
        }
    }

    /// The budget, rounded up, at least 1.
    pub(super) fn budget(self, spent: &Histogram) -> u32 {
        let budget = match self {
            // 1.2 × m = 6 × 2m / 10.
            Self::Median => (u64::from(spent.twice_median()) * 6).div_ceil(10),
            Self::P95 => (u64::from(spent.p95()) * 3).div_ceil(2),
        };
        u32::try_from(budget).unwrap_or(u32::MAX).max(1)
    }
}

/// What successful runs spent in a stage, or in all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetFigure {
    /// The stage; `None` = the whole run.
    pub stage: Option<String>,
    /// What is counted: `steps` (replies; of recordings from elsewhere those with calls, and one for the answer) or `calls`.
    pub unit: &'static str,
    /// Successful runs it rests on.
    pub successes: u64,
    /// Whether those are too few to build on.
    pub weak: bool,
    /// The median, in halves.
    pub median: f64,
    /// The 95th percentile.
    pub p95: u32,
    /// The most.
    pub most: u32,
    /// 1.2 × the median, rounded up.
    pub by_median: u32,
    /// Successful runs that spent more.
    pub cut_by_median: u64,
    /// 1.5 × the 95th percentile, rounded up.
    pub by_p95: u32,
    /// Successful runs that spent more.
    pub cut_by_p95: u64,
}

impl BudgetFigure {
    pub(super) fn of(stage: Option<&str>, unit: &'static str, spent: &Histogram) -> Self {
        let (by_median, by_p95) = (Formula::Median.budget(spent), Formula::P95.budget(spent));
        Self {
            stage: stage.map(str::to_owned),
            unit,
            successes: spent.all(),
            weak: spent.all() < MIN_SUCCESSES,
            median: f64::from(spent.twice_median()) / 2.0,
            p95: spent.p95(),
            most: spent.most(),
            by_median,
            cut_by_median: spent.above(by_median),
            by_p95,
            cut_by_p95: spent.above(by_p95),
        }
    }

    /// The budget by a formula, and the successful runs that spent more.
    #[must_use]
    pub fn by(&self, formula: Formula) -> (u32, u64) {
        match formula {
            Formula::Median => (self.by_median, self.cut_by_median),
            Formula::P95 => (self.by_p95, self.cut_by_p95),
        }
    }
}

/// What successful runs spent.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Steps by stage, of our own traces.
    pub(super) stages: BTreeMap<String, Histogram>,
    /// Steps of whole runs of other recordings: replies with calls, and one for the answer.
    pub(super) steps: Histogram,
    /// Calls of the same runs.
    pub(super) calls: Histogram,
}

impl Spent {
    /// Takes in a successful run.
    pub(super) fn see(&mut self, run: &Recording) {
        if run.spent.is_empty() {
            self.steps.count(narrow(run.turns.len() + 1));
            self.calls.count(narrow(run.calls()));
        }
        for (stage, steps) in &run.spent {
            if self.stages.contains_key(stage) || self.stages.len() < MAX_STAGES {
                self.stages.entry(stage.clone()).or_default().count(*steps);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.steps.merge(&other.steps);
        self.calls.merge(&other.calls);
        for (stage, spent) in &other.stages {
            self.stages.entry(stage.clone()).or_default().merge(spent);
        }
    }
}

pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u32]) -> Histogram {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|n| histogram.count(*n));
        histogram
    }

    #[test]
    fn budgets_are_those_that_one_gets_by_hand() {
        // The median of an even number of runs lies between two: 4.5; 1.2 × 4.5 = 5.4.
        let even = of(&[3, 4, 5, 9]);
        assert_eq!((even.twice_median(), Formula::Median.budget(&even)), (9, 6));
        // 95 % of 4 runs are 3.8, so the fourth: 9; 1.5 × 9 = 13.5.
        assert_eq!((even.p95(), Formula::P95.budget(&even)), (9, 14));
        let odd = of(&[5, 5, 10]);
        assert_eq!((odd.twice_median(), Formula::Median.budget(&odd)), (10, 6));
        // The 19th of 20.
        let twenty = of(&(1..=20).collect::<Vec<_>>());
        assert_eq!((twenty.p95(), Formula::P95.budget(&twenty)), (19, 29));
        assert_eq!(Formula::Median.budget(&twenty), 13, "1.2 × 10.5 = 12.6");
    }

    #[test]
    fn a_budget_says_how_many_good_runs_it_cuts() {
        let figure = BudgetFigure::of(None, "steps", &of(&[5, 5, 5, 5, 7, 30]));
        assert_eq!((figure.by_median, figure.cut_by_median), (6, 2));
        assert_eq!((figure.by_p95, figure.cut_by_p95), (45, 0));
        assert!(figure.weak);
    }
}
