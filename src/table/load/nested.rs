//! Tables of nested runs: read with the outermost one, each file once, however they call one another.

use super::fields::Fields;
use super::survey::Survey;
use super::{Loader, scope};
use crate::table::model::{Model, NestedRun, Source, Spend, StageTable};
use crate::table::names::NamePattern;
use crate::table::problem::{CODES, Problem, Severity, TableError};
use crate::table::report::{Report, quoted};
use crate::table::script::Scripts;
use crate::table::yaml;
use indexmap::IndexMap;
use std::sync::Arc;

/// Reads a file of the table's folder.
type Include<'i> = dyn FnMut(&str) -> Result<String, String> + 'i;

/// What is known of the files by now.
struct Files<'i> {
    include: &'i mut Include<'i>,
    included: IndexMap<String, String>,
    outermost: &'i str,
    /// Files of nested runs, in the order they were named, each once.
    wanted: Vec<String>,
    problems: Vec<Problem>,
}

/// Reads a table and those of its nested runs; the problems of all files at once.
pub(super) fn load_all(
    file: &str,
    text: &str,
    include: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<StageTable, TableError> {
    let outermost = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut files = Files { include, included: IndexMap::new(), outermost, wanted: Vec::new(), problems: Vec::new() };
    let root = files.load(file, text, "");
    let mut nested = IndexMap::new();
    // Each file is read once, and the files are bounded by `limits::INCLUDES`.
    let mut at = 0;
    while let Some(name) = files.wanted.get(at).cloned() {
        at += 1;
        let text = files.included.get(&name).cloned().unwrap_or_default();
        let folder = name.rfind('/').and_then(|i| name.get(..=i)).unwrap_or_default().to_owned();
        if let Some(model) = files.load(&name, &text, &folder) {
            nested.insert(name, StageTable(Arc::new(model)));
        }
    }
    let Files { included, problems, .. } = files;
    match root {
        Some(mut root) if problems.iter().all(|p| p.severity == Severity::Warning) => {
            root.source.included = included;
            root.nested = nested;
            root.warnings = problems;
            Ok(StageTable(Arc::new(root)))
        }
        _ => Err(TableError { problems }),
    }
}

impl Files<'_> {
    /// One file; its problems are added to the others.
    fn load(&mut self, file: &str, text: &str, folder: &str) -> Option<Model> {
        let mut report = Report::new(file);
        let Some(root) = yaml::read(text, 0, &mut report) else {
            self.finish(report);
            return None;
        };
        let mut loader = Loader {
            report,
            scripts: Scripts::new(),
            survey: Survey::default(),
            include: &mut *self.include,
            included: std::mem::take(&mut self.included),
            folder: folder.to_owned(),
            outermost: self.outermost,
            wanted: std::mem::take(&mut self.wanted),
            regexes: 0,
            lines: yaml::lines(text.trim_start_matches('\u{feff}')).collect(),
            rule_places: Vec::new(),
        };
        let model = loader.table(&root);
        let Loader { report, scripts, included, wanted, .. } = loader;
        (self.included, self.wanted) = (included, wanted);
        debug_assert!(report.codes().all(|code| CODES.binary_search(&code).is_ok()), "a code is not listed");
        self.finish(report);
        let mut model = model?;
        model.scripts = scripts;
        model.source = Source { file: file.to_owned(), text: text.to_owned(), included: IndexMap::new() };
        Some(model)
    }

    fn finish(&mut self, report: Report) {
        self.problems.extend(report.finish().unwrap_or_else(|e| e.problems));
    }
}

impl Loader<'_> {
    /// `workflow`, `task` and `spend` of a tool.
    pub fn nested_run(&mut self, fields: &Fields<'_>, what: &str, tool: &NamePattern) -> Option<NestedRun> {
        let Some(field) = fields.get("workflow") else {
            for key in ["task", "spend"] {
                if let Some(field) = fields.get(key) {
                    let said = format!("{what} has `{key}`, but no `workflow`");
                    self.report.error("bad-combination", field.place, said, "name the table of the nested run");
                }
            }
            return None;
        };
        if !tool.is_exact() {
            let said = format!("{what} is a pattern and cannot be a nested run");
            self.report.error("bad-combination", field.place, said, "give `workflow` to tools that are named exactly");
        }
        for key in ["every", "until", "commands", "idempotent"] {
            if let Some(field) = fields.get(key) {
                let said = format!("{what} is a nested run and cannot have `{key}`");
                self.report.error("bad-combination", field.place, said, "leave it out: no host runs this tool");
            }
        }
        let task = fields.get("task").and_then(|f| self.template(f.node, f.key.name, &scope::CALL_TEXT));
        let names = task.as_ref().map(|t| self.scripts.names_of_text(t)).unwrap_or_default();
        let mut arguments: Vec<String> = Vec::new();
        for name in names.iter().filter_map(|n| n.strip_prefix("call.args.")).filter_map(|n| n.split('.').next()) {
            if !arguments.iter().any(|known| known == name) {
                arguments.push(name.to_owned());
            }
        }
        let spend = match fields.get("spend").and_then(|f| self.word(f)) {
            Some("own") => Spend::Own,
            _ => Spend::Parent,
        };
        let written = self.text(field)?;
        let file = format!("{}{written}", self.folder);
        if file != self.outermost {
            self.included(&written, field.node)?;
            if !self.wanted.contains(&file) {
                self.wanted.push(file.clone());
            }
        } else if written.is_empty() {
            self.report.error(
                "empty-text",
                field.node.place,
                format!("{} is empty", quoted("workflow")),
                "name a file",
            );
        }
        Some(NestedRun { file: file.as_str().into(), task, arguments, spend })
    }
}
