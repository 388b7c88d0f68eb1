//! All integration tests in one binary.

mod scenarios;
#[cfg(feature = "run")]
mod runner;
mod table_valid;
#[cfg(feature = "run")]
mod tools;
mod trace;
mod audit;
mod table_valid;
//! One binary for all integration tests: one module a subject.

mod provider;
