//! What the runner needs of the world: a model, tools, a person, a trace.

use crate::engine::input::{CallNo, Reply, ToolResult};
use crate::engine::session::Record;
use crate::engine::view::{ToolSpec, View};
use std::future::Future;
use std::pin::Pin;

/// A boxed answer, so that the traits can be used as objects.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What kind of failure a model had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The view is too long for it.
    Overflow,
    /// It cannot be reached, or keeps failing, after all retries.
    Unreachable,
    /// It refuses us (401, 403, unknown model): retrying is of no use.
    Refused,
    /// Its answer could not be read.
    BadReply,
}

/// Why a model gave no reply. Charges nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind.
    pub kind: ModelErrorKind,
    /// For people: what happened and what to do. Never holds a key.
    pub message: String,
}

/// A model: replies to a view.
pub trait Model: Send {
    /// Asks for one reply.
    ///
    /// # Errors
    /// When there is none; retries are the implementation's business.
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>>;
    /// A run goes on for which this model has replied, or failed to, so often: what keeps a position moves there.
    fn goes_on_behind(&mut self, replies: usize) {
        let _ = replies;
    }
}

/// One call to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The engine's number.
    pub no: CallNo,
    /// The tool, resolved.
    pub tool: String,
    /// The arguments as raw text, one JSON object (never empty).
    pub arguments: String,
    /// The same for every attempt at this very call.
    pub idempotency_key: String,
}

/// Where tools run.
pub trait ToolHost: Send + Sync {
    /// What it offers.
    fn tools(&self) -> Vec<ToolSpec>;
    /// Runs one call. Dropping the future cancels it.
    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult>;
    /// Closes whatever was opened, in reverse order, once. Called on every exit of the run.
    fn close(&self) -> Answer<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question itself.
    pub text: String,
    /// The tool and its raw arguments, when it is about a call.
    pub call: Option<(String, String)>,
    /// The stage, when it is about entering one.
    pub stage: Option<String>,
    /// What the stages so far ended with.
    pub products: Vec<(String, String)>,
}

/// Who asks a person.
pub trait Asker: Send {
    /// Asks for yes or no; `None` = nobody can be asked.
    fn approve<'a>(&'a mut self, question: &'a Question) -> Answer<'a, Option<bool>>;
    /// Shows the model's text to the user and returns what they say; `None` = nobody is there.
    fn user<'a>(&'a mut self, text: &'a str) -> Answer<'a, Option<String>>;
}

/// Who wants to know of the process groups that tools run in, to end those that a killed run leaves.
pub trait Groups: Send + Sync {
    /// A group began, led by the process of that id.
    fn began(&self, id: i32);
    /// It ended.
    fn ended(&self, id: i32);
}

/// Why a record could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(pub String);

/// Where records go, each written before it is acted on.
pub trait TraceSink: Send {
    /// Keeps one record.
    ///
    /// # Errors
    /// When it cannot be kept: the run stops before acting on it.
    fn write(&mut self, record: &Record) -> Result<(), SinkError>;
    /// Notes calls that are about to run, so that a resumed run knows which were never begun.
    ///
    /// # Errors
    /// When it cannot be kept: the calls are not run.
    fn intends(&mut self, calls: &[CallNo]) -> Result<(), SinkError> {
        let _ = calls;
        Ok(())
    }
}
