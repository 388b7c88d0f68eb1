//! The key tree as a JSON Schema for editors, and as the list of keys of the reference.

use super::keys::{Key, Object, RESERVED, RESERVED_PREFIX, Shape, TABLE};
use super::limits;
use super::messages::MESSAGES;
use super::model::StageTable;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of tools and patterns, as a JSON Schema `pattern`.
const TOOL_PATTERN: &str = "^[A-Za-z0-9_.:/*-]+$";
const DURATION_PATTERN: &str = "^[0-9]+[smh]$";

impl StageTable {
    /// The JSON Schema of a stage table.
    #[must_use]
    pub fn schema() -> Value {
        let mut defs = BTreeMap::new();
        collect(&TABLE, &mut defs);
        let mut schema = Map::new();
        schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".into(), json!("Stagekeeper stage table"));
        schema.extend(object(&TABLE));
        let defs: Map<String, Value> = defs
            .into_iter()
            .filter(|(name, _)| *name != TABLE.name)
            .map(|(n, o)| (n.to_owned(), Value::Object(object(o))))
            .collect();
        schema.insert("$defs".into(), Value::Object(defs));
        Value::Object(schema)
    }

    /// Every key of the format as Markdown tables, one per mapping.
    #[must_use]
    pub fn key_reference() -> String {
        let mut out = String::new();
        let mut done = Vec::new();
        let mut open: Vec<(String, &'static Object)> = vec![("The table".to_owned(), &TABLE)];
        while !open.is_empty() {
            let (title, object) = open.remove(0);
            if done.contains(&object.name) {
                continue;
            }
            done.push(object.name);
            section(&mut out, &title, object);
            for key in object.keys {
                children(key.shape, &mut |child| open.push((title_of(&title, key, child), child)));
            }
        }
        out
    }
}

fn collect(object: &'static Object, defs: &mut BTreeMap<&'static str, &'static Object>) {
    if defs.insert(object.name, object).is_none() {
        for key in object.keys {
            children(key.shape, &mut |child| collect(child, defs));
        }
    }
}

/// The mappings that stand in a shape.
fn children(shape: Shape, found: &mut dyn FnMut(&'static Object)) {
    match shape {
        Shape::Object(object) => found(object),
        Shape::List(inner) | Shape::Map(_, inner) => children(*inner, found),
        Shape::Any(shapes) => shapes.iter().for_each(|s| children(*s, found)),
        _ => {}
    }
}

fn object(object: &'static Object) -> Map<String, Value> {
    let properties: Map<String, Value> = object.keys.iter().map(|k| (k.name.to_owned(), property(k))).collect();
    let required: Vec<&str> = object.keys.iter().filter(|k| k.required).map(|k| k.name).collect();
    let mut schema = Map::new();
    schema.insert("description".into(), json!(object.about));
    schema.insert("type".into(), json!("object"));
    schema.insert("additionalProperties".into(), json!(false));
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    match object.name {
        "stage" => {
            schema.insert("oneOf".into(), json!([{ "required": ["max_steps"] }, { "required": ["expected_steps"] }]));
        }
        "guarantee" => {
            schema.insert("minProperties".into(), json!(1));
            schema.insert("maxProperties".into(), json!(1));
        }
        _ => {}
    }
    schema
}

fn property(key: &'static Key) -> Value {
    let mut schema = match key.name {
        // A closed set of names, so that editors complete them.
        "messages" => messages(key),
        _ => shape(key.shape),
    };
    let described =
        if key.default.is_empty() { key.about.to_owned() } else { format!("{} Default: {}.", key.about, key.default) };
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".into(), json!(described));
    }
    schema
}

fn messages(key: &'static Key) -> Value {
    let Shape::Map(_, value) = key.shape else {
        return shape(key.shape);
    };
    let mut properties: Map<String, Value> = MESSAGES
        .iter()
        .map(|m| {
            let mut schema = shape(*value);
            if let Value::Object(schema) = &mut schema {
                let names: Vec<String> = m.names.iter().map(|n| format!("`{n}`")).collect();
                let reads =
                    if names.is_empty() { String::new() } else { format!(" It may read {}.", names.join(", ")) };
                schema.insert("description".into(), json!(format!("English: {}{reads}", m.default)));
            }
            (m.name.to_owned(), schema)
        })
        .collect();
    let set = json!({ "type": "string", "description": "A YAML file in the table's folder that maps names of messages to texts." });
    properties.insert("from".into(), set);
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn shape(of: Shape) -> Value {
    match of {
        Shape::Text | Shape::Template | Shape::Regex => json!({ "type": "string" }),
        Shape::Expression => json!({ "type": ["string", "boolean", "number"] }),
        Shape::Name | Shape::Stage => json!({ "type": "string", "minLength": 1, "maxLength": limits::NAME }),
        Shape::Tool => {
            json!({ "type": "string", "pattern": TOOL_PATTERN, "maxLength": limits::NAME, "not": { "enum": RESERVED } })
        }
        Shape::Duration => json!({ "type": "string", "pattern": DURATION_PATTERN }),
        Shape::Decimal(0, high) => json!({ "type": ["number", "string"], "exclusiveMinimum": 0, "maximum": high }),
        Shape::Decimal(low, high) => json!({ "type": ["number", "string"], "minimum": low, "maximum": high }),
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::Mode => json!({ "enum": ["on", "off", "observe", true, false] }),
        Shape::List(inner) => json!({ "type": "array", "items": shape(*inner), "maxItems": limits::LIST }),
        Shape::Map(kind, inner) => map(kind, *inner),
        Shape::Object(object) => json!({ "$ref": format!("#/$defs/{}", object.name) }),
        Shape::Any(shapes) => json!({ "anyOf": shapes.iter().map(|s| shape(*s)).collect::<Vec<_>>() }),
    }
}

/// A mapping whose keys are the user's own.
fn map(kind: &str, inner: Shape) -> Value {
    let names = match kind {
        "tool" => json!({ "pattern": TOOL_PATTERN, "not": reserved() }),
        "fact" => json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": reserved() }),
        _ => json!({ "minLength": 1, "maxLength": limits::NAME, "not": reserved() }),
    };
    json!({ "type": "object", "propertyNames": names, "additionalProperties": shape(inner) })
}

fn reserved() -> Value {
    json!({ "anyOf": [{ "enum": RESERVED }, { "pattern": format!("^{RESERVED_PREFIX}") }] })
}

fn section(out: &mut String, title: &str, object: &'static Object) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "### {title}\n\n{}\n", object.about);
    let _ = writeln!(out, "| key | value | default | meaning |\n|---|---|---|---|");
    for key in object.keys {
        let default = if key.required { "**required**" } else { key.default };
        let _ =
            writeln!(out, "| `{}` | {} | {default} | {} |", key.name, said(key.shape).replace('|', "\\|"), key.about);
    }
    out.push('\n');
}

fn title_of(parent: &str, key: &Key, child: &Object) -> String {
    let path = match key.shape {
        Shape::Map(kind, _) => format!("{}.{}", key.name, kind.to_uppercase()),
        Shape::List(_) => format!("{}[]", key.name),
        _ => key.name.to_owned(),
    };
    let parent = parent.trim_matches('`');
    match child.name {
        "rule" => "`rules[]`".to_owned(),
        "guards" => "`guards`".to_owned(),
        "include" => "`messages.NAME`".to_owned(),
        _ if parent == "The table" => format!("`{path}`"),
        _ => format!("`{parent}.{path}`"),
    }
}

/// A shape in words.
fn said(of: Shape) -> String {
    match of {
        Shape::Text => "text".to_owned(),
        Shape::Template => "template".to_owned(),
        Shape::Expression => "expression".to_owned(),
        Shape::Regex => "regex".to_owned(),
        Shape::Name => "name".to_owned(),
        Shape::Stage => "stage".to_owned(),
        Shape::Tool => "tool or pattern".to_owned(),
        Shape::Duration => "duration".to_owned(),
        Shape::Decimal(low, high) => {
            let low = if low == 0 { "above 0".to_owned() } else { format!("from {low}") };
            format!("number, {low} to {high}")
        }
        Shape::Switch => "`true` or `false`".to_owned(),
        Shape::Whole(low, high) if low == high => format!("`{low}`"),
        Shape::Whole(low, u32::MAX) => format!("whole number from {low}"),
        Shape::Whole(low, high) => format!("whole number, {low} to {high}"),
        Shape::Words(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(" | "),
        Shape::Mode => "`on` | `off` | `observe`".to_owned(),
        Shape::List(inner) => format!("list: {}", said(*inner)),
        Shape::Map(kind, inner) => format!("{kind} → {}", said(*inner)),
        Shape::Object(object) => format!("mapping: {}", object.name.replace('_', " ")),
        Shape::Any(shapes) => shapes.iter().map(|s| said(*s)).collect::<Vec<_>>().join(" | "),
    }
}
