//! A tree of values → the checked model, with every problem of the file at once.

mod calls;
mod facts;
mod fields;
mod flow;
mod guards;
mod messages;
mod names;
mod nested;
mod rest;
mod rules;
mod scope;
mod stages;
mod survey;
mod tools;
mod usage;
mod values;

use super::keys;
use super::limits;
use super::messages::MESSAGES;
use super::model::{
    Allowed, Batch, Expose, Guards, LeaveBy, Limits, Model, Next, OnExhausted, Source, Stage, StageTable,
};
use super::problem::TableError;
use super::report::{Place, Report};
use super::script::{Scripts, Text};
use super::yaml::{self, Node};
use indexmap::IndexMap;
use std::sync::Arc;
use survey::Survey;
#[cfg(feature = "audit")]
pub(crate) use tools::{TIMESTAMP, UUID};
#[cfg(feature = "cli")]
pub(crate) use values::duration_ms;

/// The name shown in problems of a table that came without a file.
const NO_FILE: &str = "<text>";

impl StageTable {
    /// Reads a table out of YAML text.
    ///
    /// Files are read at the edge, so a table that includes some needs [`StageTable::parse_with`].
    ///
    /// # Errors
    /// With every problem of the text.
    ///
    /// ```
    /// let table = stagekeeper::StageTable::parse(
    ///     "stagekeeper: 1\n\
    ///      workflow: greet\n\
    ///      stages:\n  hello: { goal: Say hello., allowed_tools: [], max_steps: 1 }\n",
    /// )?;
    /// assert_eq!(table.ceiling(), 1);
    /// # Ok::<(), stagekeeper::TableError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, TableError> {
        Self::parse_with(NO_FILE, text, &mut |_| Err("the table was given as text, so it has no folder".into()))
    }

    /// Reads a table out of the text of `file`; `include` reads a file of the table's folder.
    ///
    /// Paths that lead out of the folder are refused before `include` is asked; what a link inside the folder points
    /// at is for `include` to judge.
    ///
    /// # Errors
    /// With every problem of the table and the files it includes.
    pub fn parse_with(
        file: &str,
        text: &str,
        include: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TableError> {
        nested::load_all(file, text, include)
    }

    /// Reads a table out of the bytes of `file`, as [`StageTable::parse_with`] does.
    ///
    /// # Errors
    /// With every problem, among them bytes that are no UTF-8 text.
    pub fn parse_bytes(
        file: &str,
        bytes: &[u8],
        include: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TableError> {
        let mut report = Report::new(file);
        let whole = Place { file: 0, line: 1, column: 1, width: 1 };
        if bytes.len() > limits::FILE_SIZE {
            let said = format!("the file is too large; the most is {} bytes", limits::FILE_SIZE);
            report.error("file-too-large", whole, said, "is this really a stage table?");
            return Err(failed(report));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse_with(file, text, include),
            Err(e) => {
                let before = bytes.get(..e.valid_up_to()).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default();
                let (line, last) = yaml::behind(before);
                let line = u32::try_from(line + 1).unwrap_or(u32::MAX);
                let place = Place { file: 0, line, column: 1, width: 1 }.part(last, 1);
                report.error("not-text", place, "the file is not UTF-8 text", "save it as UTF-8");
                Err(failed(report))
            }
        }
    }

    /// A table for a loop that was written by hand: one stage, every tool, the guards.
    ///
    /// `max_steps` is brought within what a stage may have.
    #[must_use]
    pub fn guards_only(max_steps: u32) -> Self {
        let mut scripts = Scripts::new();
        let stage = Stage {
            name: "work".into(),
            goal: Text::plain("Do the task."),
            allowed: Allowed::All,
            max_steps: max_steps.clamp(1, limits::STEPS),
            max_calls: None,
            requires: Vec::new(),
            next: Next::End,
            on_exhausted: OnExhausted::Next,
            leave_by: LeaveBy::default(),
            conversation: false,
            aside: false,
            approval: false,
            hints: Vec::new(),
            guards: Guards::default(),
            model: None,
            line: 0,
        };
        let mut model = Model::empty("guard");
        model.stages.push(stage);
        model.messages = default_messages(&mut scripts);
        model.scripts = scripts;
        Self(Arc::new(model))
    }
}

/// The problems of a load that cannot go on.
fn failed(report: Report) -> TableError {
    match report.finish() {
        Err(error) => error,
        Ok(problems) => TableError { problems },
    }
}

/// The English texts, compiled.
fn default_messages(scripts: &mut Scripts) -> Vec<Text> {
    MESSAGES.iter().map(|m| scripts.text(m.default).unwrap_or_else(|_| Text::plain(m.default))).collect()
}

/// What one load has in hand.
struct Loader<'i> {
    report: Report,
    scripts: Scripts,
    survey: Survey,
    include: &'i mut dyn FnMut(&str) -> Result<String, String>,
    included: IndexMap<String, String>,
    /// The folder of the file, from that of the outermost table; empty or with `/` at its end.
    folder: String,
    /// How the outermost table is called by those beside it.
    outermost: &'i str,
    /// The files of nested runs.
    wanted: Vec<String>,
    regexes: usize,
    /// The table's own lines, to point into expressions and texts.
    lines: Vec<&'i str>,
    /// Where each rule stands, parallel to the model's.
    rule_places: Vec<Place>,
}

