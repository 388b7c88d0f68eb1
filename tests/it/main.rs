//! One binary for all integration tests: one module a subject.

mod audit;
mod provider;
mod scenarios;
mod table_valid;
