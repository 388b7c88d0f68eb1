//! `facts`.

use super::fields::Fields;
use super::names::Named;
use super::{Loader, scope};
use crate::table::keys;
use crate::table::limits;
use crate::table::model::{FactDecl, FactFrom, FactValue, Keep};
use crate::table::report::quoted;
use crate::table::yaml::Entry;

impl Loader<'_> {
    pub fn facts(&mut self, table: &Fields<'_>) -> Vec<FactDecl> {
        let Some(field) = table.get("facts") else {
            return Vec::new();
        };
        let entries = self.entries(field, limits::ENTRIES).unwrap_or_default();
        entries.iter().map(|entry| self.fact(entry)).collect()
    }

    fn fact(&mut self, entry: &Entry) -> FactDecl {
        self.good_name(&entry.key, entry.place, Named::Fact);
        let mut fact = FactDecl {
            name: entry.key.as_str().into(),
            from: FactFrom::Host,
            value: FactValue::Whole,
            keep: Keep::Last,
            cleared_by: Vec::new(),
        };
        let what = format!("the fact {}", quoted(&entry.key));
        let Some(fields) = self.object_at(&entry.value, &keys::FACT, &what, entry.place) else {
            return fact;
        };
        let from = fields.get("from").and_then(|f| self.word(f));
        fact.from = match from {
            Some("task") => FactFrom::Task,
            Some("user") => FactFrom::User,
            Some("result") => FactFrom::Result(self.fact_tools(&fields, &what)),
            _ => FactFrom::Host,
        };
        if let Some(field) = fields.get("tool")
            && from.is_some_and(|f| f != "result")
        {
            let help = "leave `tool` out, or write `from: result`";
            self.report.error(
                "bad-combination",
                field.place,
                format!("{what} names a tool, but is not read from results"),
                help,
            );
        }
        fact.value = self.fact_value(&fields, from, &what);
        fact.keep = match fields.get("keep").and_then(|f| self.word(f)) {
            Some("first") => Keep::First,
            Some("all") => Keep::All,
            _ => Keep::Last,
        };
        if let Some(field) = fields.get("cleared_by") {
            fact.cleared_by = self.tool_patterns(field);
        }
        fact
    }

    fn fact_tools(&mut self, fields: &Fields<'_>, what: &str) -> Vec<crate::table::names::NamePattern> {
        if let Some(field) = fields.get("tool") {
            return self.tool_patterns(field);
        }
        let help = "name the tool or tools whose results are read";
        self.report.error("missing-key", fields.place, format!("{what} is read from results, but has no `tool`"), help);
        Vec::new()
    }

    fn fact_value(&mut self, fields: &Fields<'_>, from: Option<&str>, what: &str) -> FactValue {
        match (fields.get("match"), fields.get("value")) {
            (Some(_), Some(field)) => {
                let said = format!("{what} has both `match` and `value`");
                self.report.error("bad-combination", field.place, said, "keep one of them");
                FactValue::Whole
            }
            (Some(field), None) => self.regex(field.node, field.key.name).map_or(FactValue::Whole, FactValue::Match),
            (None, Some(field)) => {
                let scope = match from {
                    Some("result") | None => &scope::RESULT,
                    Some("task") => &scope::TASK,
                    Some(other) => {
                        let said = format!("{what} cannot have a `value`: it is taken as the {other} gives it");
                        let help = "leave it out, or write `match` with a regular expression";
                        self.report.error("bad-combination", field.place, said, help);
                        return FactValue::Whole;
                    }
                };
                self.condition(field.node, field.key.name, scope).map_or(FactValue::Whole, FactValue::Value)
            }
            (None, None) => FactValue::Whole,
        }
    }
}
