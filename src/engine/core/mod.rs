//! The value that decides: small, comparable, hashable. It judges one call at a time; texts, transcript and event log
//! stand beside it in the session. A proof explores this very value.

mod judge;
mod ran;
mod rules;
mod state;
mod terms;

pub use ran::MAX_FACT_VALUES;
pub(super) use state::at;
pub use state::{Core, is_true, stage_of};
pub use terms::{
    Because, Closing, Conditions, Context, Gate, Judgement, Note, Proposed, ReplyFacts, ReplyState, Target, ToolState,
    Truth,
};
