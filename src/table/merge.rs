//! A table with a few lines of YAML merged in, as a person would paste them.

use super::model::StageTable;
use super::problem::TableError;
use super::report::Report;
use super::yaml::{self, Entry, Kind, Node};
use serde_json::Value;
use std::fmt::Write as _;

/// Lists that a fragment adds to; any other value takes the place of what was there.
const GROWING: [&str; 3] = ["rules", "ignore_args", "mask"];
/// Keys that stand for the same thing: the one that is set takes the other's place.
const INSTEAD: [(&str, &str); 2] = [("max_steps", "expected_steps"), ("expected_steps", "max_steps")];

impl StageTable {
    /// This table with `fragment` merged in: mappings key by key, `rules`, `ignore_args` and `mask` added to, everything
    /// else replaced. Included files stay as they were read.
    ///
    /// # Errors
    /// When the fragment is no YAML mapping, or the whole has a problem.
    pub fn merged(&self, fragment: &str) -> Result<Self, TableError> {
        let source = &self.source;
        let mut own = tree(&source.file, &source.text)?;
        merge(&mut own, tree("fragment", fragment)?, "");
        let mut text = String::new();
        write(&mut text, &own);
        let included = &source.included;
        let mut include = |name: &str| included.get(name).cloned().ok_or_else(|| "it was not read before".to_owned());
        Self::parse_with(&source.file, &text, &mut include)
    }
}

fn tree(file: &str, text: &str) -> Result<Node, TableError> {
    let mut report = Report::new(file);
    match yaml::read(text, 0, &mut report) {
        Some(node) => Ok(node),
        None => Err(report.finish().err().unwrap_or_else(|| TableError { problems: Vec::new() })),
    }
}

/// Nesting is bounded by the reader.
fn merge(own: &mut Node, other: Node, key: &str) {
    match (&mut own.kind, other.kind) {
        (Kind::Map(entries), Kind::Map(others)) => others.into_iter().for_each(|entry| put(entries, entry)),
        (Kind::List(items), Kind::List(others)) if GROWING.contains(&key) => items.extend(others),
        (kind, other) => *kind = other,
    }
}

fn put(entries: &mut Vec<Entry>, entry: Entry) {
    if let Some((_, other)) = INSTEAD.iter().find(|(set, _)| *set == entry.key) {
        entries.retain(|known| known.key != *other);
    }
    match entries.iter_mut().find(|known| known.key == entry.key) {
        Some(known) => merge(&mut known.value, entry.value, &entry.key),
        None => entries.push(entry),
    }
}

/// The tree in YAML's flow form, plain scalars as they were.
fn write(out: &mut String, node: &Node) {
    match &node.kind {
        Kind::Null => out.push('~'),
        Kind::Scalar { text, plain: true } if plain_in_flow(text) => out.push_str(text),
        Kind::Scalar { text, .. } => quote(out, text),
        Kind::List(items) => {
            out.push('[');
            for item in items {
                write(out, item);
                out.push_str(",\n");
            }
            out.push(']');
        }
        Kind::Map(entries) => {
            out.push('{');
            for entry in entries {
                quote(out, &entry.key);
                out.push_str(": ");
                write(out, &entry.value);
                out.push_str(",\n");
            }
            out.push('}');
        }
    }
}

/// Numbers, switches and single words mean something without quotes; any other text is the same within them.
fn plain_in_flow(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

fn quote(out: &mut String, text: &str) {
    let _ = write!(out, "{}", Value::from(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "stagekeeper: 1
workflow: w
tools:
  f: { effect: read, mask: ['a: b'] }
stages:
  s: { goal: 'G: g', allowed_tools: [f], expected_steps: 4 }
rules:
  - { at: step, forget: 3 }
";

    #[test]
    fn mappings_grow_key_by_key_and_budgets_replace_one_another() {
        let fragment = "stages: { s: { max_steps: 9 } }\ntools: { f: { mask: [uuid] } }\nrules: [{ name: n, at: call, tool: f, deny: no }]\n";
        let merged = StageTable::parse(TABLE).unwrap().merged(fragment).unwrap();
        assert_eq!(merged.ceiling(), 9);
        assert_eq!(merged.tool_entry("f").map(|f| f.mask.len()), Some(2));
        assert_eq!(merged.rules.len(), 2);
    }

    #[test]
    fn a_fragment_that_does_not_fit_is_a_problem_of_the_whole() {
        let table = StageTable::parse(TABLE).unwrap();
        assert!(table.merged("stages: { s: { max_step: 9 } }").is_err());
        assert!(table.merged("a: [").is_err());
    }

    #[test]
    fn every_shipped_table_merged_with_nothing_new_is_itself() {
        for text in [include_str!("../../stages/diagnose.yaml"), include_str!("../../stages/support.yaml")] {
            let table = StageTable::parse(text).unwrap();
            let merged = table.merged("stagekeeper: 1").unwrap();
            assert_eq!((merged.ceiling(), merged.rules.len()), (table.ceiling(), table.rules.len()));
            assert_eq!(format!("{:?}", merged.facts), format!("{:?}", table.facts));
        }
    }
}
