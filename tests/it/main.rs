//! All integration tests in one binary.

mod scenarios;
mod table_valid;
