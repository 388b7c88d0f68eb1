//! What no run of a table can exceed, computed from the table alone.

use super::model::{Action, Allowed, Model, Stage};
use super::names::NamePattern;
use indexmap::IndexMap;
use serde::Serialize;
use std::collections::HashSet;

/// The bounds that `check` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Steps no run can exceed: the sum of the stage budgets, retries and declared extensions included.
    pub ceiling: u32,
    /// The same in a proxy or a hook, where every call is a step: the budgets of the stages that allow any tool,
    /// narrowed by `limits.max_calls`.
    pub ceiling_calls: u32,
    /// Model replies no run can exceed. Every reply is charged, so this is the ceiling.
    pub max_replies: u32,
    /// Calls that can run, by tool (for a pattern: of each tool that matches), catalogue first, then the stages:
    /// the narrowest of its own `max_calls`, the steps of the stages that allow it times `calls_per_step`, the
    /// `max_calls` of those stages and of the run. `None` where only the ceiling bounds it.
    pub max_calls: IndexMap<String, Option<u32>>,
}

impl Model {
    /// What no run of the table can exceed.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let budgets = self.budgets();
        let in_proxy: u64 =
            self.stages.iter().zip(&budgets).filter(|(s, _)| !s.allowed.is_none()).map(|(_, steps)| *steps).sum();
        let in_stage: Vec<u64> = self.stages.iter().zip(&budgets).map(|(s, steps)| self.calls_in(s, *steps)).collect();
        let places = Places::of(self);
        let unbounded: u64 = budgets.iter().sum::<u64>().saturating_mul(u64::from(self.limits.calls_per_step));
        let mut max_calls = IndexMap::new();
        for tool in self.named_tools() {
            let most = self.most_calls(&tool, &in_stage, &places);
            let bound = (most < unbounded).then(|| narrow(most));
            max_calls.insert(tool.as_str().to_owned(), bound);
        }
        Bounds {
            ceiling: self.ceiling(),
            ceiling_calls: narrow(self.limits.max_calls.map_or(in_proxy, |most| in_proxy.min(u64::from(most)))),
            max_replies: self.ceiling(),
            max_calls,
        }
    }

    /// Steps of each stage, declared extensions included.
    fn budgets(&self) -> Vec<u64> {
        let mut budgets: Vec<u64> = self.stages.iter().map(|s| u64::from(s.budget())).collect();
        for rule in &self.rules {
            if let Action::Extend(stage, steps) = rule.action
                && let Some(budget) = budgets.get_mut(stage.index())
            {
                *budget += u64::from(steps);
            }
        }
        budgets
    }

    /// Calls that can run in a stage.
    fn calls_in(&self, stage: &Stage, steps: u64) -> u64 {
        let per_step = u64::from(self.limits.calls_per_step);
        let by_steps = if stage.is_final() {
            // The last step is kept for the answer, except in a proxy, where each step is one call.
            steps.saturating_sub(1).saturating_mul(per_step).max(steps)
        } else {
            steps.saturating_mul(per_step)
        };
        stage.max_calls.map_or(by_steps, |most| by_steps.min(u64::from(most)))
    }

    fn most_calls(&self, tool: &NamePattern, in_stage: &[u64], places: &Places) -> u64 {
        let by_stages = places.stages(tool).into_iter().filter_map(|i| in_stage.get(i)).sum();
        let own =
            if tool.is_exact() { self.tool_entry(tool.as_str()) } else { self.tools.iter().find(|t| t.name == *tool) };
        let own = own.and_then(|t| t.max_calls).map_or(u64::MAX, u64::from);
        let run = self.limits.max_calls.map_or(u64::MAX, u64::from);
        own.min(run).min(by_stages)
    }

    /// The tools that the table names, each once: exact names and patterns.
    fn named_tools(&self) -> Vec<NamePattern> {
        let mut seen = HashSet::new();
        let of_stages = self.stages.iter().flat_map(|s| match &s.allowed {
            Allowed::All => [].iter(),
            Allowed::These { list, .. } => list.iter(),
        });
        self.tools.iter().map(|t| &t.name).chain(of_stages).filter(|name| seen.insert(*name)).cloned().collect()
    }
}

/// Which stages allow what, so that no tool has to ask every stage.
struct Places {
    everything: Vec<usize>,
    exact: IndexMap<String, Vec<usize>>,
    patterns: Vec<(NamePattern, usize)>,
}

impl Places {
    fn of(model: &Model) -> Self {
        let mut places = Self { everything: Vec::new(), exact: IndexMap::new(), patterns: Vec::new() };
        for (i, stage) in model.stages.iter().enumerate() {
            match &stage.allowed {
                Allowed::All => places.everything.push(i),
                Allowed::These { list, .. } => {
                    for name in list {
                        if name.is_exact() {
                            places.exact.entry(name.as_str().to_owned()).or_default().push(i);
                        } else {
                            places.patterns.push((name.clone(), i));
                        }
                    }
                }
            }
        }
        places
    }

    /// The stages that may allow the tool, each once.
    fn stages(&self, tool: &NamePattern) -> Vec<usize> {
        let mut found = self.everything.clone();
        match self.exact.get(tool.as_str()) {
            Some(stages) => found.extend(stages),
            None if !tool.is_exact() => {
                found.extend(self.exact.iter().filter(|(name, _)| tool.matches(name)).flat_map(|(_, stages)| stages));
            }
            None => {}
        }
        found.extend(self.patterns.iter().filter(|(p, _)| p.overlaps(tool)).map(|(_, i)| *i));
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
