//! All integration tests in one binary: one module a subject.

mod audit;
mod laws;
mod provider;
mod arrows;
#[cfg(feature = "audit")]
//! One binary for all integration tests: one module a subject.

mod audit;
#[cfg(feature = "cli")]
mod cli;
mod docs;
mod draw;
#[cfg(feature = "run")]
mod provider;
#[cfg(feature = "run")]
mod runner;
mod scenarios;
mod table_bad_input;
mod table_problems;
mod table_schema;
mod table_valid;
#[cfg(feature = "run")]
mod story;
mod table_valid;
mod testing_files;
mod tools;
mod trace;
