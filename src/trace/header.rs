//! The first line of a trace: what a run is a function of, beside its inputs.

use crate::engine::session::{Session, SessionBuilder};
use crate::engine::view::ToolSpec;
use crate::table::StageTable;
use crate::table::model::Source;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher};
use std::hash::Hasher;

/// The format that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;

/// The table's text with every file it includes, so that a trace stands alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableText {
    /// The file as it was named.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Included files by the name the table uses.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub included: IndexMap<String, String>,
}

impl From<&Source> for TableText {
    fn from(source: &Source) -> Self {
        Self { file: source.file.clone(), text: source.text.clone(), included: source.included.clone() }
    }
}

/// The header of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The format's version; the key by which a trace is known.
    pub stagekeeper_trace: u32,
    /// The version of the engine that wrote it.
    pub engine: String,
    /// The run's id.
    pub run: String,
    /// The table's name.
    pub workflow: String,
    /// The table itself.
    pub table: TableText,
    /// [`table_hash`] of it, so that two runs of one table are seen to be so.
    pub table_hash: String,
    /// The task.
    pub task: String,
    /// The host's tools; `None` when those of catalogue and stages were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolSpec>>,
    /// Facts the host set before the start.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub facts: IndexMap<String, Value>,
    /// Whether everything was only observed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observe: bool,
    /// When the run began, in milliseconds since 1970 (UTC). Decides nothing.
    pub started_ms: u64,
}

impl Header {
    /// A header for a run of `table`; set the other fields as they apply.
    #[must_use]
    pub fn new(table: &StageTable, run: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            stagekeeper_trace: FORMAT,
            engine: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.into(),
            workflow: table.workflow().to_owned(),
            table: TableText::from(&table.source),
            table_hash: table_hash(&table.source.text, &table.source.included),
            task: task.into(),
            tools: None,
            facts: IndexMap::new(),
            observe: false,
            started_ms: 0,
        }
    }

    /// The run as it began, on `table` (the recorded one, or another to compare with).
    pub fn session(&self, table: &StageTable) -> SessionBuilder {
        let mut builder = Session::builder(table, self.task.as_str()).run_id(&self.run).observe(self.observe);
        if let Some(tools) = &self.tools {
            builder = builder.tools(tools.clone());
        }
        self.facts.iter().fold(builder, |builder, (name, value)| builder.fact(name, value.clone()))
    }
}

/// The hash of a table's text and its included files: SipHash-2-4 with 128 bits, as 32 hex digits.
#[must_use]
pub fn table_hash(text: &str, included: &IndexMap<String, String>) -> String {
    let mut hasher = SipHasher::new();
    let mut part = |text: &str| {
        // The length goes first, so that no two lists of texts run together.
        hasher.write_u64(text.len() as u64);
        hasher.write(text.as_bytes());
    };
    part(text);
    for (name, text) in included {
        part(name);
        part(text);
    }
    format!("{:032x}", hasher.finish128().as_u128())
}
