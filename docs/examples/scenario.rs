//! A test of a table without a model: a script, the story it makes. `cargo run --example scenario`

use stagekeeper::StageTable;
use stagekeeper::testing::{Script, play};

fn main() -> Result<(), stagekeeper::TableError> {
    let table = StageTable::parse(include_str!("../../stages/diagnose.yaml"))?;
    let script = Script::new()
        .tool("list_files", ["src/login.rs"])
        .tool("read_file", ["name.chars().next().unwrap()"])
        .call("read_file", r#"{"path": "src/login.rs"}"#) // too early
        .call("list_files", r#"{"path": "src"}"#)
        .text("src/login.rs")
        .call("read_file", r#"{"path": "src/login.rs"}"#)
        .text("It unwraps the first character.")
        .text("An empty name has none.")
        .text("Do not unwrap the first character of the name.");
    let played = play(&table, "Login crashes on an empty name.", script);
    // In a test: insta::assert_snapshot!(played.story())
    use std::io::Write as _;
    let _ = write!(std::io::stdout(), "{}", played.story());
    Ok(())
}
