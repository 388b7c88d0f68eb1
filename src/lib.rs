//! Stagekeeper keeps LLM agents' tool loops on their stages.
// `docs/architecture.md` has the picture of the layers; an arrow never points up.

#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "cli")]
pub mod cli;
pub mod engine;
#[cfg(feature = "run")]
pub mod provider;
pub mod render;
#[cfg(feature = "run")]
pub mod run;
#[cfg(feature = "store")]
pub mod store;
pub mod table;
pub mod testing;
pub mod trace;
pub mod verify;

pub use engine::input::{CallNo, Finish, Input, ProposedCall, Reply, Status, ToolResult, Usage};
pub use engine::outcome::{Limit, LimitKind, Outcome};
pub use engine::recursion::{Recursion, TooDeep};
pub use engine::session::{Record, Session, SessionBuilder, StartError, Unfitting};
pub use engine::summary::Summary;
pub use engine::verdict::{Ask, Check, Ruling, Ticket, Verdict};
pub use engine::view::{Message, ToolChoice, ToolSpec, View};
pub use table::{Problem, StageTable, TableError};
