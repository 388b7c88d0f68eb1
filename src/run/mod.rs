//! The async driver: asks the model, runs the tools, hands everything to the engine.

mod asker;
mod bound;
mod call;
mod calls;
mod cancel;
mod clock;
mod drive;
mod guarded;
#[expect(clippy::disallowed_methods, reason = "run ids hold the time")]
mod id;
pub mod model;
mod runner;
#[expect(clippy::disallowed_methods, reason = "traces are stamped and written to files")]
mod sink;
#[expect(clippy::disallowed_methods, reason = "the built-in tools read and write files")]
pub mod tools;

pub use asker::{Always, Nobody};
pub use bound::RESULT_BYTES;
pub use call::TOOL_TIMEOUT;
pub use cancel::Cancel;
pub use drive::REPLY_BYTES;
pub use guarded::CLOSE_TIMEOUT;
pub use id::{new_run_id, now_ms};
pub use model::{
    Answer, Asker, Groups, Model, ModelError, ModelErrorKind, Question, SinkError, ToolCall, ToolHost, TraceSink,
};
pub use runner::{ASK_TIMEOUT, Report, RunError, Runner, Unanswered};
pub use sink::{FileSink, MemorySink, NoSink, TRACE_FOLDER};
pub use tools::{BuiltinTools, CALL_VARIABLE, FnTools, Hosts};
