//! All integration tests in one binary.

mod scenarios;
mod audit;
mod table_valid;
//! One binary for all integration tests: one module a subject.

mod provider;
