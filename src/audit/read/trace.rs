//! Our own traces: the inputs count, what was decided then does not.

use crate::audit::recording::{Builder, RecordedCall};
use crate::engine::input::{CallNo, Input};
use crate::engine::outcome::Outcome;
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "stagekeeper_trace")]
    _format: u64,
    #[serde(default)]
    run: String,
    #[serde(default)]
    workflow: String,
    #[serde(default)]
    task: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    input: Input,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    event: String,
    #[serde(default)]
    call: Option<CallNo>,
    #[serde(default)]
    outcome: Option<Outcome>,
}

/// Whether the line begins a trace.
pub fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"{\"stagekeeper_trace\"")
}

/// A trace under way.
pub struct Going {
    builder: Builder,
    replies: u64,
    /// Numbers the engine gave → the ids used here.
    ids: HashMap<CallNo, String>,
}

impl Going {
    /// Reads the header.
    pub fn begin(number: u64, line: &[u8]) -> serde_json::Result<Self> {
        let header: Header = serde_json::from_slice(line)?;
        let mut builder = Builder::new(number);
        let head = builder.head();
        head.id = header.run;
        head.source = header.workflow;
        head.task = header.task;
        Ok(Self { builder, replies: 0, ids: HashMap::new() })
    }

    /// Reads one record.
    pub fn line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let Line { input, events } = serde_json::from_slice(line)?;
        match input {
            Input::Reply(reply) => {
                self.replies += 1;
                let turn = self.replies.to_string();
                let judged = events.iter().filter(|event| event.event == "call_judged").map(|event| event.call);
                for (call, no) in reply.calls.into_iter().zip(judged.chain(std::iter::repeat(None))) {
                    let id = no.map_or_else(|| call.id.clone(), |no| format!("call {}", no.0));
                    if let Some(no) = no {
                        self.ids.insert(no, id.clone());
                    }
                    let (tool, arguments) = (call.tool, call.arguments);
                    self.builder.call(&turn, RecordedCall { id, tool, arguments, result: None });
                }
            }
            Input::Result { call, result } => {
                if let Some(id) = self.ids.remove(&call) {
                    self.builder.result(&id, result.text, result.status);
                }
            }
            _ => {}
        }
        let ended = events.iter().rev().find(|event| event.event == "run_ended");
        if let Some(outcome) = ended.and_then(|event| event.outcome) {
            self.builder.head().success = Some(outcome == Outcome::Completed);
        }
        Ok(())
    }

    /// The run.
    pub fn finish(self) -> Builder {
        self.builder
    }
}
