//! The tools a proof calls: every tool that is named, a name for every pattern, and one for each class of tools that
//! no table entry can tell apart.

use crate::engine::roster::{Roster, ToolIdx};
use crate::engine::view::ToolSpec;
use crate::table::StageTable;
use crate::table::model::{Allowed, FactFrom, Guarantee};
use crate::table::names::NamePattern;
use indexmap::IndexSet;

/// Most sample names of pairs of patterns.
const MAX_PAIRS: usize = 4_096;

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
    all.extend(table.rules.iter().flat_map(|r| r.tools.iter().cloned()));
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

/// The tools of a table as a host would offer them: the named ones, and for each pattern, and each two of them, a name
/// that fits. The second list says which names are samples.
pub fn tools(table: &StageTable) -> (Vec<ToolSpec>, Vec<bool>) {
    let patterns = patterns(table);
    let mut names: IndexSet<String> = IndexSet::new();
    names.extend(patterns.iter().filter(|p| p.is_exact()).map(|p| p.as_str().to_owned()));
    let exact = names.len();
    let open: Vec<&NamePattern> = patterns.iter().filter(|p| !p.is_exact()).collect();
    for pattern in &open {
        names.insert(pattern.as_str().replace('*', "x"));
    }
    let pairs = open.iter().flat_map(|a| open.iter().map(move |b| (a, b))).filter(|(a, b)| a != b);
    for (a, b) in pairs.take(MAX_PAIRS) {
        names.insert(a.as_str().replace('*', &b.as_str().replace('*', "x")));
        // `get_*` and `*_secret` meet in `get_x_secret`.
        let joined = a.as_str().trim_end_matches('*').to_owned() + &b.as_str().replace('*', "x");
        if a.matches(&joined) && b.matches(&joined) {
            names.insert(joined);
        }
    }
    let samples = (0..names.len()).map(|at| at >= exact).collect();
    (names.into_iter().map(ToolSpec::named).collect(), samples)
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
}

/// How the table treats a tool.
pub fn treatment(table: &StageTable, roster: &Roster, tool: ToolIdx) -> Treatment {
    let name = roster.name(tool);
    let entry = roster.entry(table, tool);
    let any = |list: &[NamePattern]| list.iter().any(|p| p.matches(&name));
    // Entries that differ in what only runners read are alike for a proof.
    let alike = |other: &crate::table::model::ToolEntry| {
        other.effect == entry.effect
            && other.max_calls == entry.max_calls
            && other.approval == entry.approval
            && other.requires.iter().map(|r| r.0).eq(entry.requires.iter().map(|r| r.0))
    };
    Treatment {
        entry: table.tools.iter().position(alike).unwrap_or(usize::MAX),
        stages: table.stages.iter().map(|s| s.allowed.allows(&name)).collect(),
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
    }
}
