//! The tools of one run: which are known, which the model is offered, and what a name resolves to.

use super::view::ToolSpec;
use crate::table::model::{Allowed, ToolEntry};
use crate::table::{Model, Name, StageTable};
use std::collections::HashMap;

/// The control tool's name.
pub const ADVANCE: &str = "advance";
/// Most tools one run may know.
pub const MAX_TOOLS: usize = 20_000;
/// Near names suggested for an unknown one.
pub const MAX_NEAR: usize = 3;

/// A tool's place in the roster, in order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolIdx(pub u16);

impl ToolIdx {
    /// The index into per-tool lists.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a proposed name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// A tool.
    Tool(ToolIdx),
    /// The control tool.
    Advance,
    /// Nothing known; the near names.
    Unknown(Vec<Name>),
}

/// The tools of one run.
#[derive(Clone, Debug)]
pub struct Roster {
    offered: Vec<ToolSpec>,
    names: Vec<Name>,
    entries: Vec<Option<u32>>,
    index: HashMap<Name, ToolIdx>,
    aliases: HashMap<Name, ToolIdx>,
    /// Lower case and bare suffixes → the one tool meant, or several.
    loose: HashMap<String, Option<ToolIdx>>,
    /// With `all` or a pattern and no host list, any matching name is known.
    open: bool,
    advance: bool,
    undeclared: ToolEntry,
}

impl Roster {
    /// From the host's list, or from catalogue and stages.
    #[must_use]
    pub fn new(table: &StageTable, host: Option<Vec<ToolSpec>>, advance: ToolSpec) -> Self {
        let open = host.is_none() && has_open_names(table);
        let mut roster = Self {
            offered: Vec::new(),
            names: Vec::new(),
            entries: Vec::new(),
            index: HashMap::new(),
            aliases: HashMap::new(),
            loose: HashMap::new(),
            open,
            advance: table.stages.iter().any(|s| s.leave_by.advance),
            undeclared: ToolEntry::undeclared(),
        };
        let specs = host.unwrap_or_else(|| named_tools(table));
        for spec in specs {
            if let Some(tool) = roster.add(table, &spec.name) {
                roster.remember_loosely(&spec.name, tool);
                // A tool that no stage allows is known, but not offered.
                if table.stages.iter().any(|s| s.allowed.allows(&spec.name)) {
                    roster.offered.push(spec);
                }
            }
        }
        for (at, entry) in table.tools.iter().enumerate() {
            let target = roster.entries.iter().position(|e| *e == u32::try_from(at).ok());
            let Some(tool) = target.and_then(|t| u16::try_from(t).ok()).map(ToolIdx) else { continue };
            for alias in &entry.aliases {
                roster.aliases.entry(alias.clone()).or_insert(tool);
            }
        }
        if roster.advance {
            roster.offered.push(advance);
        }
        roster
    }

    fn add(&mut self, table: &Model, name: &str) -> Option<ToolIdx> {
        if let Some(known) = self.index.get(name) {
            return Some(*known);
        }
        if self.names.len() >= MAX_TOOLS {
            return None;
        }
        let tool = ToolIdx(u16::try_from(self.names.len()).ok()?);
        let entry = table.tool_entry(name);
        let place = entry.and_then(|e| table.tools.iter().position(|t| std::ptr::eq(t, e)));
        let name: Name = name.into();
        self.names.push(name.clone());
        self.entries.push(place.and_then(|p| u32::try_from(p).ok()));
        self.index.insert(name, tool);
        Some(tool)
    }

    fn remember_loosely(&mut self, name: &str, tool: ToolIdx) {
        for key in loose_keys(name) {
            self.loose
                .entry(key)
                .and_modify(|known| {
                    if *known != Some(tool) {
                        *known = None;
                    }
                })
                .or_insert(Some(tool));
        }
    }

