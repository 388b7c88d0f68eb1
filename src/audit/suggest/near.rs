//! Runs that came near a limit while still calling, and the exit that was missing.

use super::label::Labels;
use crate::audit::play::Played;
use crate::engine::summary::NEAR;
use crate::table::StageTable;
use crate::table::model::{LeaveBy, Next, OnExhausted, Stage};
use serde::Serialize;
use std::collections::BTreeMap;

/// Runs near one limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearLimit {
    /// The stage; `None` = the whole run.
    pub stage: Option<String>,
    /// Its steps, or the ceiling.
    pub steps: u32,
    /// Runs that had at most three steps left and called tools in the last reply there; those that succeeded are left out.
    pub runs: Labels,
    /// The first of them by name, for `--explain`.
    pub example: String,
    /// Which exits were missing.
    pub missing: Vec<String>,
}

/// Runs near limits, by stage; without one, those near the ceiling.
#[derive(Debug, Default)]
pub(super) struct Near(BTreeMap<Option<String>, (Labels, String)>);

impl Near {
    /// Takes in a run. Those that succeeded found their exit.
    pub(super) fn see(&mut self, table: &StageTable, id: &str, success: Option<bool>, played: &Played) {
        if success == Some(true) {
            return;
        }
        for charged in played.charged.iter().filter(|charged| charged.calling) {
            // In a stage of three steps every call would be near its end.
            let near = charged.step.saturating_add(NEAR) >= charged.budget;
            if near && (charged.budget > NEAR || charged.step == charged.budget) {
                self.count(Some(charged.stage.to_string()), id, success);
            }
        }
        let last = played.charged.last().filter(|charged| charged.calling);
        if table.stages().len() > 1 && last.is_some_and(|last| last.of_run.saturating_add(NEAR) >= table.ceiling()) {
            self.count(None, id, success);
        }
    }

    fn count(&mut self, stage: Option<String>, id: &str, success: Option<bool>) {
        let mut one = Labels::default();
        one.count(success);
        self.add(stage, one, id.to_owned());
    }

    fn add(&mut self, stage: Option<String>, labels: Labels, id: String) {
        let (runs, first) = self.0.entry(stage).or_insert_with(|| (Labels::default(), id.clone()));
        *runs += labels;
        if id < *first {
            *first = id;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(stage, (labels, id))| self.add(stage, labels, id));
    }

    /// In the order of the stages, the ceiling last.
    pub(super) fn finish(self, table: &StageTable) -> Vec<NearLimit> {
        let mut found = Vec::new();
        for stage in table.stages() {
            if let Some((runs, example)) = self.0.get(&Some(stage.name.to_string())) {
                found.push(NearLimit {
                    stage: Some(stage.name.to_string()),
                    steps: stage.budget(),
                    runs: *runs,
                    example: example.clone(),
                    missing: missing(table, stage),
                });
            }
        }
        if let Some((runs, example)) = self.0.get(&None) {
            found.push(NearLimit {
                stage: None,
                steps: table.ceiling(),
                runs: *runs,
                example: example.clone(),
                missing: vec!["the stages above used it up; or the last of them needs more steps".to_owned()],
            });
        }
        found
    }
}

/// What would have let a model out of a stage that goes on calling.
fn missing(table: &StageTable, stage: &Stage) -> Vec<String> {
    if stage.is_final() {
        return vec![
            "only an answer ends this stage, and none came; a rule with `end` could".to_owned(),
            "`guards: { conservative: { below: 3 } }` in the stage before keeps the last steps for tools that worked"
                .to_owned(),
        ];
    }
    let mut said = Vec::new();
    let LeaveBy { answer: _, advance, call } = stage.leave_by;
    if !advance {
        said.push("`leave_by` lacks `advance`, the way out for a model that always calls something".to_owned());
    }
    if let (false, Some(next)) = (call, acting_next(table, stage)) {
        said.push(format!(
            "`leave_by` lacks `call`, so a call that only `{}` allows does not move the run on",
            next.name
        ));
    }
    if !stage.requires.is_empty() {
        let facts: Vec<String> = stage
            .requires
            .iter()
            .filter_map(|(fact, _)| table.facts.get(fact.index()))
            .map(|fact| format!("`{}`", fact.name))
            .collect();
        said.push(format!("leaving `requires` {}; is there a call in this stage that sets it?", facts.join(", ")));
    }
    if stage.on_exhausted == OnExhausted::End {
        said.push(
            "`on_exhausted: end` closes the run here; `next` or the name of a stage would let it go on".to_owned(),
        );
    }
    if said.is_empty() {
        said.push("every exit is open; the goal may not say when the stage is done".to_owned());
    }
    said
}

/// The stage that `next` names, where it allows any tool.
pub(super) fn acting_next<'t>(table: &'t StageTable, stage: &Stage) -> Option<&'t Stage> {
    let Next::Stage(id) = stage.next else { return None };
    table.stages().get(id.index()).filter(|next| !next.allowed.is_none())
}
