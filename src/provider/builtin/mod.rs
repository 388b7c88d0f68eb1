//! `builtin`: a small agent that needs no key and no network, and really uses the tools.
//!
//! It is no language model. It searches for the task's words, reads the files they stand in and quotes their lines.
//! Its reply is a function of the view alone: nothing is kept between replies.

mod evidence;
mod keywords;
mod past;
mod prose;
mod tools;

use crate::engine::input::{ProposedCall, Reply};
use crate::engine::view::{ToolChoice, ToolSpec, View};
use crate::run::model::{Answer, Model, ModelError};
use evidence::Evidence;
use keywords::Mentions;
pub(super) use past::allowed_tools;
use past::{ADVANCE, Past};
use serde_json::{Value, json};
use tools::{Kind, kind_of, kind_of_tool};

/// Searches of one reply.
const SEARCHES: usize = 3;
/// Most files read for one task. Where no more than that were listed, all are read.
const FILES: usize = 6;
/// Folders listed beside the root.
const FOLDERS: usize = 2;
/// Most files read in one reply, when the steps are few.
const READS: usize = 4;
/// Lines read around a place found, when the tool can read a part.
const AROUND: u32 = 60;
/// Failures of one tool in one stage after which it is left alone.
const FAILURES: usize = 2;
/// Commands run in one stage.
const COMMANDS: usize = 3;

/// The built-in keyword agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtin {
    _private: (),
}

impl Builtin {
    /// The agent; it has no settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Its reply to a view.
    #[must_use]
    pub fn next(&self, view: &View<'_>) -> Reply {
        let past = Past::of(view);
        let mentions = Mentions::of(past.task);
        let evidence = Evidence::of(&past);
        let agent = Agent { view, past: &past, mentions: &mentions, evidence: &evidence };
        let calls = agent.calls();
        if calls.is_empty() { Reply::text(agent.words()) } else { Reply::calls(calls) }
    }
}

impl Model for Builtin {
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let reply = self.next(&view);
        Box::pin(async move { Ok(reply) })
    }
}

struct Agent<'a> {
    view: &'a View<'a>,
    past: &'a Past<'a>,
    mentions: &'a Mentions,
    evidence: &'a Evidence,
}

impl<'a> Agent<'a> {
    /// The next calls; none = it is time to speak.
    fn calls(&self) -> Vec<ProposedCall> {
        if self.view.tool_choice == ToolChoice::None || self.view.steps_left <= 1 {
            return Vec::new();
        }
        let allowed = allowed_tools(self.view);
        let usable: Vec<(Kind, &ToolSpec)> = self
            .view
            .tools
            .iter()
            .filter(|tool| allowed.contains(&tool.name.as_str()) && self.failures(&tool.name) < FAILURES)
            .filter_map(|tool| Some((kind_of_tool(tool)?, tool)))
            .collect();
        let order = [Kind::List, Kind::Search, Kind::Read, Kind::Ask, Kind::Write, Kind::Run, Kind::Mail];
        let planned = order.iter().find_map(|kind| {
            let (_, tool) = usable.iter().find(|(k, _)| k == kind)?;
            let planned = self.plan(*kind, tool);
            (!planned.is_empty()).then_some((*tool, planned))
        });
        match planned {
            Some((tool, arguments)) => self.proposed(&tool.name, arguments),
            // A text did not leave the stage: what is left is to say so by the control tool.
            None if self.past.texts > 0 && self.view.tools.iter().any(|t| t.name == ADVANCE) => {
                let arguments = json!({ "summary": self.words() });
                if self.past.has_called(ADVANCE, &arguments) {
                    return Vec::new();
                }
                self.proposed(ADVANCE, vec![arguments])
            }
            None => Vec::new(),
        }
    }

    fn proposed(&self, tool: &str, arguments: Vec<Value>) -> Vec<ProposedCall> {
        let at = self.view.messages.len();
        let id = |n: usize| format!("builtin_{at}_{n}");
        arguments.iter().enumerate().map(|(n, args)| ProposedCall::new(id(n), tool, args.to_string())).collect()
    }

    fn failures(&self, tool: &str) -> usize {
        self.past.of_stage().iter().filter(|e| e.error && e.tool == tool).count()
    }

    /// The calls of one tool that are worth making now; none that was made before.
    fn plan(&self, kind: Kind, tool: &ToolSpec) -> Vec<Value> {
        let wanted: Vec<Value> = match kind {
            Kind::List => self.folders().iter().filter_map(|folder| tools::list(tool, folder)).collect(),
            Kind::Search => self.mentions.keywords.iter().filter_map(|k| tools::search(tool, &k.text)).collect(),
            Kind::Read => self.files(tool),
            Kind::Write => self.written(tool),
            Kind::Run => tools::commands(tool, self.past.goal()).into_iter().take(COMMANDS).collect(),
            Kind::Mail => self.mail(tool),
            Kind::Ask => self.question(tool),
        };
        let new = |arguments: &Value| !self.past.has_called(&tool.name, arguments);
        let mut new: Vec<Value> = wanted.into_iter().filter(new).collect();
        let steps = usize::try_from(self.view.steps_left.saturating_sub(1)).unwrap_or(usize::MAX).max(1);
        new.truncate(match kind {
            Kind::Search => SEARCHES,
            Kind::Read => new.len().div_ceil(steps).min(READS),
            _ => 1,
        });
        new
    }

