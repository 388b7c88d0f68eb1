//! The engine: pure. It takes inputs and answers with events and verdicts; it never waits and never calls a tool.

pub mod event;
pub mod input;
pub mod outcome;
pub mod session;
pub mod summary;
pub mod verdict;
pub mod view;

pub use event::{EnteredBy, Event, Judged};
