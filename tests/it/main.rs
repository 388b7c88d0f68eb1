//! One binary for all integration tests: one module a subject.
//! All integration tests in one binary.

mod audit;
mod provider;
mod scenarios;
mod table_valid;