    /// The root, then folders whose content was not shown and whose name the task has.
    fn folders(&self) -> Vec<&'a str> {
        let shown = |folder: &str| {
            self.evidence.files.iter().any(|file| file.strip_prefix(folder).is_some_and(|f| f.starts_with('/')))
        };
        let named = |folder: &str| self.mentions.keywords.iter().any(|k| evidence::holds(folder, &k.text));
        let in_the_dark = self.evidence.files.is_empty();
        let more = self.evidence.folders.iter().filter(|f| !shown(f) && (in_the_dark || named(f)));
        std::iter::once(".").chain(more.map(String::as_str).take(FOLDERS)).collect()
    }

    /// What to read, best first: what the task and the searches point at, else everything if it is little.
    fn files(&self, tool: &ToolSpec) -> Vec<Value> {
        let mut files = self.evidence.candidates(self.mentions);
        if self.evidence.files.len() <= FILES {
            let rest = self.evidence.files.iter().map(String::as_str).filter(|f| !files.contains(f));
            files.extend(rest.collect::<Vec<_>>());
        } else if files.is_empty() {
            let telling = |file: &&str| ["README.md", "main", "lib.rs"].iter().any(|name| file.contains(name));
            files.extend(self.evidence.files.iter().map(String::as_str).filter(telling).take(READS));
        }
        if files.is_empty() {
            // Nothing could be listed or searched: what the task names is all there is.
            files.extend(self.mentions.files.iter().map(String::as_str));
        }
        let spots = self.evidence.spots(self.mentions, 1);
        let read = |file: &str| self.evidence.read.iter().any(|known| known == file);
        files
            .into_iter()
            .take(FILES)
            .filter(|file| !read(file))
            .filter_map(|file| {
                let best = spots.iter().find(|spot| spot.file == file);
                let from = best.map(|spot| (spot.line.saturating_sub(AROUND / 3).max(1), AROUND));
                tools::read(tool, file, from.filter(|(line, _)| *line > 1))
            })
            .collect()
    }

    /// A file the stage's goal or the task names and that is not there yet, with what was found.
    fn written(&self, tool: &ToolSpec) -> Vec<Value> {
        let goal = Mentions::of(self.past.goal());
        let named = goal.files.iter().chain(&self.mentions.files);
        let holds =
            |arguments: &Value, path: &str| arguments.as_object().is_some_and(|a| a.values().any(|v| v == path));
        let written = |path: &str| self.past.exchanges.iter().any(|e| e.tool == tool.name && holds(&e.arguments, path));
        let new = |file: &&String| !file.ends_with('/') && !self.evidence.files.contains(*file) && !written(file);
        named.filter(new).filter_map(|path| tools::write(tool, path, &prose::file(path, self))).take(1).collect()
    }

    /// The whole task as a question, unless this is what answers such questions.
    fn question(&self, tool: &ToolSpec) -> Vec<Value> {
        let inside = self.past.entering.contains(&format!("INSIDE {}:", tool.name));
        let question = Some(self.past.task).filter(|_| !inside);
        question.and_then(|question| tools::ask(tool, question)).into_iter().collect()
    }

    /// What those said who were asked.
    fn answers(&self) -> Option<String> {
        let asks = |name: &str| self.view.tools.iter().any(|t| t.name == name && kind_of_tool(t) == Some(Kind::Ask));
        let answers = self.past.exchanges.iter().filter(|e| !e.error && asks(e.tool)).map(|e| e.text);
        let answers: Vec<&str> = answers.collect();
        (!answers.is_empty()).then(|| answers.join("\n\n"))
    }

    fn mail(&self, tool: &ToolSpec) -> Vec<Value> {
        let sent = self.past.exchanges.iter().any(|e| e.tool == tool.name);
        let to = self.mentions.mail.as_deref().filter(|_| !sent);
        to.and_then(|to| tools::mail(tool, to, &prose::subject(self.past.task), &prose::report(self)))
            .into_iter()
            .collect()
    }

    /// What to say in this stage.
    fn words(&self) -> String {
        if let Some(answers) = self.answers() {
            return answers;
        }
        let allowed = allowed_tools(self.view);
        let kinds: Vec<Kind> = allowed.iter().filter_map(|name| kind_of(name)).collect();
        let looks = kinds.iter().any(|k| matches!(k, Kind::List | Kind::Search | Kind::Read));
        let closing = self.view.tool_choice == ToolChoice::None;
        if closing || self.past.is_last_stage() || (!looks && !kinds.is_empty()) {
            prose::report(self)
        } else if looks && self.evidence.read.is_empty() {
            prose::candidates(self)
        } else if looks {
            prose::notes(self)
        } else {
            prose::analysis(self)
        }
    }
}
