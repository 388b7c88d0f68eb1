//! What a tool is for, by its name, and how its arguments are written, by its schema.

use crate::engine::view::ToolSpec;
use serde_json::{Map, Value, json};

/// Names that arguments go by.
pub(super) const PATH: &[&str] = &["path", "file", "file_path", "filename", "document", "doc", "name", "uri"];
pub(super) const PATTERN: &[&str] = &["pattern", "query", "keyword", "regex", "text", "q", "term"];
pub(super) const OFFSET: &[&str] = &["offset", "start_line", "first_line"];
const LIMIT: &[&str] = &["limit", "lines", "max_lines"];
const FOLDER: &[&str] = &["path", "folder", "directory", "dir", "root"];
const CONTENT: &[&str] = &["content", "contents", "text", "data", "body"];
const TO: &[&str] = &["to", "recipient", "address", "email"];
const SUBJECT: &[&str] = &["subject", "title"];
const BODY: &[&str] = &["body", "text", "content", "message"];
const QUESTION: &[&str] = &["question", "task", "topic"];
const COMMAND: &[&str] = &["command", "cmd", "command_line"];

/// What a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Search,
    Read,
    Mail,
    Write,
    Run,
    /// Another agent, or a nested run: it takes a question.
    Ask,
}

/// The kind of the tool of this name; `None` = one we do not know what to do with.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let is = |known: &[&str]| words.iter().any(|w| known.contains(w));
    let about_files =
        is(&["file", "files", "dir", "directory", "folder", "code", "doc", "docs", "document", "documents", "repo"]);
    match () {
        () if is(&["mail", "email"]) && is(&["send", "mail", "email"]) => Some(Kind::Mail),
        () if is(&["grep"]) || (is(&["search", "find"]) && about_files) => Some(Kind::Search),
        () if is(&["ls", "tree"]) || (is(&["list", "glob"]) && about_files) => Some(Kind::List),
        () if is(&["read", "open", "cat", "view", "get", "fetch"]) && about_files => Some(Kind::Read),
        () if is(&["write", "create"]) && about_files => Some(Kind::Write),
        () if is(&["run", "execute", "exec"]) && is(&["command", "cmd", "shell"]) => Some(Kind::Run),
        () => None,
    }
}

/// The kind of a tool by its name, else by what it wants: one that wants a question and nothing else is asked.
pub(super) fn kind_of_tool(tool: &ToolSpec) -> Option<Kind> {
    kind_of(&tool.name).or_else(|| {
        let required = tool.parameters.get("required").and_then(Value::as_array)?;
        let question = |name: &Value| name.as_str().is_some_and(|name| QUESTION.contains(&name));
        (required.len() == 1 && required.iter().all(question)).then_some(Kind::Ask)
    })
}

/// One of the names that the tool's schema has; the first of them where there is no schema.
fn name_in<'n>(tool: &ToolSpec, names: &[&'n str]) -> Option<&'n str> {
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    match properties.filter(|p| !p.is_empty()) {
        Some(properties) => names.iter().copied().find(|name| properties.contains_key(*name)),
        None => names.first().copied(),
    }
}

/// The arguments, or `None` when the schema has no place for one of them, or wants one that we do not know.
fn written(tool: &ToolSpec, given: &[(&[&str], Value)]) -> Option<Value> {
    let mut made = Map::new();
    for (names, value) in given {
        let name = name_in(tool, names).filter(|name| !made.contains_key(*name))?;
        made.insert(name.to_owned(), fitted(tool, name, value.clone()));
    }
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let complete = required.into_iter().flatten().filter_map(Value::as_str).all(|name| made.contains_key(name));
    complete.then_some(Value::Object(made))
}

/// A value in the type the schema wants: some tools take a list where one would do.
fn fitted(tool: &ToolSpec, name: &str, value: Value) -> Value {
    let kind = tool.parameters.get("properties").and_then(|p| p.get(name)?.get("type")).and_then(Value::as_str);
    if kind == Some("array") { json!([value]) } else { value }
}

pub(super) fn list(tool: &ToolSpec, folder: &str) -> Option<Value> {
    if folder == "." {
        return written(tool, &[]).or_else(|| written(tool, &[(FOLDER, json!("."))]));
    }
    written(tool, &[(FOLDER, json!(folder))])
}

pub(super) fn search(tool: &ToolSpec, word: &str) -> Option<Value> {
    // Where the tool says nothing of case in its schema, the pattern is taken for a regex, as grep's is.
    let pattern = format!("(?i){}", regex::escape(word));
    written(tool, &[(PATTERN, json!(pattern))])
}

/// Reads a file: from `line` on where the tool can do that, else from its beginning.
pub(super) fn read(tool: &ToolSpec, path: &str, from: Option<(u32, u32)>) -> Option<Value> {
    let has_schema = tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    from.filter(|_| has_schema)
        .and_then(|(line, lines)| written(tool, &[(PATH, json!(path)), (OFFSET, json!(line)), (LIMIT, json!(lines))]))
        .or_else(|| written(tool, &[(PATH, json!(path))]))
}

