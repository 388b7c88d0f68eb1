//! What goes into the engine. A run is a function of (table, host tools, inputs).

use serde::{Deserialize, Serialize};

/// The engine's own number of a call, from 1; ids of providers may repeat, these never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallNo(pub u32);

/// One call as the model proposed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCall {
    /// The provider's id; may be empty or repeat.
    pub id: String,
    /// The tool as the model wrote it.
    pub tool: String,
    /// The arguments as raw text; empty means `{}`.
    pub arguments: String,
}

impl ProposedCall {
    /// A call of `tool` with raw JSON `arguments`.
    #[must_use]
    pub fn new(id: impl Into<String>, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), tool: tool.into(), arguments: arguments.into() }
    }
}

/// Why the model stopped writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done, or called tools.
    #[default]
    Stop,
    /// It was cut short: its calls are not run.
    Length,
    /// It declines the task.
    Refusal,
}

/// What a reply cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Millionths of a currency unit.
    pub cost_micros: u64,
}

/// One model reply: text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The text; empty when there is none.
    pub text: String,
    /// The calls in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ProposedCall>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: Finish,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
}

impl Reply {
    /// A reply of text alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply of calls alone.
    #[must_use]
    pub fn calls(calls: Vec<ProposedCall>) -> Self {
        Self { calls, ..Self::default() }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a result.
    #[default]
    Ok,
    /// With an error.
    Error,
    /// Nobody knows whether it took effect (a time-out, a crash): counts as a change of the world.
    Unknown,
}

/// What a tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Its text, or the error's.
    pub text: String,
    /// How it ended.
    #[serde(default)]
    pub status: Status,
}

impl ToolResult {
    /// A result.
    #[must_use]
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: Status::Ok }
    }

    /// An error.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: Status::Error }
    }

    /// An end nobody knows, such as a time-out.
    #[must_use]
    pub fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: Status::Unknown }
    }
}

/// Everything that can happen to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// The run began. Made by the session itself, so that a trace holds what was decided at the start.
    Start,
    /// The model replied.
    Reply(Reply),
    /// A call that was judged *run* came back.
    Result {
        /// Which.
        call: CallNo,
        /// With what.
        result: ToolResult,
    },
    /// A person answered about a call that was judged *ask*.
    Approval {
        /// Which.
        call: CallNo,
        /// Yes or no.
        yes: bool,
    },
    /// A person admits the run to the stage it waits before (`approval: always` on a stage), or does not.
    Admission {
        /// Yes or no.
        yes: bool,
    },
    /// The user said something.
    UserMessage {
        /// What.
        text: String,
    },
    /// The host sets a fact (`None` unsets it).
    Fact {
        /// Its name.
        name: String,
        /// Its value.
        value: Option<serde_json::Value>,
    },
    /// Time went by.
    Time {
        /// Milliseconds since the last such input.
        ms: u64,
        /// Whether a person was waited for.
        #[serde(default)]
        waiting: bool,
    },
    /// A person gives a stage more steps. A run that a spent budget closed goes on in that stage.
    Grant {
        /// The stage.
        stage: String,
        /// How many.
        steps: u32,
        /// Who.
        by: String,
    },
    /// The caller wants no more.
    Cancel,
    /// The model could not be reached, or the request was too long for it.
    ProviderFailed {
        /// Whether the view was too long.
        overflow: bool,
        /// What it said.
        message: String,
    },
}
