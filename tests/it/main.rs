//! All integration tests in one binary: one module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::type_complexity,
    reason = "a test that panics has failed, which is what it is for"
)]

mod arrows;
#[cfg(feature = "audit")]
mod audit;
#[cfg(feature = "run")]
mod clean;
#[cfg(feature = "cli")]
mod cli;
mod docs;
mod draw;
mod from_trace;
#[cfg(feature = "audit")]
mod fuzz;
mod html;
mod identity;
#[cfg(feature = "cli")]
mod keys;
mod law;
mod laws;
#[cfg(feature = "run")]
mod matrix;
mod messages;
mod nested;
mod nested_laws;
#[cfg(feature = "run")]
mod provider;
mod recursion;
#[cfg(feature = "run")]
mod runner;
mod scenarios;
mod session;
#[cfg(feature = "store")]
mod store;
mod story;
#[cfg(feature = "audit")]
mod suggest;
mod table_bad_input;
mod table_meaning;
mod table_problems;
mod table_schema;
mod table_valid;
mod testing_files;
#[cfg(feature = "run")]
mod tools;
mod trace;
mod verify;
