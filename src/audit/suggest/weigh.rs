//! The second reading: every run is played under the table and under each candidate, and the two are compared.

use super::effects::{Effects, ToolSeen};
use super::gather::Gathered;
use super::label::Labels;
use super::loops::LoopFound;
use super::near::NearLimit;
use super::over_time::OverTime;
use super::propose::{Candidate, Kind, Proposer, figures};
use super::spent::BudgetFigure;
use crate::audit::crew::{Clerk, Place, Source, staff};
use crate::audit::play::{CannotPlay, Fate, Played, play};
use crate::audit::recording::Recording;
use crate::engine::outcome::Outcome;
use crate::table::StageTable;
use serde::Serialize;
use std::ops::AddAssign;

/// What a proposal changes, run by run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Runs with a call that is judged otherwise: `better` + `worse` + `neither`.
    pub runs_changed: u64,
    /// Failed runs of which more calls are cut, and successful ones of which fewer are withheld.
    pub better: u64,
    /// Successful runs of which more calls are withheld, or which no longer complete; failed ones of which fewer are cut.
    pub worse: u64,
    /// Runs without a label, and those that come out even.
    pub neither: u64,
    /// Calls of failed runs that are cut in addition; below zero when fewer are.
    pub failed_calls_cut: i64,
    /// Calls of successful runs that are withheld in addition.
    pub successful_calls_withheld: i64,
    /// Of those, the ones whose result was new.
    pub new_results_withheld: i64,
}

impl AddAssign for Change {
    fn add_assign(&mut self, other: Self) {
        self.runs_changed += other.runs_changed;
        self.better += other.better;
        self.worse += other.worse;
        self.neither += other.neither;
        self.failed_calls_cut += other.failed_calls_cut;
        self.successful_calls_withheld += other.successful_calls_withheld;
        self.new_results_withheld += other.new_results_withheld;
    }
}

impl Change {
    fn of(success: Option<bool>, base: &Played, other: &Played) -> Self {
        let withheld = |played: &Played| i64::try_from(played.withheld()).unwrap_or(i64::MAX);
        let more = withheld(other) - withheld(base);
        let new = |played: &Played| i64::try_from(played.new_withheld).unwrap_or(i64::MAX);
        let completed = |played: &Played| played.ended == Some(Outcome::Completed);
        let lost = completed(base) && !completed(other);
        let moved = || base.fates.iter().zip(&other.fates).any(|(a, b)| Fate::is_withheld(*a) != Fate::is_withheld(*b));
        if more == 0 && !lost && !moved() {
            return Self::default();
        }
        let mut change = Self { runs_changed: 1, ..Self::default() };
        match success {
            Some(false) => change.failed_calls_cut = more,
            Some(true) => {
                change.successful_calls_withheld = more;
                change.new_results_withheld = new(other) - new(base);
            }
            None => {}
        }
        *match success {
            Some(true) if more > 0 || lost => &mut change.worse,
            Some(false) if more < 0 => &mut change.worse,
            Some(true) if more < 0 => &mut change.better,
            Some(false) if more > 0 => &mut change.better,
            _ => &mut change.neither,
        } = 1;
        change
    }
}

/// A proposal and what it would have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// What it changes.
    pub kind: Kind,
    /// In a few words.
    pub about: String,
    /// Lines for the table, the first a comment that says what they rest on.
    pub yaml: String,
    /// What it would have changed.
    #[serde(flatten)]
    pub change: Change,
}

/// Everything that the runs suggest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestions {
    /// The table's name.
    pub workflow: String,
    /// The runs.
    pub runs: Labels,
    /// Their calls.
    pub calls: u64,
    /// What became of calls early and late in a run.
    pub over_time: Vec<OverTime>,
    /// Loops, the costliest first.
    pub loops: Vec<LoopFound>,
    /// Kinds of loops that are not listed.
    pub loops_left_out: usize,
    /// Runs that came near a limit while still calling.
    pub near_limit: Vec<NearLimit>,
    /// What successful runs spent.
    pub budgets: Vec<BudgetFigure>,
    /// What the tools seem to do.
    pub tools: Vec<ToolSeen>,
    /// Proposals that make more runs better than worse, those that do the least harm first.
    pub proposals: Vec<Proposal>,
    /// The others: not proposed.
    pub left_out: Vec<Proposal>,
}

/// What the first reading leads to, its proposals not weighed yet.
pub struct Draft {
    made: Suggestions,
    candidates: Vec<Candidate>,
}

/// Makes proposals out of what was gathered.
#[must_use]
pub fn draft(table: &StageTable, mut gathered: Gathered) -> Draft {
    let effects = Effects::of(table, &gathered.evidence);
    let tools = effects.list(table, &gathered.evidence);
    let (loops, loops_left_out) = std::mem::take(&mut gathered.loops).finish();
    let near_limit = std::mem::take(&mut gathered.near).finish(table);
    let budgets = figures(table, &gathered);
    let mut proposer = Proposer { table, gathered: &gathered, made: Vec::new() };
    proposer.budgets(&budgets);
    proposer.exits(&near_limit);
    proposer.effects(&effects, &tools);
    proposer.decoration();
    proposer.rules(&loops);
    let candidates = proposer.made;
    let made = Suggestions {
        workflow: table.workflow().to_owned(),
        runs: gathered.runs,
        calls: gathered.calls,
        over_time: gathered.parts.finish(),
        loops,
        loops_left_out,
        near_limit,
        budgets,
        tools,
        proposals: Vec::new(),
        left_out: Vec::new(),
    };
    Draft { made, candidates }
}

/// Plays the same sources again, under the table and under every candidate.
#[must_use]
pub fn weigh<'a>(
    table: &StageTable,
    draft: Draft,
    sources: impl IntoIterator<Item = Source<'a>>,
    workers: usize,
) -> Suggestions {
    let Draft { mut made, candidates } = draft;
    let clerk = || Scales { table, candidates: &candidates, changes: vec![Change::default(); candidates.len()] };
    // What cannot be read was said after the first reading.
    let (clerks, _) = staff(sources, workers, clerk);
    let mut changes = vec![Change::default(); candidates.len()];
    for clerk in clerks {
        changes.iter_mut().zip(clerk.changes).for_each(|(all, part)| *all += part);
    }
    let all = candidates.into_iter().zip(changes).map(|(candidate, change)| {
        let Candidate { kind, about, yaml, .. } = candidate;
        Proposal { kind, about, yaml, change }
    });
    (made.proposals, made.left_out) = all.partition(|proposal| proposal.change.better > proposal.change.worse);
    let order = |p: &Proposal| (p.change.worse, std::cmp::Reverse(p.change.better), p.kind, p.about.clone());
    made.proposals.sort_by_key(order);
    made.left_out.sort_by_key(|p| (p.change.worse, p.kind, p.about.clone()));
    made
}

struct Scales<'c> {
    table: &'c StageTable,
    candidates: &'c [Candidate],
    changes: Vec<Change>,
}

impl Clerk for Scales<'_> {
    fn take(&mut self, _: Place, _: &str, run: &Recording) -> Result<(), CannotPlay> {
        let base = play(self.table, run)?;
        for (candidate, change) in self.candidates.iter().zip(&mut self.changes) {
            let uses = |tool: &String| run.turns.iter().flat_map(|turn| &turn.calls).any(|call| call.tool == *tool);
            if candidate.tool.as_ref().is_none_or(uses) {
                *change += Change::of(run.success, &base, &play(&candidate.table, run)?);
            }
        }
        Ok(())
    }
}
