//! What the runs nested in a run may call: they are not explored with it, so each counts for all it could do, in the
//! stage and at the moment its call starts.

use super::overlap;
use crate::table::model::{Allowed, Guarantee, NestedRun};
use crate::table::names::NamePattern;
use crate::table::{Model, StageTable};

/// More calls than any guarantee allows.
const ANY: u32 = u32::MAX;

/// Calls that one nested run, with those nested in it, may make of what each guarantee speaks of; 0 = none.
pub fn calls(root: &StageTable, nested: &NestedRun) -> Vec<u32> {
    let of = |guarantee: &Guarantee| match guarantee {
        Guarantee::Never { tool, .. } | Guarantee::OnlyIn { tool, .. } => most(root, nested, tool, &mut Vec::new()),
        // The table's own `max_calls` count what runs in nested runs.
        Guarantee::AtMost { tool, times } if bounds(root, tool, *times) => 0,
        Guarantee::AtMost { tool, .. } => most(root, nested, tool, &mut Vec::new()),
        Guarantee::Within { .. } | Guarantee::Reaches(_) => 0,
    };
    root.guarantees.iter().map(of).collect()
}

/// Whether the table's own `max_calls` keep a tool within so many calls, nested runs and all.
fn bounds(root: &StageTable, tool: &NamePattern, times: u32) -> bool {
    tool.is_exact() && root.tool_entry(tool.as_str()).and_then(|e| e.max_calls).is_some_and(|most| most <= times)
}

/// Calls of `tool` that one such run may make, with those nested in it.
fn most(root: &StageTable, nested: &NestedRun, tool: &NamePattern, chain: &mut Vec<String>) -> u32 {
    let Some(table) = root.nested_table(&nested.file) else { return ANY };
    if chain.iter().any(|file| **file == *nested.file) {
        // What comes round is called any number of times, if at all.
        return if may_call(table, tool) { ANY } else { 0 };
    }
    chain.push(nested.file.to_string());
    let counted = table.bounds().max_calls;
    let limit = |name: &str| counted.get(name).copied().flatten().unwrap_or(ANY);
    let mut sum = own(table, tool, &limit);
    for entry in &table.tools {
        if let Some(inner) = &entry.nested {
            let each = most(root, inner, tool, chain);
            sum = sum.saturating_add(if each == 0 { 0 } else { each.saturating_mul(limit(entry.name.as_str())) });
        }
    }
    chain.pop();
    sum
}

/// Calls of `tool` that a run of the table may make itself.
fn own(table: &Model, tool: &NamePattern, limit: &dyn Fn(&str) -> u32) -> u32 {
    let mut names: Vec<&str> = Vec::new();
    for stage in &table.stages {
        let Allowed::These { list, .. } = &stage.allowed else { return ANY };
        for allowed in list.iter().filter(|p| overlap::meet(p, tool)) {
            if !allowed.is_exact() && !tool.is_exact() {
                return ANY;
            }
            let name = if allowed.is_exact() { allowed.as_str() } else { tool.as_str() };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.into_iter().fold(0, |sum, name| sum.saturating_add(limit(name)))
}

/// Whether a stage of the table may allow a tool of that pattern.
fn may_call(table: &Model, tool: &NamePattern) -> bool {
    own(table, tool, &|_| 1) > 0
}
