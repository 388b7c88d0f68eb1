//! Texts that a fact learns from: a shortest match of its regex, a JSON value its expression finds.

use crate::table::StageTable;
use crate::table::model::{FactDecl, FactValue};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

/// Longest sample of one regex, in characters.
const MAX_SAMPLE: usize = 4_096;

/// A text that these facts are learned from, beside `plain`.
pub fn text(table: &StageTable, facts: &[&FactDecl], plain: &str) -> String {
    let mut json = Map::new();
    let mut lines = Vec::new();
    for fact in facts {
        match &fact.value {
            FactValue::Whole => {}
            FactValue::Match(regex) => lines.extend(of_regex(regex.as_str())),
            FactValue::Value(expression) => {
                for name in table.scripts.names_of_condition(expression) {
                    if let Some(path) = name.strip_prefix("result.json.") {
                        put(&mut json, path, plain);
                    }
                }
            }
        }
    }
    if !json.is_empty() {
        json.insert("note".to_owned(), Value::from(lines.join(" ") + plain));
        return Value::Object(json).to_string();
    }
    lines.push(plain.to_owned());
    lines.join("\n")
}

fn put(json: &mut Map<String, Value>, path: &str, value: &str) {
    match path.split_once('.') {
        None => {
            json.insert(path.to_owned(), Value::from(value));
        }
        Some((first, rest)) => {
            let inner = json.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A short text that the regex matches.
fn of_regex(regex: &str) -> Option<String> {
    let hir = regex_syntax::parse(regex).ok()?;
    let mut out = String::new();
    sample(&hir, &mut out);
    Some(out)
}

fn sample(hir: &Hir, out: &mut String) {
    if out.len() > MAX_SAMPLE {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let letter = |c: &char| class.ranges().iter().any(|r| r.start() <= *c && *c <= r.end());
            let first = class.ranges().first().map(regex_syntax::hir::ClassUnicodeRange::start);
            out.extend("ax1 \n".chars().find(letter).or(first));
        }
        HirKind::Class(Class::Bytes(class)) => out.extend(class.ranges().first().map(|r| char::from(r.start()))),
        HirKind::Repetition(repeated) => {
            for _ in 0..repeated.min {
                sample(&repeated.sub, out);
            }
        }
        HirKind::Capture(capture) => sample(&capture.sub, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| sample(part, out)),
        HirKind::Alternation(parts) => parts.iter().take(1).for_each(|part| sample(part, out)),
    }
}

#[cfg(test)]
mod tests {
    use super::of_regex;

    #[test]
    fn a_sample_of_a_regex_matches_it() {
        for pattern in
            [r"[\w.+-]+@[\w-]+\.[\w.]+", "test result: ok", r#""state":\s*"DONE""#, r"(gen/[\w./-]+)", "a|b{3}"]
        {
            let text = of_regex(pattern).unwrap();
            assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text}");
        }
    }
}
