//! The digest: what was done, told without the model; and the summary.

use super::frame::Frame;
use super::outcome::Limit;
use super::speak::shortened;
use super::summary::{StageSpent, Summary, Tokens, Tree};
use crate::table::StageId;
use crate::table::messages::Message as Say;
use std::fmt::Write;

/// Recent calls told in a digest.
pub const MAX_BRIEFS: usize = 12;
/// Longest product quoted in a digest, in characters.
const MAX_PRODUCT: usize = 600;

impl Frame {
    /// The answer of a run whose model gave none: why, and what was done.
    pub(super) fn answer_without_model(&self, reason: &str) -> String {
        format!("{}\n{}", self.say(Say::Digest, || vec![("reason", reason.into())]), self.digest())
    }

    /// What was done: the recent calls and the products.
    pub(super) fn digest(&self) -> String {
        let mut told = String::new();
        let listed: usize = self.briefs.len();
        let calls = self.proposed;
        if calls > listed {
            let _ = writeln!(told, "- ({} earlier calls)", calls - listed);
        }
        for brief in &self.briefs {
            let _ = writeln!(told, "- {} {}: {}", brief.tool, brief.args, brief.came_to);
        }
        if calls == 0 {
            told.push_str("- no call was made\n");
        }
        for (stage, product) in self.products() {
            if !product.is_empty() {
                let _ = writeln!(told, "{stage}: {}", shortened(product, MAX_PRODUCT));
            }
        }
        told.truncate(told.trim_end().len());
        told
    }

    pub(super) fn limit(&self) -> Option<Limit> {
        let (kind, stage, used, of) = self.core.closing.as_ref()?.limit?;
        Some(Limit { kind, stage: self.stage_name(stage).to_string(), used, of })
    }

    /// Where this run stands, or how it ended; of its nested runs nothing.
    pub(super) fn summary(&self, run: String, outcome: Option<super::outcome::Outcome>) -> Summary {
        let ids = (0..self.table.stages.len()).filter_map(|i| u16::try_from(i).ok().map(StageId));
        let completed = outcome == Some(super::outcome::Outcome::Completed);
        Summary {
            run,
            workflow: self.table.workflow.to_string(),
            outcome,
            limit: self.limit(),
            stage: self.stage_name(self.core.stage).to_string(),
            steps: self.core.steps,
            ceiling: self.table.ceiling().saturating_add(self.core.granted),
            stages: ids
                .map(|id| StageSpent {
                    name: self.stage_name(id).to_string(),
                    entered: self.core.times_entered(id),
                    steps: self.core.spent_in(id),
                    budget: self.core.budget(&self.table, id),
                })
                .collect(),
            tools: self.counts.iter().map(|(name, counts)| (name.to_string(), *counts)).collect(),
            violations: self.core.violations,
            rollbacks: self.core.rollbacks,
            not_undone: if completed { Vec::new() } else { self.writes.clone() },
            tokens: Tokens { input: self.core.tokens.0, output: self.core.tokens.1 },
            text: self.answer.clone(),
            digest: self.digest(),
            retryable: outcome.is_some_and(super::outcome::Outcome::is_pause),
            tree: Tree::default(),
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let outcome = self.outcome.map_or("running", |o| o.as_str());
        write!(f, "{outcome} in {} after {} of {} steps", self.stage, self.steps, self.ceiling)?;
        if let Some(limit) = &self.limit {
            let kind = serde_json::to_value(limit.kind).ok();
            let kind = kind.as_ref().and_then(|k| k.as_str()).unwrap_or("a");
            write!(f, " ({kind} limit: {} of {} in {})", limit.used, limit.of, limit.stage)?;
        }
        for (tool, c) in &self.tools {
            write!(f, "\n  {tool}: {} run", c.run)?;
            for (n, what) in [(c.reused, "reused"), (c.refused, "refused"), (c.failed, "failed")] {
                if n > 0 {
                    write!(f, ", {n} {what}")?;
                }
            }
        }
        if self.violations > 0 {
            write!(f, "\n  violations: {}, rollbacks: {}", self.violations, self.rollbacks)?;
        }
        for write in &self.not_undone {
            write!(f, "\n  stands: {} {}", write.tool, shortened(&write.args, 120))?;
        }
        write!(f, "\n{}", self.text)
    }
}
