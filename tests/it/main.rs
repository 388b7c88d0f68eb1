//! All integration tests in one binary: one module a subject.

mod arrows;
#[cfg(feature = "audit")]
mod audit;
mod cli;
mod docs;
mod draw;
mod laws;
#[cfg(feature = "run")]
mod provider;
mod runner;
mod scenarios;
mod story;
mod table_bad_input;
mod table_problems;
mod table_schema;
mod table_valid;
mod testing_files;
#[cfg(feature = "run")]
mod tools;
mod trace;
