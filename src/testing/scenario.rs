//! Scenario files: a table, a scripted model and what is to come of it (`docs/reference/scenarios.md`).

use super::expect::Expect;
use super::reader::{CODE, Reader};
use super::script::{Entry, Script};
use crate::table::TableError;
use crate::table::report::{Place, Report};
use crate::table::yaml::{self, Kind, Node};

/// Longest path of a table.
const MAX_PATH: usize = 4096;
/// The task where a scenario names none.
const DEFAULT_TASK: &str = "Do the task.";
/// Keys of a scenario file.
const KEYS: &[&str] = &["scenario", "table", "task", "tools", "script", "then", "assume", "facts", "observe", "expect"];

/// Which table a scenario plays on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableSource {
    /// A file, relative to the scenario's own.
    Path(String),
    /// The table stands in the scenario file. Its text, at the same lines and columns as in the file.
    Inline(String),
}

/// One scenario: a table, a task, a script, and what is expected.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) name: String,
    pub(super) table: TableSource,
    pub(super) place: Place,
    pub(super) file: String,
    pub(super) task: String,
    pub(super) script: Script,
    pub(super) assume: Vec<(String, bool)>,
    pub(super) facts: Vec<(String, serde_json::Value)>,
    pub(super) observe: bool,
    pub(super) expect: Expect,
}

impl Scenario {
    /// Reads a scenario file; `file` is its name in problems.
    ///
    /// # Errors
    /// Every key that is not known and every value that does not fit, with its place.
    pub fn parse(text: &str, file: &str) -> Result<Self, TableError> {
        let mut parts = Parts::read(text, file)?;
        let (name, table) = match (parts.name.take(), parts.table.take()) {
            (Some(name), Some(table)) => (name, table),
            (name, _) => {
                let missing = if name.is_none() { "scenario" } else { "table" };
                let help = "a scenario file holds `scenario`, `table` and `script`";
                parts.reader.wrong(parts.place, format!("the key `{missing}` is missing"), help);
                return Err(parts.reader.failed());
            }
        };
        let (script, expect) = (std::mem::take(&mut parts.script), std::mem::take(&mut parts.expect));
        parts.reader.report.finish()?;
        Ok(Self {
            name,
            table: table.0,
            place: table.1,
            file: file.to_owned(),
            task: parts.task.unwrap_or_else(|| DEFAULT_TASK.to_owned()),
            script,
            assume: parts.assume,
            facts: parts.facts,
            observe: parts.observe,
            expect,
        })
    }

    /// The sentence that names it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table it plays on.
    #[must_use]
    pub fn table(&self) -> &TableSource {
        &self.table
    }

    /// The file it was read from.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What the model, the tools and the host do.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// A problem at the place where the scenario names its table.
    #[must_use]
    pub fn problem(&self, message: impl Into<String>) -> TableError {
        let mut reader = Reader { report: Report::new(&self.file) };
        reader.report.error(CODE, self.place, message, None);
        reader.failed()
    }
}

impl Script {
    /// Reads the `script`, `tools` and `then` of a file; a whole scenario file will do.
    ///
    /// # Errors
    /// As [`Scenario::parse`], but only `script` has to be there.
    pub fn parse(text: &str, file: &str) -> Result<Self, TableError> {
        let parts = Parts::read(text, file)?;
        parts.reader.report.finish()?;
        Ok(parts.script)
    }
}

/// What a file holds, before it is known to be enough.
struct Parts {
    reader: Reader,
    place: Place,
    name: Option<String>,
    table: Option<(TableSource, Place)>,
    task: Option<String>,
    script: Script,
    assume: Vec<(String, bool)>,
    facts: Vec<(String, serde_json::Value)>,
    observe: bool,
    expect: Expect,
}

