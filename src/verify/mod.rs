//! Proves what no model can make a run do, by exploring the real engine (`docs/concepts/proof.md`).

mod check;
mod confirm;
mod edges;
mod key;
mod names;
mod oracle;
mod plan;
mod property;
mod prove;
mod reply;
pub mod report;
mod sample;
mod scenario;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod when;

pub use property::Property;
pub use prove::{MAX_STATES, Options, Proof, Refuted, prove};
