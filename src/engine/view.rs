//! What the model sees.

use super::input::ProposedCall;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A tool as the model is offered it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default = "no_parameters")]
    pub parameters: serde_json::Value,
}

fn no_parameters() -> serde_json::Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

impl ToolSpec {
    /// A tool without a schema of its arguments.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: String::new(), parameters: no_parameters() }
    }
}

/// One message of the transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From the task, the user or us.
    User {
        /// Its text.
        text: String,
    },
    /// From the model.
    Assistant {
        /// Its text; empty when it only called.
        text: String,
        /// Its calls; every one is answered by a `Tool` message right after.
        calls: Vec<ProposedCall>,
    },
    /// The answer to one call, in the order of the calls.
    Tool {
        /// The id the call had.
        id: String,
        /// The tool's name.
        tool: String,
        /// The result or hint. Shared with the memory of results, so that keeping both costs once.
        text: Arc<str>,
        /// Whether it is an error or a refusal.
        error: bool,
    },
}

/// Whether the model may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not at all: this is the closing request.
    None,
}

/// What to ask the model next. Borrowed: the history is never copied.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The system prompt, the same for the whole run.
    pub system: &'a str,
    /// The transcript.
    pub messages: &'a [Message],
    /// The tools on offer.
    pub tools: &'a [ToolSpec],
    /// Whether it may call.
    pub tool_choice: ToolChoice,
    /// The stage's name.
    pub stage: &'a str,
    /// Steps left in the stage, this one included.
    pub steps_left: u32,
    /// The model alias the stage declares.
    pub model: Option<&'a str>,
}
