//! All integration tests in one binary.

mod table_bad_input;
mod table_problems;
mod table_schema;
mod table_valid;
