//! What the model is told of the built-in tools.

use super::limits::{LIST_DEPTH, LISTED, MATCHES, READ_BYTES};
use crate::engine::view::ToolSpec;
use serde_json::{Value, json};

/// The built-in tools in a fixed order.
pub(super) fn specs(commands: &[String]) -> Vec<ToolSpec> {
    let path = json!({ "type": "string", "description": "Relative to the root folder." });
    vec![
        spec(
            "list_files",
            format!(
                "Lists files and folders below a folder, sorted, at most {LISTED}. What .gitignore names is left out."
            ),
            json!({ "path": path, "depth": { "type": "integer", "minimum": 1, "description": format!("Levels to show; {LIST_DEPTH} unless given.") } }),
            &[],
        ),
        spec(
            "grep_code",
            format!(
                "Finds a regular expression in text files; answers `path:line: text`, at most {MATCHES} matches, nothing when there are none."
            ),
            json!({ "pattern": { "type": "string", "description": "A regular expression (Rust's syntax)." }, "path": path, "glob": { "type": "string", "description": "Only files whose path matches, such as `*.rs`." } }),
            &["pattern"],
        ),
        spec(
            "read_file",
            format!("Reads a text file, at most {} KiB at once.", READ_BYTES / 1024),
            json!({ "path": path, "offset": { "type": "integer", "minimum": 1, "description": "First line, from 1." }, "limit": { "type": "integer", "minimum": 1, "description": "Number of lines." } }),
            &["path"],
        ),
        spec(
            "write_file",
            "Writes a whole file, replacing what was there; folders on the way are made.".to_owned(),
            json!({ "path": path, "content": { "type": "string" } }),
            &["path", "content"],
        ),
        spec("run_command", about_commands(commands), json!({ "command": { "type": "string" } }), &["command"]),
        spec(
            "send_email",
            "Sends one mail. It is put into an outbox folder.".to_owned(),
            json!({ "to": { "type": "string", "description": "Addresses, separated by commas." }, "subject": { "type": "string" }, "body": { "type": "string" } }),
            &["to", "subject", "body"],
        ),
    ]
}

fn about_commands(commands: &[String]) -> String {
    let list = if commands.is_empty() { "none".to_owned() } else { commands.join(" · ") };
    format!(
        "Runs an allowed command line in the root folder, without a shell. Allowed (a last `*` stands for any further words): {list}."
    )
}

fn spec(name: &str, description: String, properties: Value, required: &[&str]) -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    ToolSpec { name: name.to_owned(), description, parameters }
}
