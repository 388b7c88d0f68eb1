//! All integration tests in one binary.

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
