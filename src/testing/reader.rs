//! Reads the parts of a scenario file out of its YAML tree; whatever does not fit is a problem with its place.

use crate::table::TableError;
use crate::table::report::{Place, Report, did_you_mean, quoted};
use crate::table::yaml::{Entry, Kind, Node, Scalar, scalar_type};
use serde_json::{Map, Number, Value};

/// The one code of problems in scenario files.
pub(super) const CODE: &str = "scenario";
/// Longest time, in milliseconds: a year.
const MOST_MS: u64 = 366 * 24 * 3_600 * 1_000;

/// What is read, and what was wrong with it.
pub(super) struct Reader {
    pub report: Report,
}

impl Reader {
    /// The error after something was found wrong.
    pub fn failed(self) -> TableError {
        self.report.finish().err().unwrap_or(TableError { problems: Vec::new() })
    }

    pub fn wrong(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        self.report.error(CODE, place, message, help.into());
    }

    fn shape(&mut self, node: &Node, what: &str, wanted: &str) {
        self.report.error(CODE, node.place, format!("{what} is {}, not {wanted}", node.called()), None);
    }

    /// The entries of a mapping whose keys are free.
    pub fn entries<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        match &node.kind {
            Kind::Map(entries) => entries,
            _ => {
                self.shape(node, what, "a mapping");
                &[]
            }
        }
    }

    /// The entries of a mapping of which only `known` keys may stand.
    pub fn known<'n>(&mut self, node: &'n Node, what: &str, known: &[&'static str]) -> Vec<(&'static str, &'n Entry)> {
        let mut found = Vec::new();
        for entry in self.entries(node, what) {
            match known.iter().find(|k| **k == entry.key) {
                Some(key) => found.push((*key, entry)),
                None => {
                    let help = did_you_mean(&entry.key, known.iter().copied()).unwrap_or_default();
                    self.wrong(entry.place, format!("{what} has no key {}", quoted(&entry.key)), help);
                }
            }
        }
        found
    }

    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.kind {
            Kind::List(items) => items,
            _ => {
                self.shape(node, what, "a list");
                &[]
            }
        }
    }

    /// A list, or one thing that stands for a list of one.
    pub fn one_or_list<'n>(&mut self, node: &'n Node) -> &'n [Node] {
        match &node.kind {
            Kind::List(items) => items,
            _ => std::slice::from_ref(node),
        }
    }

    pub fn text(&mut self, node: &Node, what: &str) -> String {
        match node.scalar() {
            Some(text) => text.to_owned(),
            None => {
                self.shape(node, what, "text");
                String::new()
            }
        }
    }

    pub fn texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        self.one_or_list(node).iter().map(|n| self.text(n, what)).collect()
    }

    pub fn number(&mut self, node: &Node, what: &str, most: u64) -> u64 {
        let number = node.scalar().and_then(|text| text.parse::<u64>().ok());
        match number {
            Some(n) if n <= most => n,
            Some(n) => {
                self.wrong(node.place, format!("{what} is {n}; the most is {most}"), "write a smaller number");
                0
            }
            None if node.scalar().is_some_and(|text| text.parse::<i64>().is_ok()) => {
                self.wrong(node.place, format!("{what} is below zero"), "write a whole number from 0");
                0
            }
            None => {
                self.shape(node, what, "a whole number from 0");
                0
            }
        }
    }

    pub fn count(&mut self, node: &Node, what: &str) -> u32 {
        u32::try_from(self.number(node, what, u64::from(u32::MAX))).unwrap_or_default()
    }

    pub fn yes(&mut self, node: &Node, what: &str) -> bool {
        match node.scalar() {
            Some("yes" | "true") => true,
            Some("no" | "false") => false,
            _ => {
                self.shape(node, what, "yes or no");
                false
            }
        }
    }

    /// `30s`, `10m`, `2h` or `250ms`, in milliseconds.
    pub fn duration(&mut self, node: &Node, what: &str) -> u64 {
        let text = node.scalar().unwrap_or_default();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text.get(digits.len()..) {
            Some("ms") => Some(1),
            Some("s") => Some(1_000),
            Some("m") => Some(60_000),
            Some("h") => Some(3_600_000),
            _ => None,
        };
        let ms = unit.and_then(|unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit));
        match ms {
            Some(ms) if ms <= MOST_MS => ms,
            Some(_) => {
                self.wrong(node.place, format!("{what} is longer than a year"), "write a shorter time");
                0
            }
            None => {
                self.shape(node, what, "a time such as `30s`, `10m`, `2h` or `250ms`");
                0
            }
        }
    }

    /// Any value as JSON. Whole numbers of any length keep their digits where JSON can hold them.
    pub fn json(&mut self, node: &Node) -> Value {
        match &node.kind {
            Kind::Null => Value::Null,
            Kind::List(items) => Value::Array(items.iter().map(|n| self.json(n)).collect()),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), self.json(&e.value))).collect::<Map<_, _>>())
            }
            Kind::Scalar { text, plain: false } => Value::String(text.clone()),
            Kind::Scalar { text, plain: true } => match scalar_type(text) {
                Scalar::Switch(yes) => Value::Bool(yes),
                Scalar::Whole | Scalar::Fraction => match text.parse::<Number>() {
                    Ok(number) => Value::Number(number),
                    Err(_) => Value::String(text.clone()),
                },
                Scalar::Text => Value::String(text.clone()),
            },
        }
    }

    /// Any value as JSON text, keys in file order and numbers as written.
    pub fn json_text(&mut self, node: &Node) -> String {
        let mut out = String::new();
        write_json(node, &mut out);
        out
    }
}

fn write_json(node: &Node, out: &mut String) {
    let string = |text: &str| Value::String(text.to_owned()).to_string();
    match &node.kind {
        Kind::Null => out.push_str("null"),
        Kind::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Kind::Map(entries) => {
            out.push('{');
            for (i, entry) in entries.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&string(&entry.key));
                out.push(':');
                write_json(&entry.value, out);
            }
            out.push('}');
        }
        Kind::Scalar { text, plain } => match scalar_type(text) {
            Scalar::Switch(yes) if *plain => out.push_str(if yes { "true" } else { "false" }),
            Scalar::Whole | Scalar::Fraction if *plain && serde_json::from_str::<Number>(text).is_ok() => {
                out.push_str(text);
            }
            _ => out.push_str(&string(text)),
        },
    }
}
