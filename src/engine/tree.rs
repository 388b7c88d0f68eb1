//! What no run can exceed together with all its nested runs.

use super::recursion::Limits;
use crate::table::model::{Model, Spend};
use crate::table::{Name, StageTable};
use indexmap::IndexMap;

/// Chains looked at; a table with more of them has no bound that anybody could read.
const MAX_CHAINS: usize = 20_000;

/// Replies that no run of the table can exceed with all its nested runs; `u64::MAX` when there are too many chains of
/// nested runs to say.
///
/// Nested runs with `spend: parent` spend the steps of the run that calls them. Each with `spend: own` adds its own.
#[must_use]
pub fn ceiling(table: &StageTable) -> u64 {
    let own = u64::from(table.ceiling());
    let spends = |t: &Model| t.tools.iter().any(|t| t.nested.as_ref().is_some_and(|n| n.spend == Spend::Own));
    if !table.with_nested().any(spends) {
        return own;
    }
    let mut walk = Walk { root: table, chain: Vec::new(), looked_at: 0, calls: IndexMap::new() };
    own.saturating_add(walk.beside(table, Limits { depth: table.limits.depth, reentry: table.limits.reentry }))
}

struct Walk<'t> {
    root: &'t Model,
    chain: Vec<Name>,
    looked_at: usize,
    /// By table: its nested runs with how often each can be called.
    calls: IndexMap<String, Vec<(Name, u64)>>,
}

impl<'t> Walk<'t> {
    /// Steps that the nested runs of one run of `table` take beside its own.
    fn beside(&mut self, table: &'t Model, limits: Limits) -> u64 {
        let calls = self.calls_of(table);
        let mut sum = 0_u64;
        for (tool, most) in calls {
            let Some(nested) = table.tool_entry(&tool).and_then(|t| t.nested.as_ref()) else { continue };
            let Some(inner) = self.root.nested_table(&nested.file) else { continue };
            if limits.check(self.chain.iter(), &tool).is_err() {
                continue;
            }
            self.looked_at += 1;
            if self.looked_at > MAX_CHAINS {
                return u64::MAX;
            }
            let narrowed = limits.narrowed(Limits { depth: inner.limits.depth, reentry: inner.limits.reentry });
            self.chain.push(tool);
            let beside = self.beside(inner, narrowed);
            self.chain.pop();
            let own = if nested.spend == Spend::Own { u64::from(inner.ceiling()) } else { 0 };
            sum = sum.saturating_add(most.saturating_mul(own.saturating_add(beside)));
        }
        sum
    }

    fn calls_of(&mut self, table: &Model) -> Vec<(Name, u64)> {
        if let Some(known) = self.calls.get(&table.source.file) {
            return known.clone();
        }
        let bounds = table.bounds();
        let every = u64::from(bounds.ceiling).saturating_mul(u64::from(table.limits.calls_per_step));
        let nested = table.tools.iter().filter(|t| t.nested.is_some());
        let calls: Vec<(Name, u64)> = nested
            .map(|t| {
                let name = t.name.as_str();
                (name.into(), bounds.max_calls.get(name).copied().flatten().map_or(every, u64::from))
            })
            .collect();
        self.calls.insert(table.source.file.clone(), calls.clone());
        calls
    }
}
