//! What the YAML says, checked.

mod bounds;
mod keys;
pub mod limits;
mod load;
mod merge;
pub mod messages;
pub mod model;
pub mod names;
pub mod problem;
pub(crate) mod report;
mod schema;
pub mod script;
mod strict;
pub(crate) mod yaml;

pub use bounds::Bounds;
#[cfg(feature = "cli")]
pub(crate) use load::duration_ms;
#[cfg(feature = "audit")]
pub(crate) use load::{TIMESTAMP, UUID};
pub use model::{Model, StageTable};
pub use names::{FactId, Name, NamePattern, RuleId, StageId};
pub use problem::{Problem, Severity, TableError};
