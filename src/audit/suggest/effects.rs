//! What the evidence says about each tool's effect. Conservative: too little says nothing.

use super::evidence::{Evidence, Pairs, ToolEvidence};
use crate::table::StageTable;
use crate::table::model::{Effect, ToolEntry};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Equal calls with the same result, others between, that make a tool one that reads.
pub const MIN_READ_PAIRS: u64 = 10;
/// Runs they have to stand in.
pub const MIN_READ_RUNS: u64 = 3;
/// Answers of a reading tool that changed after one tool alone, which make that one a tool that writes.
pub const MIN_WRITE_PAIRS: u64 = 3;
/// Runs they have to stand in.
pub const MIN_WRITE_RUNS: u64 = 2;
/// Answers that changed by themselves that make a tool one whose answer changes.
pub const MIN_CHANGE_PAIRS: u64 = 5;
/// Runs they have to stand in.
pub const MIN_CHANGE_RUNS: u64 = 3;
/// Tools that are listed, the most used first.
pub const MAX_LISTED: usize = 64;

/// Words in a tool's name that say it acts: such a tool is never proposed as one that only reads.
const ACTING: [&str; 33] = [
    "add", "apply", "book", "buy", "cancel", "change", "click", "commit", "create", "delete", "edit", "exchange",
    "execute", "insert", "install", "modify", "move", "pay", "post", "publish", "push", "put", "remove", "rename",
    "return", "run", "send", "set", "submit", "transfer", "update", "upload", "write",
];

/// Said beside a proposal of `read`.
pub(super) const ACTING_NOTE: &str = "look whether it really changes nothing";

/// What a tool seems to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seems {
    /// Its answers stay the same until something else changes them.
    Read,
    /// Answers of a reading tool change after it.
    Write,
    /// Its answer changes while it is asked again and again.
    Poll,
    /// Its answer changes by itself, or by its own calls.
    Stateful,
    /// There is too little to say.
    Unknown,
}

impl Seems {
    /// The word of the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Poll => "poll",
            Self::Stateful => "stateful",
            Self::Unknown => "unknown",
        }
    }
}

/// What was seen of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolSeen {
    /// Its name.
    pub tool: String,
    /// Its calls.
    pub calls: u64,
    /// What the table says; `None` when it does not name the tool.
    pub declared: Option<&'static str>,
    /// What it seems to do.
    pub seems: Seems,
    /// Equal calls with the same result although other calls ran between them.
    pub same: u64,
    /// Equal calls one after the other with another result, or with only calls of the tool itself between them.
    pub changed_alone: u64,
    /// Equal calls with another result after calls of other tools.
    pub changed_after_others: u64,
    /// Answers of reading tools that changed after calls of this tool and no other that may write.
    pub changed_others: u64,
}

/// The entry that speaks of a tool; a bare `*` speaks of none.
pub(super) fn declared<'t>(table: &'t StageTable, tool: &str) -> Option<&'t ToolEntry> {
    table.tool_entry(tool).filter(|entry| entry.name.as_str() != "*")
}

/// Tools whose answers changed, each with what changed them.
pub(super) struct Effects {
    pub(super) reads: BTreeSet<String>,
    pub(super) writes: BTreeMap<String, Pairs>,
}

impl Effects {
    pub(super) fn of(table: &StageTable, evidence: &Evidence) -> Self {
        let effect = |tool: &str| declared(table, tool).map(|entry| entry.effect);
        let reads: BTreeSet<String> = evidence
            .0
            .iter()
            .filter(|(tool, seen)| match effect(tool) {
                Some(effect) => effect == Effect::Read,
                None => reads(tool, seen),
            })
            .map(|(tool, _)| tool.clone())
            .collect();
        let mut writes: BTreeMap<String, Pairs> = BTreeMap::new();
        for (set, pairs) in
            evidence.0.iter().filter(|(tool, _)| reads.contains(*tool)).flat_map(|(_, seen)| &seen.after)
        {
            let mut suspects = set.iter().filter(|tool| !reads.contains(*tool));
            if let (Some(tool), None) = (suspects.next(), suspects.next()) {
                let all = writes.entry(tool.clone()).or_default();
                all.pairs += pairs.pairs;
                all.runs += pairs.runs;
            }
        }
        Self { reads, writes }
    }

    fn seems(&self, tool: &str, seen: &ToolEvidence) -> Seems {
        let alone = Pairs { pairs: seen.alone.pairs + seen.own.pairs, runs: seen.alone.runs.max(seen.own.runs) };
        if self.reads.contains(tool) && reads(tool, seen) {
            Seems::Read
        } else if self.writes.get(tool).is_some_and(|w| enough(*w, MIN_WRITE_PAIRS, MIN_WRITE_RUNS)) {
            Seems::Write
        } else if polls(tool, seen) {
            Seems::Poll
        } else if enough(alone, MIN_CHANGE_PAIRS, MIN_CHANGE_RUNS) {
            Seems::Stateful
        } else {
            Seems::Unknown
        }
    }

    /// What was seen of each tool, the most used first.
    pub(super) fn list(&self, table: &StageTable, evidence: &Evidence) -> Vec<ToolSeen> {
        let mut all: Vec<ToolSeen> = evidence.0.iter().map(|(tool, seen)| self.one(table, tool, seen)).collect();
        all.sort_by(|a, b| (b.calls, &a.tool).cmp(&(a.calls, &b.tool)));
        all.truncate(MAX_LISTED);
        all
    }

    fn one(&self, table: &StageTable, tool: &str, seen: &ToolEvidence) -> ToolSeen {
        let declared = declared(table, tool).map(|entry| match entry.effect {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Poll => "poll",
            Effect::Stateful => "stateful",
        });
        ToolSeen {
            tool: tool.to_owned(),
            calls: seen.calls,
            declared,
            seems: self.seems(tool, seen),
            same: seen.kept.pairs,
            changed_alone: seen.alone.pairs + seen.own.pairs,
            changed_after_others: seen.after.values().map(|pairs| pairs.pairs).sum(),
            changed_others: self.writes.get(tool).map_or(0, |pairs| pairs.pairs),
        }
    }
}

fn enough(seen: Pairs, pairs: u64, runs: u64) -> bool {
    seen.pairs >= pairs && seen.runs >= runs
}

/// Its answers never changed by themselves, stayed the same often enough while others ran, and tell calls apart: a tool
/// that always says `done` may do anything.
fn reads(tool: &str, seen: &ToolEvidence) -> bool {
    enough(seen.kept, MIN_READ_PAIRS, MIN_READ_RUNS)
        && seen.alone.pairs + seen.own.pairs == 0
        && seen.differs.pairs > seen.differs_not.pairs
        && !acts(tool)
}

/// Asked again and again with the same answer, until the answer changed.
fn polls(tool: &str, seen: &ToolEvidence) -> bool {
    enough(seen.alone, MIN_CHANGE_PAIRS, MIN_CHANGE_RUNS)
        && seen.kept_at_once.pairs > seen.alone.pairs
        && seen.own.pairs == 0
        && !acts(tool)
}

/// Whether a word of the name says that the tool acts.
fn acts(tool: &str) -> bool {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in tool.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower_before) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    words.push(word);
    words.iter().any(|word| ACTING.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::acts;

    #[test]
    fn a_name_that_says_it_acts_is_known_in_every_spelling() {
        for name in ["send_email", "updateOrder", "POST", "mcp__shop__cancel-order", "Write"] {
            assert!(acts(name), "{name}");
        }
        for name in ["get_order_details", "listFiles", "GET", "postal_codes", "settings"] {
            assert!(!acts(name), "{name}");
        }
    }
}
