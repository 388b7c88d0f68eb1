//! All integration tests in one binary.

mod audit;
mod provider;
mod scenarios;
mod table_valid;