    /// What `name` means: itself, an alias, else a unique match ignoring case or a `__` prefix.
    pub fn resolve(&mut self, table: &Model, name: &str) -> Resolved {
        if let Some(tool) = self.index.get(name).or_else(|| self.aliases.get(name)) {
            return Resolved::Tool(*tool);
        }
        if self.advance && name == ADVANCE {
            return Resolved::Advance;
        }
        let mut found: Vec<ToolIdx> = loose_keys(name).iter().filter_map(|k| *self.loose.get(k)?).collect();
        found.dedup();
        if let [tool] = found.as_slice() {
            return Resolved::Tool(*tool);
        }
        let known = self.open && !name.is_empty() && table.stages.iter().any(|s| s.allowed.allows(name));
        if known && let Some(tool) = self.add(table, name) {
            return Resolved::Tool(tool);
        }
        Resolved::Unknown(self.near(name))
    }

    fn near(&self, name: &str) -> Vec<Name> {
        let wanted = name.to_lowercase();
        // A tool list of thousands of long names must not make an unknown name dear.
        let mut near: Vec<(usize, &Name)> = self
            .names
            .iter()
            .take(2_000)
            .filter(|n| n.len().abs_diff(wanted.len()) <= 3 + wanted.len() / 3 && wanted.len() <= 128)
            .map(|n| (strsim::damerau_levenshtein(&wanted, &n.to_lowercase()), n))
            .filter(|(distance, _)| *distance <= 1 + wanted.len() / 3)
            .collect();
        near.sort();
        near.into_iter().take(MAX_NEAR).map(|(_, n)| n.clone()).collect()
    }

    /// A tool by its exact name, which another run has judged to be one; it is made known here when it was not.
    pub fn known(&mut self, table: &Model, name: &str) -> Option<ToolIdx> {
        self.add(table, name)
    }

    /// Offers a tool with this description and schema.
    pub fn describe(&mut self, spec: ToolSpec) {
        if let Some(offered) = self.offered.iter_mut().find(|t| t.name == spec.name) {
            *offered = spec;
        }
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self, tool: ToolIdx) -> Name {
        self.names.get(tool.index()).cloned().unwrap_or_else(|| "".into())
    }

    /// What the table says of the tool.
    #[must_use]
    pub fn entry<'a>(&'a self, table: &'a Model, tool: ToolIdx) -> &'a ToolEntry {
        let place = self.entries.get(tool.index()).copied().flatten();
        place.and_then(|p| table.tools.get(p as usize)).unwrap_or(&self.undeclared)
    }

    /// What the table says of a tool by name.
    #[must_use]
    pub fn entry_by_name<'a>(&'a self, table: &'a Model, name: &str) -> &'a ToolEntry {
        self.index.get(name).map_or(&self.undeclared, |tool| self.entry(table, *tool))
    }

    /// The tools the model is offered, in order.
    #[must_use]
    pub fn offered(&self) -> &[ToolSpec] {
        &self.offered
    }

    /// How many tools are known by now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no tool is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the control tool is offered.
    #[must_use]
    pub fn has_advance(&self) -> bool {
        self.advance
    }
}

/// The names under which a tool may be meant: lower case, and what follows each `__`.
fn loose_keys(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut keys = vec![lower.clone()];
    let mut rest = lower.as_str();
    while let Some((_, after)) = rest.split_once("__") {
        if !after.is_empty() {
            keys.push(after.to_owned());
        }
        rest = after;
    }
    keys
}

fn has_open_names(table: &Model) -> bool {
    table.stages.iter().any(|s| match &s.allowed {
        Allowed::All => true,
        Allowed::These { list, .. } => list.iter().any(|p| !p.is_exact()),
    })
}

/// Exact names of catalogue and stages, in file order.
fn named_tools(table: &Model) -> Vec<ToolSpec> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let catalogue = table.tools.iter().map(|t| &t.name);
    let staged = table.stages.iter().flat_map(|s| match &s.allowed {
        Allowed::All => [].iter(),
        Allowed::These { list, .. } => list.iter(),
    });
    for pattern in catalogue.chain(staged).filter(|p| p.is_exact()) {
        if seen.insert(pattern.as_str()) {
            names.push(pattern.as_str());
        }
    }
    names.into_iter().map(ToolSpec::named).collect()
}
