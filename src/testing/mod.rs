//! For embedders and for `stagekeeper test`: scenarios, the scripted model and tools, the story snapshot.

mod entries;
mod expect;
mod from_trace;
mod play;
mod reader;
pub mod report;
mod scenario;
pub mod script;
pub mod snapshot;

pub use crate::render::story::story;
pub use expect::Expect;
pub use from_trace::{first_difference, first_table, first_table_of, scenario_of};
pub use play::{Line, Played, play};
pub use scenario::{Scenario, TableSource};
pub use script::{
    Answer, Entry, Failure, HostEntry, Script, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedTools, Turn,
};
