//! One binary for all integration tests: one module a subject.

mod audit;
mod provider;
mod runner;
mod scenarios;
mod table_bad_input;
mod table_meaning;
mod table_problems;
mod table_schema;
mod table_valid;
mod tools;
mod trace;
