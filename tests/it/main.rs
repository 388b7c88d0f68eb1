//! One binary for all integration tests: one module a subject.

mod arrows;
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
mod cli;
mod docs;
mod draw;
mod laws;
mod provider;
mod runner;
mod scenarios;
mod story;
mod table_bad_input;
mod table_meaning;
mod table_problems;
mod table_schema;
mod table_valid;
mod testing_files;
mod tools;
mod trace;
mod verify;
