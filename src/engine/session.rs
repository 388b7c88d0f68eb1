//! One run, without an async runtime: your loop asks, the session decides. (Signatures first; bodies follow.)
#![allow(unused_variables, clippy::unimplemented, missing_docs)]

use super::event::Event;
use super::input::{CallNo, Input, Reply, ToolResult};
use super::outcome::Outcome;
use super::summary::Summary;
use super::verdict::{Ask, Ruling, Ticket};
use super::view::{ToolSpec, View};
use crate::table::StageTable;
use crate::table::model::ToolEntry;
use serde::{Deserialize, Serialize};

/// One input and what was decided on it: the unit of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What went in.
    #[serde(flatten)]
    pub input: Input,
    /// What was decided.
    pub events: Vec<Event>,
}

/// An input that does not fit where the run stands; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfitting(pub String);

/// Why a run cannot start (a tool that no host provides, a fact that is not declared `from: host`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

#[derive(Clone, Debug)]
pub struct SessionBuilder {}
impl SessionBuilder {
    /// The host's tools. Without, the tools are those of catalogue and stages.
    pub fn tools(self, tools: Vec<ToolSpec>) -> Self {
        unimplemented!()
    }
    /// A `from: host` fact known from the start.
    pub fn fact(self, name: &str, value: serde_json::Value) -> Self {
        unimplemented!()
    }
    /// The run's id, for the summary and the trace.
    pub fn run_id(self, id: &str) -> Self {
        unimplemented!()
    }
    /// Judge and record everything, refuse nothing.
    pub fn observe(self, on: bool) -> Self {
        unimplemented!()
    }
    pub fn assume(self, rule: &str, holds: bool) -> Self {
        unimplemented!()
    }
    pub fn start(self) -> Result<Session, StartError> {
        unimplemented!()
    }
}

#[derive(Clone, Debug)]
pub struct Session {}
impl Session {
    /// Starts a run with the tools that catalogue and stages name.
    pub fn start(table: &StageTable, task: impl Into<String>) -> Self {
        unimplemented!()
    }
    pub fn builder(table: &StageTable, task: impl Into<String>) -> SessionBuilder {
        unimplemented!()
    }
    /// The one entry: everything else wraps it.
    pub fn apply(&mut self, input: Input) -> Result<Vec<Event>, Unfitting> {
        unimplemented!()
    }
    /// Judges a reply. Calls of an earlier reply that were never finished are answered `no result` first.
    pub fn judge(&mut self, reply: Reply) -> Vec<Ruling> {
        unimplemented!()
    }
    pub fn finish(&mut self, ticket: Ticket, result: ToolResult) {
        unimplemented!()
    }
    /// A person's answer; `yes` gives the ticket.
    pub fn answer(&mut self, ask: Ask, yes: bool) -> Option<Ticket> {
        unimplemented!()
    }
    /// A person admits the run to the stage it waits before (`approval: always` on a stage), or not.
    pub fn admit(&mut self, yes: bool) -> Result<(), Unfitting> {
        unimplemented!()
    }
    /// Which stage waits for admission, with what a person should see.
    pub fn awaiting_admission(&self) -> Option<String> {
        unimplemented!()
    }
    pub fn user_says(&mut self, text: impl Into<String>) -> Result<(), Unfitting> {
        unimplemented!()
    }
    pub fn set_fact(&mut self, name: &str, value: Option<serde_json::Value>) -> Result<(), Unfitting> {
        unimplemented!()
    }
    pub fn tick(&mut self, ms: u64, waiting: bool) {
        unimplemented!()
    }
    pub fn cancel(&mut self) {
        unimplemented!()
    }
    pub fn provider_failed(&mut self, overflow: bool, message: impl Into<String>) {
        unimplemented!()
    }
    /// `None` while the run goes on; a pause or an end otherwise.
    pub fn outcome(&self) -> Option<Outcome> {
        unimplemented!()
    }
    /// What to ask the model next. Also evaluates nothing: cheap, borrowed.
    pub fn view(&self) -> View<'_> {
        unimplemented!()
    }
    pub fn summary(&self) -> Summary {
        unimplemented!()
    }
    /// Tickets again for calls that are judged *run* and not finished (after a resume).
    pub fn open_calls(&mut self) -> Vec<Ruling> {
        unimplemented!()
    }
    /// Questions again for calls that wait for a person.
    pub fn open_asks(&mut self) -> Vec<Ruling> {
        unimplemented!()
    }
    /// Records since the last call of this: write them before you act on them.
    pub fn take_records(&mut self) -> Vec<Record> {
        unimplemented!()
    }
    /// What the table says of a tool (the default entry when it says nothing).
    pub fn tool_entry(&self, tool: &str) -> &ToolEntry {
        unimplemented!()
    }
    pub fn table(&self) -> &StageTable {
        unimplemented!()
    }
    pub fn task(&self) -> &str {
        unimplemented!()
    }
    /// Feeds recorded inputs through the engine; the events must be the recorded ones.
    pub fn replay(builder: SessionBuilder, records: &[Record]) -> Result<Self, Unfitting> {
        unimplemented!()
    }
    /// For logs: steps of the run so far, and calls so far whose identity had already run.
    pub fn loop_index(&self) -> u32 {
        unimplemented!()
    }
    pub fn dup_tool_count(&self) -> u32 {
        unimplemented!()
    }
}

impl Summary {}
fn _keep(_: CallNo) {}
