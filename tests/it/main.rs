//! All integration tests in one binary.

mod scenarios;
mod audit;
mod table_valid;
//! One binary for all integration tests: one module a subject.

#[cfg(feature = "audit")]
mod audit;
#[cfg(feature = "run")]
mod provider;
#[cfg(feature = "run")]
mod runner;
mod table_valid;
#[cfg(feature = "run")]
mod tools;
mod trace;
