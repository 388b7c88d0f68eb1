//! One binary for all integration tests: one module a subject.

mod audit;
mod provider;
mod runner;
mod scenarios;
mod table_valid;
mod tools;
mod trace;
