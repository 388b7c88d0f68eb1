//! One binary for all integration tests: one module a subject.

mod arrows;
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
