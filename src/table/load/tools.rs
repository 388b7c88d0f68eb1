//! `tools`: the catalogue.

use super::fields::{Field, Fields};
use super::names::Named;
use super::{Loader, scope};
use crate::table::keys;
use crate::table::limits;
use crate::table::model::{Effect, ToolEntry};
use crate::table::names::{Name, NamePattern};
use crate::table::report::quoted;
use crate::table::yaml::{Entry, Node};
use regex::Regex;
use std::collections::HashMap;

/// Identical calls of a `poll` tool that run before a guard speaks.
const POLL_REPEATS: u32 = 20;
/// What `mask: [uuid]` stands for, so that nobody has to write it once more.
pub(crate) const UUID: &str = r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b";
/// What `mask: [timestamp]` stands for.
pub(crate) const TIMESTAMP: &str = r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|\s?[+-]\d{2}:?\d{2})?)?|\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b";

impl Loader<'_> {
    pub fn catalogue(&mut self, table: &Fields<'_>) -> Vec<ToolEntry> {
        let Some(field) = table.get("tools") else {
            return Vec::new();
        };
        let entries = self.entries(field, limits::ENTRIES).unwrap_or_default();
        let mut names: HashMap<&str, u32> = entries.iter().map(|e| (e.key.as_str(), e.place.line)).collect();
        let mut tools = Vec::with_capacity(entries.len());
        for entry in entries {
            tools.push(self.tool(entry, &mut names));
        }
        tools
    }

    fn tool<'n>(&mut self, entry: &'n Entry, names: &mut HashMap<&'n str, u32>) -> ToolEntry {
        self.good_name(&entry.key, entry.place, Named::ToolPattern);
        let line = entry.place.line as usize;
        let mut tool = ToolEntry { name: NamePattern::new(&entry.key), line, ..ToolEntry::undeclared() };
        let what = format!("the tool {}", quoted(&entry.key));
        let errors = self.report.errors();
        let Some(fields) = self.object_at(&entry.value, &keys::TOOL, &what, entry.place) else {
            return tool;
        };
        tool.effect = match fields.get("effect").and_then(|f| self.word(f)) {
            Some("read") => Effect::Read,
            Some("write") => Effect::Write,
            Some("poll") => Effect::Poll,
            _ => Effect::Stateful,
        };
        tool.max_calls = fields.get("max_calls").and_then(|f| self.whole(f));
        let repeats = if tool.effect == Effect::Poll { POLL_REPEATS } else { 1 };
        tool.repeats = fields.get("repeats").and_then(|f| self.whole(f)).unwrap_or(repeats);
        tool.requires = fields.get("requires").map(|f| self.requires(f)).unwrap_or_default();
        tool.approval = fields.get("approval").and_then(|f| self.word(f)) == Some("always");
        tool.ignore_args = fields.get("ignore_args").map(|f| self.texts(f)).unwrap_or_default();
        tool.mask = fields.get("mask").map(|f| self.masks(f)).unwrap_or_default();
        tool.max_chars = fields.get("max_chars").and_then(|f| self.whole(f)).and_then(|n| usize::try_from(n).ok());
        tool.failed_when = fields.get("failed_when").and_then(|f| self.condition(f.node, f.key.name, &scope::RESULT));
        tool.timeout_ms = fields.get("timeout").and_then(|f| self.duration(f));
        tool.idempotent = fields.get("idempotent").and_then(|f| self.switch(f)).unwrap_or_default();
        tool.commands = fields.get("commands").map(|f| self.texts(f));
        tool.aliases = fields.get("aliases").map(|f| self.aliases(f, &what, &tool.name, names)).unwrap_or_default();
        tool.nested = self.nested_run(&fields, &what, &tool.name);
        self.polling(&fields, &mut tool, &what);
        if self.report.errors() == errors {
            self.bounded_write(&fields, &tool, entry, &what);
        }
        tool
    }

    fn polling(&mut self, fields: &Fields<'_>, tool: &mut ToolEntry, what: &str) {
        tool.every_ms = fields.get("every").and_then(|f| self.duration(f));
        tool.until = fields.get("until").and_then(|f| self.condition(f.node, f.key.name, &scope::RESULT));
        for name in ["every", "until"] {
            if let Some(field) = fields.get(name)
                && tool.effect != Effect::Poll
            {
                let said = format!("{what} has `{name}`, but is not declared `effect: poll`");
                let help = "only what is expected to change by itself is asked again and again";
                self.report.error("bad-combination", field.place, said, help);
            }
        }
        if let (Some(field), None) = (fields.get("until"), fields.get("every")) {
            let said = format!("{what} has `until`, but no `every`");
            self.report.error("bad-combination", field.place, said, "say how often to ask: `every: 15s`");
        }
        if let (None, Some(field)) = (fields.get("until"), fields.get("every")) {
            let said = format!(
                "{what} has `every`, but no `until`, so the host does not know when to stop and does not repeat"
            );
            let help = "say what to wait for, such as `until: result.json.state != \"RUNNING\"`, or leave `every` out";
            self.report.warning("every-without-until", field.place, said, help);
        }
    }

    fn bounded_write(&mut self, fields: &Fields<'_>, tool: &ToolEntry, entry: &Entry, what: &str) {
        let bounded = tool.max_calls.is_some() || tool.approval || fields.get("repeats").is_some();
        if tool.effect == Effect::Write && !bounded {
            let said = format!("{what} writes, and only the budgets of its stages limit how often");
            let help = "give it `max_calls`, `repeats` or `approval: always`";
            self.report.warning("write-without-bound", entry.place, said, help);
        }
    }

    fn masks(&mut self, field: Field<'_>) -> Vec<Regex> {
        let items = self.list(field.node, field.key.name).unwrap_or_default();
        items.iter().filter_map(|item| self.mask(item, field.key.name)).collect()
    }

    fn mask(&mut self, item: &Node, what: &str) -> Option<Regex> {
        match item.scalar() {
            Some("uuid") => Regex::new(UUID).ok(),
            Some("timestamp") => Regex::new(TIMESTAMP).ok(),
            _ => self.regex(item, what),
        }
    }

    fn aliases<'n>(
        &mut self,
        field: Field<'n>,
        what: &str,
        tool: &NamePattern,
        names: &mut HashMap<&'n str, u32>,
    ) -> Vec<Name> {
        if !tool.is_exact() {
            let help = "give aliases to tools that are named exactly";
            self.report.error(
                "bad-combination",
                field.place,
                format!("{what} is a pattern and cannot have aliases"),
                help,
            );
            return Vec::new();
        }
        let items = self.list(field.node, field.key.name).unwrap_or_default();
        let mut aliases = Vec::with_capacity(items.len());
        for item in items {
            let Some(alias) = self.text_of(item, field.key.name) else {
                continue;
            };
            if !self.good_name(alias, item.place, Named::Tool) {
                continue;
            }
            if let Some(line) = names.insert(alias, item.place.line) {
                let said = format!("{} is already the name or an alias of a tool", quoted(alias));
                self.report.error("name-taken", item.place, said, format!("see line {line}; choose another"));
            }
            aliases.push(alias.into());
        }
        aliases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_masks_match_what_they_are_named_after() {
        let uuid = Regex::new(UUID).unwrap();
        assert!(uuid.is_match("id 3F2504E0-4f89-11d3-9a0c-0305e82c3301."));
        let timestamp = Regex::new(TIMESTAMP).unwrap();
        for text in ["2024-05-06T07:08:09.123Z", "2024-05-06 07:08", "at 07:08:09", "2024-05-06"] {
            assert_eq!(timestamp.replace_all(text, "").trim_start_matches("at "), "", "{text}");
        }
        assert!(!timestamp.is_match("ratio 12:34"));
    }
}
