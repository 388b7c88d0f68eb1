//! For embedders: scenarios, the scripted model and tools, the story snapshot.

pub mod script;

pub use script::{
    Answer, Entry, Failure, HostEntry, Script, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedTools, Turn,
};
