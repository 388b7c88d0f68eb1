//! Your own loop round a [`Session`]: no async runtime, no files. `cargo run --example embed --no-default-features`

use stagekeeper::{ProposedCall, Reply, Session, StageTable, ToolResult, Verdict, View};

fn main() -> Result<(), stagekeeper::TableError> {
    let table = StageTable::parse(include_str!("../../stages/diagnose.yaml"))?;
    let mut session = Session::start(&table, "Login crashes on an empty name.");

    while session.outcome().is_none() {
        let reply = ask_your_model(session.view()); // text, calls, or both
        for ruling in session.judge(reply) {
            if let Verdict::Run(ticket) = ruling.verdict {
                let result = run_your_tool(&ruling.tool, &ruling.call.arguments);
                session.finish(ticket, result); // a ticket can be spent once
            } // refused and reused calls are answered already
        }
    }
    print(&session.summary().to_string());
    Ok(())
}

/// Stands for a request to a model. It looks at one file too early, which the table refuses.
fn ask_your_model(view: View<'_>) -> Reply {
    let call = |tool: &str, arguments: &str| Reply::calls(vec![ProposedCall::new("call", tool, arguments)]);
    match (view.stage, view.steps_left) {
        ("explore", 4) => call("read_file", r#"{"path":"src/login.rs"}"#),
        ("explore", 3) => call("list_files", r#"{"path":"src"}"#),
        ("read", 8) => call("read_file", r#"{"path":"src/login.rs"}"#),
        ("analyze", _) => Reply::text("An empty name has no first character, and `unwrap` panics."),
        ("report", _) => Reply::text("src/login.rs: do not unwrap the first character of the name."),
        _ => Reply::text("src/login.rs is the file."),
    }
}

/// Stands for your tools.
fn run_your_tool(tool: &str, _arguments: &str) -> ToolResult {
    match tool {
        "list_files" => ToolResult::ok("src/login.rs"),
        "read_file" => ToolResult::ok("name.chars().next().unwrap()"),
        other => ToolResult::error(format!("no tool {other} here")),
    }
}

fn print(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{text}");
}
