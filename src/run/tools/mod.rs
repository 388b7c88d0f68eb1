//! The built-in tools, confined to a folder, and tools made of closures.

mod builtin;
mod command;
mod fns;
mod grep;
mod hosts;
mod ignored;
pub mod limits;
mod list;
mod mail;
mod process;
mod read;
mod root;
mod specs;
mod walk;
mod words;
mod write;

pub use builtin::BuiltinTools;
pub use fns::FnTools;
pub use hosts::Hosts;
pub use process::CALL_VARIABLE;
