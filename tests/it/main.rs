//! One binary for all integration tests: one module a subject.

mod audit;
mod provider;
mod runner;
mod scenarios;
mod story;
mod table_valid;
mod testing_files;
mod tools;
mod trace;
