//! What the YAML says, checked.

pub mod limits;
pub mod messages;
pub mod model;
pub mod names;
pub mod problem;
pub mod script;

pub use model::{Model, StageTable};
pub use names::{FactId, Name, NamePattern, RuleId, StageId};
pub use problem::{Problem, Severity, TableError};
