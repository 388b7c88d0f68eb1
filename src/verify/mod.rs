//! Proves what no model can make a run do, by exploring the real engine (`docs/concepts/proof.md`).

mod ahead;
mod below;
mod bytes;
mod canonical;
mod check;
mod confirm;
mod edges;
mod key;
mod names;
mod oracle;
mod outside;
mod overlap;
mod plan;
mod property;
mod prove;
mod reply;
pub mod report;
mod sample;
mod scenario;
mod search;
mod settle;
mod state;
#[cfg(test)]
mod tests;
mod when;
mod why;

pub use property::Property;
pub use prove::{GRANT, MAX_STATES, Open, Options, Proof, Refuted, prove};
pub use search::Progress;
