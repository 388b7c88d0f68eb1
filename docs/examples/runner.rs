//! The runner with a model and tools of your own. `cargo run --example runner`

use stagekeeper::run::{Answer, FnTools, Model, ModelError, Runner, ToolHost};
use stagekeeper::{ProposedCall, Reply, Session, StageTable, ToolResult, View};

const TABLE: &str = "
stagekeeper: 1
workflow: greet
tools:
  lookup: { effect: read }
stages:
  look:
    goal: Find out the name.
    allowed_tools: [lookup]
    max_steps: 3
  greet:
    goal: Greet by name.
    allowed_tools: []
    max_steps: 1
";

/// A model that looks something up and then speaks. A real one would send `view` to a server.
struct Greeter;

impl Model for Greeter {
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let reply = match (view.stage, view.steps_left) {
            ("look", 3) => Reply::calls(vec![ProposedCall::new("1", "lookup", r#"{"id": 7}"#)]),
            ("look", _) => Reply::text("The name is Ada."),
            _ => Reply::text("Good morning, Ada."),
        };
        Box::pin(async move { Ok(reply) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = StageTable::parse(TABLE)?;
    let tools = FnTools::new().tool("lookup", |_| ToolResult::ok("Ada"));
    let mut session = Session::builder(&table, "Greet user 7.").tools(tools.tools()).start()?;
    let report = Runner::new(Box::new(Greeter), Box::new(tools)).run(&mut session).await?;
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{}", report.summary)?;
    Ok(())
}
