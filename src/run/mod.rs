//! The async driver: asks the model, runs the tools, hands everything to the engine.

mod guarded;
pub mod model;
#[expect(clippy::disallowed_methods, reason = "the built-in tools read and write files")]
pub mod tools;

pub use guarded::CLOSE_TIMEOUT;
pub use model::{Answer, Asker, Model, ModelError, ModelErrorKind, Question, SinkError, ToolCall, ToolHost, TraceSink};
pub use tools::{BuiltinTools, FnTools, Hosts};