impl Parts {
    fn read(text: &str, file: &str) -> Result<Self, TableError> {
        let mut reader = Reader { report: Report::new(file) };
        if text.trim().is_empty() {
            let help = "`stagekeeper new NAME` writes one to start from";
            let top = Place { file: 0, line: 1, column: 1, width: 1 };
            reader.wrong(top, "the file holds no scenario", help);
            return Err(reader.failed());
        }
        let Some(root) = yaml::read(text, 0, &mut reader.report) else {
            return Err(reader.failed());
        };
        if !matches!(root.kind, Kind::Map(_)) {
            reader.entries(&root, "a scenario file");
            return Err(reader.failed());
        }
        let mut parts = Self {
            reader,
            place: root.place,
            name: None,
            table: None,
            task: None,
            script: Script::new(),
            assume: Vec::new(),
            facts: Vec::new(),
            observe: false,
            expect: Expect::default(),
        };
        let entries = parts.reader.known(&root, "a scenario", KEYS);
        let has_script = entries.iter().any(|(key, _)| *key == "script");
        for (key, entry) in &entries {
            let end = entries.iter().map(|(_, e)| e.place.line).filter(|line| *line > entry.place.line).min();
            parts.take(key, &entry.value, text, end);
        }
        if !has_script {
            let help = "write `script:` and one entry a model reply; `script: []` is a silent model";
            parts.reader.wrong(root.place, "the key `script` is missing", help);
        }
        let goes_on = matches!(parts.script.entries.last(), Some(Entry::Reply(_) | Entry::Fails(_)));
        if let Some((_, then)) = entries.iter().find(|(key, _)| *key == "then" && parts.script.repeats && !goes_on) {
            let help = "only a reply of the model, or a failure of it, can repeat for ever";
            parts.reader.wrong(then.place, "the last entry of the script is none that repeats", help);
        }
        Ok(parts)
    }

    fn take(&mut self, key: &str, value: &Node, text: &str, end: Option<u32>) {
        match key {
            "scenario" => self.name = Some(self.reader.text(value, "`scenario`")),
            "table" => self.table = Some((self.table_source(value, text, end), value.place)),
            "task" => self.task = Some(self.reader.text(value, "`task`")),
            "tools" => self.reader.answers(value, &mut self.script),
            "script" => self.reader.script(value, &mut self.script),
            "then" => self.then(value),
            "assume" => {
                for entry in self.reader.entries(value, "`assume`") {
                    let holds = self.reader.yes(&entry.value, "an assumption");
                    self.assume.push((entry.key.clone(), holds));
                }
            }
            "facts" => {
                for entry in self.reader.entries(value, "`facts`") {
                    let value = self.reader.json(&entry.value);
                    self.facts.push((entry.key.clone(), value));
                }
            }
            "observe" => self.observe = self.reader.yes(value, "`observe`"),
            _ => self.expect = self.reader.expect(value),
        }
    }

    fn then(&mut self, value: &Node) {
        if value.scalar() == Some("repeat") {
            self.script.repeats = true;
        } else {
            self.reader.wrong(
                value.place,
                "`then` takes only `repeat`",
                "without it the model is silent after the end",
            );
        }
    }

    fn table_source(&mut self, value: &Node, text: &str, end: Option<u32>) -> TableSource {
        match value.scalar() {
            Some(path) if path.is_empty() || (path.len() > MAX_PATH && !path.contains('\n')) => {
                self.reader.wrong(value.place, "this is no path of a table", "write a path relative to this file");
                TableSource::Path(String::new())
            }
            // A block of text is the table itself, a single line is its path.
            Some(inline) if inline.contains('\n') => TableSource::Inline(inline.to_owned()),
            Some(path) => TableSource::Path(path.to_owned()),
            None => {
                self.reader.entries(value, "`table`");
                // A file that is one flow mapping (JSON) has no lines of its own for the table.
                let flow = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
                TableSource::Inline(if flow { self.reader.json_text(value) } else { block(text, value.place, end) })
            }
        }
    }
}

/// The lines of a value and nothing else, at their places: the lines before are blank, what stands before the value
/// in its first line as well.
fn block(text: &str, place: Place, end: Option<u32>) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut out = String::new();
    for (number, line) in (1..).zip(yaml::lines(text)) {
        if end.is_some_and(|end| number >= end) {
            break;
        }
        if number == place.line {
            let before = (place.column.max(1) - 1) as usize;
            out.extend(std::iter::repeat_n(' ', before));
            out.extend(line.chars().skip(before));
        } else if number > place.line {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}
