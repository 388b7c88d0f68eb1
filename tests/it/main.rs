//! All integration tests in one binary.

mod audit;
mod table_valid;