pub(super) fn write(tool: &ToolSpec, path: &str, content: &str) -> Option<Value> {
    written(tool, &[(PATH, json!(path)), (CONTENT, json!(content))])
}

pub(super) fn mail(tool: &ToolSpec, to: &str, subject: &str, body: &str) -> Option<Value> {
    written(tool, &[(TO, json!(to)), (SUBJECT, json!(subject)), (BODY, json!(body))])
}

/// Asks a question.
pub(super) fn ask(tool: &ToolSpec, question: &str) -> Option<Value> {
    written(tool, &[(QUESTION, json!(question))])
}

/// The command lines a tool says it runs: the `enum` of its argument, what its description lists behind a colon with
/// ` · ` between (as the built-in tool's does), or what stands there in backticks. With `goal`, those that it quotes.
pub(super) fn commands(tool: &ToolSpec, goal: &str) -> Vec<Value> {
    let Some(name) = name_in(tool, COMMAND) else {
        return Vec::new();
    };
    let listed = tool.parameters.get("properties").and_then(|p| p.get(name)?.get("enum")?.as_array());
    let mut lines: Vec<&str> = match (listed, tool.description.rsplit_once("): ")) {
        (Some(listed), _) => listed.iter().filter_map(Value::as_str).collect(),
        (None, Some((_, list))) => list.trim_end_matches('.').split(" · ").filter(|line| *line != "none").collect(),
        (None, None) => tool.description.split('`').skip(1).step_by(2).collect(),
    };
    let quoted: Vec<&str> = goal.split('`').skip(1).step_by(2).filter(|line| lines.contains(line)).collect();
    if !quoted.is_empty() {
        lines = quoted;
    }
    // A line that ends in `*` takes any more words, and none will do.
    let lines = lines.into_iter().map(|line| line.trim_end_matches('*').trim());
    lines
        .filter(|line| line.contains(char::is_alphabetic))
        .filter_map(|line| written(tool, &[(COMMAND, json!(line))]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(properties: Value, required: &[&str]) -> ToolSpec {
        let parameters = json!({ "type": "object", "properties": properties, "required": required });
        ToolSpec { name: "t".into(), description: "Runs `make`, `make test *` or nothing.".into(), parameters }
    }

    #[test]
    fn kinds_are_told_by_names() {
        let kinds =
            ["list_files", "grep_code", "read_file", "send_email", "write_file", "run_command", "fs__read_file"];
        use Kind::*;
        assert_eq!(kinds.map(kind_of), [List, Search, Read, Mail, Write, Run, Read].map(Some));
        for other in ["advance", "refund", "list_orders", "readiness", "get_order", "run_tests", "delete_file"] {
            assert_eq!(kind_of(other), None, "{other}");
        }
    }

    #[test]
    fn arguments_follow_the_schema() {
        let text = json!({ "type": "string" });
        let other = tool(json!({ "file_path": text, "start_line": { "type": "integer" } }), &["file_path"]);
        assert_eq!(read(&other, "a.rs", None), Some(json!({ "file_path": "a.rs" })));
        assert_eq!(read(&other, "a.rs", Some((9, 60))), Some(json!({ "file_path": "a.rs" })));
        let list_of = tool(json!({ "to": { "type": "array" }, "subject": text, "body": text }), &["to"]);
        assert_eq!(mail(&list_of, "a@b.c", "s", "b"), Some(json!({ "to": ["a@b.c"], "subject": "s", "body": "b" })));
    }

    #[test]
    fn a_tool_that_wants_more_than_we_know_is_not_called() {
        let wants = tool(json!({ "path": { "type": "string" }, "token": { "type": "string" } }), &["path", "token"]);
        assert_eq!(read(&wants, "a.rs", None), None);
        assert_eq!(search(&wants, "word"), None);
    }

    #[test]
    fn commands_come_from_the_enum_or_the_description() {
        let with = |schema: Value| commands(&tool(json!({ "command": schema }), &["command"]), "Run `make test` once.");
        assert_eq!(with(json!({ "enum": ["cc a.c", "*"] })), [json!({ "command": "cc a.c" })]);
        assert_eq!(with(json!({})), [json!({ "command": "make" }), json!({ "command": "make test" })]);
        let builtin = |list: &str| ToolSpec {
            description: format!("Runs a command line. Allowed (a last `*` stands for any further words): {list}."),
            ..tool(json!({ "command": {} }), &["command"])
        };
        let two = builtin("cc -o gen/app gen/main.c · make test *");
        let (cc, make) = (json!({ "command": "cc -o gen/app gen/main.c" }), json!({ "command": "make test" }));
        assert_eq!(commands(&two, ""), [cc.clone(), make]);
        assert_eq!(commands(&two, "Build with `cc -o gen/app gen/main.c`."), [cc]);
        assert!(commands(&builtin("none"), "").is_empty());
    }
}
