//! What the runs nested in a run may call: they are not explored with it, so each counts for all it could do, in the
//! stage and at the moment its call starts.

use super::overlap;
use crate::table::model::{Allowed, Guarantee, NestedRun};
use crate::table::names::NamePattern;
use crate::table::{Model, Name, StageTable};
use std::collections::HashMap;

/// More calls than any guarantee allows.
const ANY: u32 = u32::MAX;

/// Calls that one nested run, with those nested in it, may make of what each guarantee speaks of; 0 = none.
pub fn calls(root: &StageTable, nested: &NestedRun) -> Vec<u32> {
    let of = |guarantee: &Guarantee| match guarantee {
        Guarantee::Never { tool, .. } | Guarantee::OnlyIn { tool, .. } => most(root, nested, tool),
        // The table's own `max_calls` count what runs in nested runs.
        Guarantee::AtMost { tool, times } if bounds(root, tool, *times) => 0,
        Guarantee::AtMost { tool, .. } => most(root, nested, tool),
        Guarantee::Within { .. } | Guarantee::Reaches(_) => 0,
    };
    root.guarantees.iter().map(of).collect()
}

/// Whether the table's own `max_calls` keep a tool within so many calls, nested runs and all.
fn bounds(root: &StageTable, tool: &NamePattern, times: u32) -> bool {
    tool.is_exact() && root.tool_entry(tool.as_str()).and_then(|e| e.max_calls).is_some_and(|most| most <= times)
}

/// Calls of `tool` that one such run may make, with those nested in it.
fn most(root: &StageTable, nested: &NestedRun, tool: &NamePattern) -> u32 {
    Count { root, tool, known: HashMap::new() }.of(&nested.file)
}

/// Counts through the tables of nested runs.
struct Count<'t> {
    root: &'t StageTable,
    tool: &'t NamePattern,
    /// By table the calls of a run of it; `None` while they are being counted.
    known: HashMap<Name, Option<u32>>,
}

impl Count<'_> {
    fn of(&mut self, file: &Name) -> u32 {
        if let Some(known) = self.known.get(file) {
            // What comes round is called any number of times, if at all.
            let any = || self.root.with_nested().any(|table| may_call(table, self.tool));
            return known.unwrap_or_else(|| if any() { ANY } else { 0 });
        }
        let Some(table) = self.root.nested_table(file) else { return ANY };
        self.known.insert(file.clone(), None);
        let counted = table.bounds().max_calls;
        let limit = |name: &str| counted.get(name).copied().flatten().unwrap_or(ANY);
        let mut sum = own(table, self.tool, &limit);
        for entry in &table.tools {
            if let Some(inner) = &entry.nested {
                // None, however often.
                let each = self.of(&inner.file);
                let times = if each == 0 { 0 } else { limit(entry.name.as_str()) };
                sum = sum.saturating_add(each.saturating_mul(times));
            }
        }
        self.known.insert(file.clone(), Some(sum));
        sum
    }
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

#[cfg(test)]
mod tests {
    use super::{ANY, calls};
    use crate::table::StageTable;

    /// What one run of `dig` may call, in which `deep` is nested.
    fn below(deep: &str) -> Vec<u32> {
        let head = "stagekeeper: 1\nworkflow: w\n";
        let root = format!(
            "{head}tools: {{ dig: {{ workflow: dig.yaml }}, send: {{ effect: write }} }}
stages: {{ act: {{ goal: Act., allowed_tools: [dig, send], max_steps: 9 }} }}
guarantees: [{{ at_most: {{ tool: 's*', times: 9 }} }}, {{ reaches: act }}]
"
        );
        let dig = format!(
            "{head}tools: {{ deep: {{ workflow: deep.yaml, max_calls: 3 }}, send: {{ max_calls: 1 }} }}
stages: {{ act: {{ goal: Act., allowed_tools: [deep, send], max_steps: 9 }} }}
"
        );
        let mut include = |name: &str| match name {
            "dig.yaml" => Ok(dig.clone()),
            "deep.yaml" => Ok(format!("{head}{deep}")),
            other => Err(format!("no {other}")),
        };
        let table = StageTable::parse_with("t.yaml", &root, &mut include).unwrap_or_else(|e| panic!("{e}"));
        let nested = table.tools.iter().find_map(|t| t.nested.as_ref()).unwrap();
        calls(&table, nested)
    }

    #[test]
    fn calls_add_up_over_what_is_nested() {
        let two = "tools: { send: { max_calls: 2 } }
stages: { act: { goal: Act., allowed_tools: [send], max_steps: 9 } }
";
        assert_eq!(below(two), [1 + 3 * 2, 0]);
        let none = "stages: { act: { goal: Act., allowed_tools: [ls], max_steps: 9 } }\n";
        assert_eq!(below(none), [1, 0]);
    }

    #[test]
    fn what_comes_round_is_called_any_number_of_times() {
        let round = "tools: { again: { workflow: dig.yaml, max_calls: 1 } }
stages: { act: { goal: Act., allowed_tools: [again], max_steps: 9 } }
";
        assert_eq!(below(round), [ANY, 0]);
    }
}
