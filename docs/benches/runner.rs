//! A whole runner step with a trace: model turn, verdict, tool call, result, every record serialised as it comes.
//!
//! The workload is the one of other frameworks' measurements: N single calls of `lookup({"query": "item i", "limit":
//! 10})`, an in-process tool that gives about 208 bytes, then a text. The time divided by N must stay flat.
#![allow(clippy::unwrap_used, reason = "a bench that breaks says so")]

use divan::{Bencher, counter::ItemsCount};
use stagekeeper::run::{Answer, FnTools, Model, ModelError, Runner, SinkError, TraceSink};
use stagekeeper::trace::write_record;
use stagekeeper::{ProposedCall, Record, Reply, Session, StageTable, ToolResult, View};
use std::future::ready;

fn main() {
    divan::main();
}

const TABLE: &str = "
stagekeeper: 1
workflow: bench
tools: { lookup: { effect: read } }
stages:
  search: { goal: Search., allowed_tools: [lookup], max_steps: 5000 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

/// Calls N times, then answers.
struct Calls {
    done: usize,
    of: usize,
}

impl Model for Calls {
    fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        self.done += 1;
        let reply = if self.done > self.of {
            Reply::text("Found.")
        } else {
            let (id, arguments) =
                (format!("c{}", self.done), format!(r#"{{"query": "item {}", "limit": 10}}"#, self.done));
            Reply::calls(vec![ProposedCall::new(id, "lookup", arguments)])
        };
        Box::pin(ready(Ok(reply)))
    }
}

/// Serialises every record into memory.
struct Memory {
    line: Vec<u8>,
    trace: Vec<u8>,
    n: u64,
}

impl TraceSink for Memory {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        self.n += 1;
        write_record(&mut self.line, self.n, 0, record).map_err(|e| SinkError(e.to_string()))?;
        self.trace.extend_from_slice(&self.line);
        Ok(())
    }
}

fn tools() -> FnTools {
    FnTools::new().tool("lookup", |call| ToolResult::ok(format!("{}{}", call.arguments, "x".repeat(170))))
}

#[divan::bench(args = [15, 100, 1000])]
fn steps(bencher: Bencher<'_, '_>, n: usize) {
    let table = StageTable::parse(TABLE).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    bencher.counter(ItemsCount::new(n)).bench_local(|| {
        let mut session = Session::start(&table, "Find it.");
        let sink = Memory { line: Vec::new(), trace: Vec::new(), n: 0 };
        let runner = Runner::new(Box::new(Calls { done: 0, of: n }), Box::new(tools())).sink(Box::new(sink));
        runtime.block_on(runner.run(&mut session)).unwrap().summary.steps
    });
}

/// The same without the runner: what the engine alone takes.
#[divan::bench(args = [15, 100, 1000])]
fn engine_alone(bencher: Bencher<'_, '_>, n: usize) {
    let table = StageTable::parse(TABLE).unwrap();
    bencher.counter(ItemsCount::new(n)).bench_local(|| {
        let mut session = Session::start(&table, "Find it.");
        for i in 1..=n {
            let call = ProposedCall::new(format!("c{i}"), "lookup", format!(r#"{{"query": "item {i}", "limit": 10}}"#));
            for ruling in session.judge(Reply::calls(vec![call])) {
                if let stagekeeper::Verdict::Run(ticket) = ruling.verdict {
                    session.finish(ticket, ToolResult::ok("x".repeat(208)));
                }
            }
            session.take_records();
        }
        session.summary().steps
    });
}
