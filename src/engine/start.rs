//! How a run starts: the table, the task, and what the host says beside.

use super::args::MAX_DEPTH;
use super::frame::{Frame, Making};
use super::nest::nested_specs;
use super::roster::ADVANCE;
use super::session::Session;
use super::view::ToolSpec;
use crate::table::model::{Allowed, FactFrom, Model};
use crate::table::{RuleId, StageTable};

/// Why a run cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// The optional settings of a run.
#[derive(Clone, Debug)]
#[must_use = "a run begins with `start`"]
pub struct SessionBuilder {
    pub(super) table: StageTable,
    pub(super) task: String,
    pub(super) tools: Option<Vec<ToolSpec>>,
    pub(super) facts: Vec<(String, serde_json::Value)>,
    pub(super) run: String,
    pub(super) observe: bool,
    pub(super) record: bool,
    pub(super) assume: Vec<(String, bool)>,
}

impl SessionBuilder {
    /// The host's tools. Without, the tools are those of catalogue and stages.
    pub fn tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// A `from: host` fact known from the start.
    pub fn fact(mut self, name: &str, value: serde_json::Value) -> Self {
        self.facts.push((name.to_owned(), value));
        self
    }

    /// The run's id, for the summary and the trace.
    pub fn run_id(mut self, id: &str) -> Self {
        self.run = id.to_owned();
        self
    }

    /// Judge and record everything, refuse nothing: no rollback, no guard's consequence. Stages and their budgets go on
    /// as declared, so the run still ends at its ceiling.
    pub fn observe(mut self, on: bool) -> Self {
        self.observe = on;
        self
    }

    /// Whether records are kept for [`Session::take_records`] (they are, unless switched off).
    pub fn record(mut self, on: bool) -> Self {
        self.record = on;
        self
    }

    /// Fixes the condition of a rule, as scenarios do.
    pub fn assume(mut self, rule: &str, holds: bool) -> Self {
        self.assume.push((rule.to_owned(), holds));
        self
    }

    /// Starts the run.
    ///
    /// # Errors
    /// When a stage's tool is offered by no host, a host's tool has a reserved name, a fact is not declared
    /// `from: host`, a fact or a tool's schema is nested too deep, or an assumed rule does not exist.
    pub fn start(self) -> Result<Session, StartError> {
        self.check_tools()?;
        for (name, _) in &self.assume {
            if !self.table.with_nested().any(|t| t.rules.iter().any(|r| *r.name == **name)) {
                return Err(StartError(format!("there is no rule `{name}` to assume anything of")));
            }
        }
        for (name, value) in &self.facts {
            self.host_fact(name)?;
            if !is_shallow(value, MAX_DEPTH) {
                return Err(StartError(format!("the fact `{name}` is nested deeper than {MAX_DEPTH}")));
            }
        }
        Ok(Session::begin(self))
    }

    fn host_fact(&self, name: &str) -> Result<(), StartError> {
        match from_host(&self.table, name) {
            Some(true) => Ok(()),
            Some(false) => Err(StartError(format!("the fact `{name}` does not come `from: host`"))),
            None => Err(StartError(format!("the table declares no fact `{name}`"))),
        }
    }

    /// The outermost run before its first stage.
    pub(super) fn frame(&self) -> Frame {
        Frame::new(Making {
            table: self.table.clone(),
            tools: self.tools.clone(),
            nested: nested_specs(&self.table, &self.table),
            task: self.task.clone(),
            root_task: self.task.clone(),
            observe: self.observe,
            assume: assumed(&self.table, &self.assume),
            next_call: 1,
            inside: None,
        })
    }

    fn check_tools(&self) -> Result<(), StartError> {
        let Some(tools) = &self.tools else { return Ok(()) };
        if let Some(bad) = tools.iter().find(|t| t.name == ADVANCE || t.name.starts_with("stagekeeper_")) {
            return Err(StartError(format!("the host's tool `{}` has a reserved name", bad.name)));
        }
        if let Some(bad) = tools.iter().find(|t| !is_shallow(&t.parameters, MAX_DEPTH)) {
            return Err(StartError(format!("the schema of the tool `{}` is nested deeper than {MAX_DEPTH}", bad.name)));
        }
        let mut missing: Vec<&str> = Vec::new();
        for table in self.table.with_nested() {
            for pattern in table.stages.iter().flat_map(|s| named(&s.allowed)) {
                let nested = table.tool_entry(pattern.as_str()).is_some_and(|t| t.nested.is_some());
                let provided = nested || tools.iter().any(|t| pattern.matches(&t.name));
                if !provided && !missing.contains(&pattern.as_str()) {
                    missing.push(pattern.as_str());
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let offered: Vec<&str> = tools.iter().map(|t| t.name.as_str()).collect();
        Err(StartError(format!(
            "no host provides `{}`; provided are: {}",
            missing.join("`, `"),
            if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
        )))
    }
}

fn named(allowed: &Allowed) -> &[crate::table::NamePattern] {
    match allowed {
        Allowed::All => &[],
        Allowed::These { list, .. } => list,
    }
}

/// Whether a fact comes from the host, in the table or one of its nested runs; `None` = nobody declares it.
pub(super) fn from_host(table: &Model, name: &str) -> Option<bool> {
    let declared = table.with_nested().flat_map(|t| &t.facts).filter(|f| *f.name == *name);
    declared.map(|f| matches!(f.from, FactFrom::Host)).reduce(|a, b| a || b)
}

/// Whether lists and objects stand at most `levels` deep in one another: what is deeper cannot be read out of a trace.
pub(super) fn is_shallow(value: &serde_json::Value, levels: usize) -> bool {
    let inside = |value| levels > 0 && is_shallow(value, levels - 1);
    match value {
        serde_json::Value::Array(items) => items.iter().all(inside),
        serde_json::Value::Object(members) => members.values().all(inside),
        _ => true,
    }
}

/// The fixed conditions of a table's rules.
pub(super) fn assumed(table: &Model, assume: &[(String, bool)]) -> Vec<(RuleId, bool)> {
    let id = |i: usize| RuleId(u16::try_from(i).unwrap_or(u16::MAX));
    let of = |(name, holds): &(String, bool)| {
        let (name, holds) = (name.clone(), *holds);
        let rules = table.rules.iter().enumerate().filter(move |(_, r)| *r.name == *name);
        rules.map(move |(i, _)| (id(i), holds)).collect::<Vec<_>>()
    };
    assume.iter().flat_map(of).collect()
}
