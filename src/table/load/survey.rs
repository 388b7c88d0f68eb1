//! A first look over the file: which stages, facts and tools there are, so that names can be checked in one pass.

use super::fields::Fields;
use crate::table::names::{FactId, NamePattern, StageId};
use crate::table::yaml::{Entry, Kind, Node};
use std::collections::{HashMap, HashSet};

/// The names a table declares.
#[derive(Debug, Default)]
pub(super) struct Survey {
    stages: HashMap<String, StageId>,
    facts: HashMap<String, FactId>,
    /// The first names in file order, to choose from where one is not known.
    offered_stages: Vec<String>,
    offered_facts: Vec<String>,
    pub tools: Tools,
}

/// The tools that catalogue and stages name.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Exact names of the catalogue.
    catalogue: HashSet<String>,
    catalogue_patterns: Vec<NamePattern>,
    aliases: HashMap<String, String>,
    /// Names that stages allow.
    allowed: HashSet<String>,
    allowed_patterns: Vec<NamePattern>,
    /// A stage says `all`.
    pub any: bool,
    /// What a stage allows cannot be read.
    pub unsure: bool,
}

/// Names offered in a "did you mean".
const OFFERED: usize = 200;

impl Survey {
    pub fn of(table: &Fields<'_>) -> Self {
        let mut survey = Self::default();
        for (i, entry) in entries(table, "stages").iter().enumerate() {
            survey.stages.insert(entry.key.clone(), StageId(u16::try_from(i).unwrap_or(u16::MAX)));
            survey.tools.add_stage(&entry.value);
        }
        for (i, entry) in entries(table, "facts").iter().enumerate() {
            survey.facts.insert(entry.key.clone(), FactId(u16::try_from(i).unwrap_or(u16::MAX)));
        }
        survey.offered_stages = offered(entries(table, "stages"));
        survey.offered_facts = offered(entries(table, "facts"));
        for entry in entries(table, "tools") {
            survey.tools.add_entry(entry);
        }
        survey.tools.allowed_patterns.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        survey.tools.allowed_patterns.dedup();
        survey
    }

    pub fn stage(&self, name: &str) -> Option<StageId> {
        self.stages.get(name).copied()
    }

    pub fn fact(&self, name: &str) -> Option<FactId> {
        self.facts.get(name).copied()
    }

    pub fn stage_names(&self) -> Vec<String> {
        self.offered_stages.clone()
    }

    pub fn fact_names(&self) -> Vec<String> {
        self.offered_facts.clone()
    }
}

impl Tools {
    fn add_stage(&mut self, stage: &Node) {
        let Some(allowed) = value(stage, "allowed_tools") else {
            self.unsure = true;
            return;
        };
        match &allowed.kind {
            Kind::Scalar { text, .. } if text == "all" => self.any = true,
            Kind::List(items) => {
                for name in items.iter().filter_map(Node::scalar) {
                    let pattern = NamePattern::new(name);
                    if pattern.is_exact() {
                        self.allowed.insert(name.to_owned());
                    } else {
                        self.allowed_patterns.push(pattern);
                    }
                }
            }
            _ => self.unsure = true,
        }
    }

    fn add_entry(&mut self, entry: &Entry) {
        let pattern = NamePattern::new(&entry.key);
        if pattern.is_exact() {
            self.catalogue.insert(entry.key.clone());
        } else {
            self.catalogue_patterns.push(pattern);
        }
        if let Some(Node { kind: Kind::List(items), .. }) = value(&entry.value, "aliases") {
            for alias in items.iter().filter_map(Node::scalar) {
                self.aliases.insert(alias.to_owned(), entry.key.clone());
            }
        }
    }

    /// How many patterns there are, in the catalogue or in the stages.
    pub fn most_patterns(&self) -> usize {
        self.catalogue_patterns.len().max(self.allowed_patterns.len())
    }

    /// Whether the catalogue says nothing.
    pub fn no_catalogue(&self) -> bool {
        self.catalogue.is_empty() && self.catalogue_patterns.is_empty()
    }

    /// The tool of which `name` is an alias.
    pub fn alias_of(&self, name: &str) -> Option<&str> {
        self.aliases.get(name).map(String::as_str)
    }

    pub fn in_catalogue(&self, name: &NamePattern) -> bool {
        let patterns = || self.catalogue_patterns.iter().any(|p| p.overlaps(name));
        if name.is_exact() {
            return self.catalogue.contains(name.as_str()) || patterns();
        }
        patterns() || self.catalogue.iter().any(|n| name.matches(n))
    }

    /// Whether some stage allows a tool of that name.
    pub fn allowed(&self, name: &NamePattern) -> bool {
        let patterns = || self.allowed_patterns.iter().any(|p| p.overlaps(name));
        if name.is_exact() {
            return self.any || self.allowed.contains(name.as_str()) || patterns();
        }
        self.any || patterns() || self.allowed.iter().any(|n| name.matches(n))
    }

    /// Whether the name can be that of a tool at all.
    pub fn knows(&self, name: &NamePattern) -> bool {
        self.allowed(name) || self.in_catalogue(name) || self.aliases.contains_key(name.as_str())
    }

    /// Names to choose from, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.catalogue.union(&self.allowed).cloned().collect();
        names.sort();
        names.truncate(OFFERED);
        names
    }

    /// The catalogue's names, sorted.
    pub fn catalogue_names(&self) -> Vec<String> {
        let patterns = self.catalogue_patterns.iter().map(|p| p.as_str().to_owned());
        let mut names: Vec<String> = self.catalogue.iter().cloned().chain(patterns).collect();
        names.sort();
        names.truncate(OFFERED);
        names
    }
}

fn offered(entries: &[Entry]) -> Vec<String> {
    entries.iter().take(OFFERED).map(|e| e.key.clone()).collect()
}

fn entries<'n>(table: &Fields<'n>, key: &str) -> &'n [Entry] {
    match table.get(key).map(|f| &f.node.kind) {
        Some(Kind::Map(entries)) => entries,
        _ => &[],
    }
}

/// The value of a key in a mapping.
fn value<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
        _ => None,
    }
}
