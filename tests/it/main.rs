//! All integration tests in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks says so"
)]

#[cfg(feature = "audit")]
mod audit;
#[cfg(feature = "run")]
mod provider;
#[cfg(feature = "run")]
mod runner;
mod scenarios;
mod table_valid;
#[cfg(feature = "run")]
mod tools;
mod trace;