impl Loader<'_> {
    fn table(&mut self, root: &Node) -> Option<Model> {
        let table = self.object(root, &keys::TABLE, "the table")?;
        self.survey = Survey::of(&table);
        if !self.few_patterns(&table) {
            return None;
        }
        let workflow = table.get("workflow").and_then(|f| self.own_name(f)).unwrap_or_default();
        let mut model = Model::empty(&workflow);
        if let Some(version) = table.get("stagekeeper") {
            self.version(version);
        }
        model.about = table.get("about").and_then(|f| self.text(f));
        model.instructions = table.get("instructions").and_then(|f| self.template(f.node, f.key.name, &scope::TASK));
        let headroom = self.limits(&table, &mut model.limits);
        model.facts = self.facts(&table);
        model.tools = self.catalogue(&table);
        let defaults = stages::Defaults {
            headroom,
            leave_by: table.get("leave_by").and_then(|f| self.leave_by(f)).unwrap_or_default(),
            conversation: table.get("conversation").and_then(|f| self.switch(f)).unwrap_or_default(),
            guards: match table.get("guards") {
                Some(field) => self.guards(field, &Guards::default()),
                None => Guards::default(),
            },
        };
        self.rules(&table, None, &mut model);
        self.stages(&table, &defaults, &mut model);
        model.finish = table.get("finish").and_then(|f| self.finish(f));
        model.guarantees = self.guarantees(&table);
        model.messages = self.messages(&table);
        let expose = table.get("expose").and_then(|f| self.word(f));
        model.expose = if expose == Some("stage") { Expose::Stage } else { Expose::All };
        let batch = table.get("batch").and_then(|f| self.word(f));
        model.batch = if batch == Some("atomic") { Batch::Atomic } else { Batch::Partial };
        self.check_rule_names(&model);
        self.check_tools(&table, &model);
        self.check_flow(&table, &model);
        model.index();
        Some(model)
    }

    fn version(&mut self, field: fields::Field<'_>) {
        match field.node.scalar() {
            Some("1") => {}
            Some(other) => {
                let said = format!("format version {} is not known", super::report::quoted(other));
                self.report.error("format-version", field.node.place, said, "this program reads `stagekeeper: 1`");
            }
            None => self.wrong_type(field.node, field.key.name, "the number 1"),
        }
    }
}

impl Model {
    /// A model in which everything is as if left out.
    fn empty(workflow: &str) -> Self {
        Self {
            workflow: workflow.into(),
            about: None,
            instructions: None,
            tools: Vec::new(),
            tool_index: std::collections::HashMap::new(),
            facts: Vec::new(),
            stages: Vec::new(),
            rules: Vec::new(),
            rules_at: Default::default(),
            finish: None,
            limits: Limits::default(),
            guarantees: Vec::new(),
            expose: Expose::All,
            batch: Batch::Partial,
            messages: Vec::new(),
            scripts: Scripts::new(),
            nested: IndexMap::new(),
            source: Source::default(),
            warnings: Vec::new(),
        }
    }
}
