//! Our own traces: the inputs count, what was decided then does not.

use crate::audit::recording::{Around, Builder, RecordedCall};
use crate::engine::input::{CallNo, Input};
use crate::engine::outcome::Outcome;
use indexmap::IndexMap;
use serde::Deserialize;
use std::collections::HashMap;

/// Most inputs between two replies that are kept.
const MAX_BEFORE: usize = 1_000;

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
    #[serde(default)]
    facts: IndexMap<String, serde_json::Value>,
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
    #[serde(default)]
    stage: Option<String>,
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
    /// What came since the last reply from the user, the host or the clock.
    before: Vec<Input>,
    /// Nested runs under way, whose stages are not this run's.
    nested: usize,
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
        head.facts = header.facts.into_iter().collect();
        Ok(Self { builder, replies: 0, ids: HashMap::new(), before: Vec::new(), nested: 0 })
    }

    /// Reads one record.
    pub fn line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let Line { input, events } = serde_json::from_slice(line)?;
        match input {
            Input::Reply(mut reply) => {
                self.replies += 1;
                let turn = self.replies.to_string();
                let calls = std::mem::take(&mut reply.calls);
                self.builder.reply(&turn, Around { before: std::mem::take(&mut self.before), reply });
                let judged = events.iter().filter(|event| event.event == "call_judged").map(|event| event.call);
                for (call, no) in calls.into_iter().zip(judged.chain(std::iter::repeat(None))) {
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
            Input::UserMessage { .. } | Input::Fact { .. } | Input::Time { .. } | Input::Grant { .. }
                if self.before.len() < MAX_BEFORE =>
            {
                self.before.push(input);
            }
            _ => {}
        }
        events.iter().for_each(|event| self.spend(event));
        let ended = events.iter().rev().find(|event| event.event == "run_ended");
        if let Some(outcome) = ended.and_then(|event| event.outcome) {
            self.builder.head().success = Some(outcome == Outcome::Completed);
        }
        Ok(())
    }

    /// Counts a step that was charged to a stage.
    fn spend(&mut self, event: &Event) {
        match (event.event.as_str(), &event.stage) {
            ("child_opened", _) => self.nested += 1,
            ("child_closed", _) => self.nested = self.nested.saturating_sub(1),
            ("step_charged", Some(stage)) if self.nested == 0 => {
                let spent = &mut self.builder.head().spent;
                match spent.iter_mut().find(|(name, _)| name == stage) {
                    Some((_, steps)) => *steps += 1,
                    None => spent.push((stage.clone(), 1)),
                }
            }
            _ => {}
        }
    }

    /// The run.
    pub fn finish(self) -> Builder {
        self.builder
    }
}
