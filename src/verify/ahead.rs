//! What lies ahead of a stage: the stages that can still be entered from there, and what any of them has.

use crate::table::model::{Action, Next, OnExhausted};
use crate::table::{StageId, StageTable};
use std::collections::BTreeSet;

/// Where each stage leads.
#[derive(Debug)]
pub struct Ahead {
    /// By stage: the stages it can lead to at once.
    leads: Vec<BTreeSet<usize>>,
    /// By stage: the stages that can be entered from there, itself included.
    pub stages: Vec<Vec<bool>>,
}

impl Ahead {
    /// Along `next`, when a budget is spent, by a rule, back from an aside; `anywhere`: from each stage to each.
    pub fn new(table: &StageTable, anywhere: bool) -> Self {
        let count = table.stages.len();
        let mut leads = if anywhere { vec![(0..count).collect(); count] } else { steps(table) };
        loop {
            let own = (0..count).map(|at| (0..count).map(|to| to == at).collect()).collect();
            let stages = spread(&leads, own);
            if !lead_back(table, &stages, &mut leads) {
                return Self { leads, stages };
            }
        }
    }

    /// By stage what it has itself, to by stage what any stage ahead has.
    pub fn any(&self, own: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
        spread(&self.leads, own)
    }
}

/// From each stage to those that come next.
fn steps(table: &StageTable) -> Vec<BTreeSet<usize>> {
    let leads = table.stages.iter().zip(0..).map(|(stage, at)| {
        let by_rule = table.rules.iter().filter_map(move |rule| match rule.action {
            Action::Goto(to) if rule.stage.is_none_or(|s| s == StageId(at)) => Some(to.index()),
            _ => None,
        });
        let mut leads: BTreeSet<usize> = by_rule.collect();
        if let Next::Stage(to) = stage.next {
            leads.insert(to.index());
        }
        if let OnExhausted::Stage(to) = stage.on_exhausted {
            leads.insert(to.index());
        }
        leads
    });
    leads.collect()
}

/// An aside that goes back leads to every stage from which it can be entered. `false`: that was known.
fn lead_back(table: &StageTable, stages: &[Vec<bool>], leads: &mut [BTreeSet<usize>]) -> bool {
    let mut new = false;
    for (back, (stage, leads)) in table.stages.iter().zip(leads).enumerate() {
        if stage.next != Next::Back {
            continue;
        }
        for (from, ahead) in stages.iter().enumerate() {
            if ahead.get(back).copied().unwrap_or(false) {
                new |= leads.insert(from);
            }
        }
    }
    new
}

/// Gives each row what the rows it leads to have, until nothing is new. Stages mostly lead to later ones, so that going
/// from the last to the first needs few rounds.
fn spread(leads: &[BTreeSet<usize>], mut rows: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    loop {
        let mut new = false;
        for (at, leads) in leads.iter().enumerate().rev() {
            let Some(mut row) = rows.get_mut(at).map(std::mem::take) else { continue };
            for other in leads.iter().filter(|to| **to != at).filter_map(|to| rows.get(*to)) {
                for (has, more) in row.iter_mut().zip(other) {
                    new |= *more && !*has;
                    *has |= *more;
                }
            }
            if let Some(place) = rows.get_mut(at) {
                *place = row;
            }
        }
        if !new {
            return rows;
        }
    }
}
