//! The async driver: asks the model, runs the tools, hands everything to the engine.

pub mod model;

pub use model::{Answer, Asker, Model, ModelError, ModelErrorKind, Question, SinkError, ToolCall, ToolHost, TraceSink};
