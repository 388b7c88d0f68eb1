//! The tools a proof calls: every tool that is named, a name for every set of patterns that meet in one, and of tools
//! that the table treats alike the first.

use super::overlap::{self, Samples};
use super::plan::Plan;
use super::when::Evaluable;
use crate::engine::roster::{MAX_TOOLS, ToolIdx};
use crate::engine::view::ToolSpec;
use crate::table::StageTable;
use crate::table::model::{Allowed, FactFrom, Guarantee};
use crate::table::names::NamePattern;
use indexmap::IndexSet;
use std::collections::BTreeSet;

/// All patterns of a table that speak of tools.
fn patterns(table: &StageTable) -> Vec<NamePattern> {
    let mut all: Vec<NamePattern> = Vec::new();
    all.extend(table.tools.iter().map(|t| t.name.clone()));
    for stage in &table.stages {
        match &stage.allowed {
            Allowed::All => all.push(NamePattern::new("*")),
            Allowed::These { list, .. } => all.extend(list.iter().cloned()),
        }
        all.extend(stage.guards.conservative.allow.iter().cloned());
        all.extend(stage.guards.conservative.deny.iter().cloned());
    }
    for rule in &table.rules {
        all.extend(rule.tools.iter().cloned());
        // `called('fs_read')` tells that tool from all others of its pattern.
        let when = rule.when.as_ref().and_then(|when| Evaluable::new(table, when));
        all.extend(when.iter().flat_map(|when| &when.tools).map(|tool| NamePattern::new(tool)));
    }
    for fact in &table.facts {
        all.extend(fact.cleared_by.iter().cloned());
        if let FactFrom::Result(tools) = &fact.from {
            all.extend(tools.iter().cloned());
        }
    }
    for guarantee in &table.guarantees {
        match guarantee {
            Guarantee::Never { tool, before } => all.extend([tool.clone(), before.clone()]),
            Guarantee::AtMost { tool, .. } | Guarantee::OnlyIn { tool, .. } => all.push(tool.clone()),
            Guarantee::Within { .. } | Guarantee::Reaches(_) => {}
        }
    }
    let mut seen = IndexSet::new();
    all.retain(|p| seen.insert(p.as_str().to_owned()));
    all
}

/// The tools of a table as a host would offer them.
#[derive(Debug)]
pub struct Tools {
    pub specs: Vec<ToolSpec>,
    /// By tool: it is a sample, which stands for any number of names that the same patterns match.
    pub samples: Vec<bool>,
    /// Every name that a host could offer is one of them, or is treated like one.
    pub complete: bool,
}

/// The tools that are named, and a name for every set of patterns that meet in one.
pub fn tools(table: &StageTable) -> Tools {
    let patterns = patterns(table);
    let (exact, open): (Vec<_>, Vec<_>) = patterns.into_iter().partition(NamePattern::is_exact);
    let named: BTreeSet<&str> = exact.iter().map(NamePattern::as_str).collect();
    let Samples { names, complete } = overlap::samples(&open, &named);
    let all = exact.iter().map(NamePattern::as_str).chain(names.iter().map(String::as_str));
    Tools {
        specs: all.map(ToolSpec::named).collect(),
        samples: exact.iter().map(|_| false).chain(names.iter().map(|_| true)).collect(),
        complete: complete && exact.len() + names.len() <= MAX_TOOLS,
    }
}

/// What the table says of a tool: equal for tools that it treats alike.
#[derive(PartialEq, Eq, Hash)]
pub struct Treatment {
    entry: usize,
    stages: Vec<bool>,
    rules: Vec<bool>,
    facts: Vec<(bool, bool)>,
    guarantees: Vec<(bool, bool)>,
    guards: Vec<(bool, bool)>,
    below: Vec<u32>,
}

/// How the table treats a tool.
pub fn treatment(plan: &Plan, tool: ToolIdx) -> Treatment {
    let Plan { table, roster, allowed, .. } = plan;
    let name = roster.name(tool);
    let entry = roster.entry(table, tool);
    let any = |list: &[NamePattern]| list.iter().any(|p| p.matches(&name));
    // Entries that differ in what only runners read are alike for a proof.
    let alike = |other: &crate::table::model::ToolEntry| {
        other.effect == entry.effect
            && other.max_calls == entry.max_calls
            && other.approval == entry.approval
            && other.nested.as_ref().map(|n| n.spend) == entry.nested.as_ref().map(|n| n.spend)
            && other.requires.iter().map(|r| r.0).eq(entry.requires.iter().map(|r| r.0))
    };
    Treatment {
        entry: table.tools.iter().position(alike).unwrap_or(usize::MAX),
        stages: allowed.iter().map(|stage| stage.get(tool.index()).copied().unwrap_or(false)).collect(),
        rules: table.rules.iter().map(|r| r.tools.is_empty() || any(&r.tools)).collect(),
        facts: table
            .facts
            .iter()
            .map(|f| (any(&f.cleared_by), matches!(&f.from, FactFrom::Result(tools) if any(tools))))
            .collect(),
        guarantees: table
            .guarantees
            .iter()
            .map(|g| match g {
                Guarantee::Never { tool, before } => (tool.matches(&name), before.matches(&name)),
                Guarantee::AtMost { tool, .. } | Guarantee::OnlyIn { tool, .. } => (tool.matches(&name), false),
                Guarantee::Within { .. } | Guarantee::Reaches(_) => (false, false),
            })
            .collect(),
        guards: table
            .stages
            .iter()
            .map(|s| (any(&s.guards.conservative.allow), any(&s.guards.conservative.deny)))
            .collect(),
        below: (0..table.guarantees.len()).map(|at| plan.calls_below(tool, at)).collect(),
    }
}
