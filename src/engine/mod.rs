//! The engine: pure. It takes inputs and answers with events and verdicts; it never waits and never calls a tool.

pub mod args;
pub mod core;
pub mod event;
pub mod guard;
pub mod input;
pub mod life;
pub mod outcome;
pub mod past;
pub mod roster;
pub mod session;
pub mod settle;
pub mod summary;
pub mod verdict;
pub mod view;

pub use event::{EnteredBy, Event, Judged};
