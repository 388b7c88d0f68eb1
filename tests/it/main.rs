//! All integration tests in one binary.

#[cfg(feature = "run")]
mod runner;
mod table_valid;
#[cfg(feature = "run")]
mod tools;
mod trace;
