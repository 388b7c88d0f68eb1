//! The engine: pure. It takes inputs and answers with events and verdicts; it never waits and never calls a tool.

mod answer;
pub mod args;
pub mod bound;
mod carry;
pub mod core;
mod digest;
pub mod event;
pub mod explain;
mod finish;
mod frame;
mod grant;
pub mod guard;
pub mod input;
pub mod life;
pub(crate) mod mutant;
mod nest;
pub mod outcome;
pub mod past;
pub mod recursion;
mod reply;
pub mod roster;
mod scene;
pub mod session;
pub mod settle;
mod slot;
mod speak;
mod start;
pub mod summary;
mod transcript;
pub mod tree;
pub mod verdict;
pub mod view;

pub use event::{EnteredBy, Event, Judged};
