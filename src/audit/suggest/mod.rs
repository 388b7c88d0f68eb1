//! `audit --suggest`: what recorded runs say about the table they are played on, and what it might say instead.
//!
//! The runs are read twice: [`gather`] measures them, [`draft`] makes proposals, [`weigh`] plays every run under every
//! proposal with the player that `audit` uses.

mod effects;
mod evidence;
mod gather;
mod label;
mod loops;
mod near;
mod over_time;
mod propose;
mod spent;
mod steps;
mod text;
mod weigh;

pub use effects::{MIN_READ_PAIRS, MIN_READ_RUNS, Seems, ToolSeen};
pub use gather::{Gathered, gather};
pub use label::Labels;
pub use loops::{Longest, LoopFound, LoopKind, MAX_LOOPS};
pub use near::NearLimit;
pub use over_time::{OverTime, PARTS, Part};
pub use propose::{Candidate, Kind, MAX_CANDIDATES};
pub use spent::{BudgetFigure, Formula, MIN_SUCCESSES};
pub use text::{suggestions_json, suggestions_text};
pub use weigh::{Change, Draft, Proposal, Suggestions, draft, weigh};
