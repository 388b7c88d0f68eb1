//! Proves what no model can make a run do, by exploring the real engine (`docs/concepts/proof.md`).

mod check;
mod edges;
mod key;
mod names;
mod oracle;
mod plan;
pub mod property;
mod search;
mod state;
mod when;
