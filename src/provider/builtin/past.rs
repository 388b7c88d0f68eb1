//! What the transcript tells: the task, what this stage allows, what was called and what came back.

use crate::engine::view::{Message, ToolChoice, ToolSpec, View};
use crate::table::NamePattern;
use serde_json::Value;

/// How the line of the entering message begins that lists the stage's tools.
const ALLOWED: &str = "Allowed tools:";
/// The engine's control tool for leaving a stage.
pub(super) const ADVANCE: &str = "advance";

/// A call and its answer.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub tool: &'a str,
    pub arguments: Value,
    pub text: &'a str,
    pub error: bool,
}

/// The transcript, sorted.
#[derive(Debug)]
pub(super) struct Past<'a> {
    /// The task.
    pub task: &'a str,
    /// The message that entered this stage; empty when none is in view.
    pub entering: &'a str,
    /// All calls with their answers.
    pub exchanges: Vec<Exchange<'a>>,
    /// How many of them are of earlier stages.
    pub before_stage: usize,
    /// Replies of text alone in this stage: they did not leave it.
    pub texts: usize,
}

impl<'a> Past<'a> {
    pub(super) fn of(view: &View<'a>) -> Self {
        let mut past = Past { task: "", entering: "", exchanges: Vec::new(), before_stage: 0, texts: 0 };
        let mut open: Vec<(&str, Value)> = Vec::new();
        for message in view.messages {
            match message {
                Message::User { text } => past.user(text, view.tools),
                Message::Assistant { calls, .. } => {
                    past.texts += usize::from(calls.is_empty());
                    open = calls.iter().rev().map(|c| (c.tool.as_str(), parsed(&c.arguments))).collect();
                }
                Message::Tool { tool, text, error, .. } => {
                    let (called, arguments) = open.pop().unwrap_or((tool, Value::Null));
                    let tool = if tool.is_empty() { called } else { tool };
                    past.exchanges.push(Exchange { tool, arguments, text, error: *error });
                }
            }
        }
        past
    }

    fn user(&mut self, text: &'a str, tools: &[ToolSpec]) {
        if self.task.is_empty() {
            // The first message is the task; a stage's message may stand in it, behind the task.
            self.task = text.split("\nStage ").next().unwrap_or(text);
        }
        if allowed_list(text, tools).is_some() {
            self.entering = text;
            self.before_stage = self.exchanges.len();
            self.texts = 0;
        }
    }

    /// What the entering message says before it lists the tools: the stage and its goal.
    pub(super) fn goal(&self) -> &'a str {
        self.entering.split(ALLOWED).next().unwrap_or_default()
    }

    /// The exchanges of this stage.
    pub(super) fn of_stage(&self) -> &[Exchange<'a>] {
        self.exchanges.get(self.before_stage..).unwrap_or_default()
    }

    /// Whether exactly this was called before.
    pub(super) fn has_called(&self, tool: &str, arguments: &Value) -> bool {
        self.exchanges.iter().any(|e| e.tool == tool && e.arguments == *arguments)
    }

    /// Whether this is the last of the path's stages, as far as the entering message tells (`Stage 4 of 4: report.`).
    pub(super) fn is_last_stage(&self) -> bool {
        let head = self.entering.lines().find(|line| line.starts_with("Stage ")).unwrap_or_default();
        let words: Vec<&str> = head.split_whitespace().collect();
        let number = |word: &&str| word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok();
        words.windows(3).any(|w| match w {
            [k, "of", n] => number(k).is_some() && number(k) == number(n),
            _ => false,
        })
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or(Value::Null)
}

/// The list of tools in an entering message: behind the default words, or, in another language, behind a line's colon
/// where nothing but names of tools stand.
fn allowed_list<'t>(text: &'t str, tools: &[ToolSpec]) -> Option<&'t str> {
    let known = |name: &str| tools.iter().any(|t| t.name == name);
    let default = text.lines().find_map(|line| line.trim().strip_prefix(ALLOWED));
    let list = default.or_else(|| {
        let lists = text.lines().filter_map(|line| line.rsplit_once([':', '：']).map(|(_, list)| list));
        lists.filter(|list| names(list).count() > 0).find(|list| names(list).all(known))
    })?;
    Some(list.trim().trim_end_matches(['.', '。']))
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    let list = list.trim().trim_end_matches(['.', '。']);
    list.split([',', '、', '，']).map(|name| name.trim().trim_matches('`')).filter(|name| !name.is_empty())
}

/// The tools on offer that the stage allows, going by the entering message; all of them when it does not say.
pub(in crate::provider) fn allowed_tools<'a>(view: &View<'a>) -> Vec<&'a str> {
    if view.tool_choice == ToolChoice::None {
        return Vec::new();
    }
    let offered = view.tools.iter().map(|t| t.name.as_str()).filter(|name| *name != ADVANCE);
    let entering = view.messages.iter().rev().find_map(|m| match m {
        Message::User { text } => allowed_list(text, view.tools),
        _ => None,
    });
    let Some(list) = entering.filter(|list| *list != "all") else {
        return offered.collect();
    };
    let patterns: Vec<NamePattern> = names(list).map(NamePattern::new).collect();
    offered.filter(|name| patterns.iter().any(|p| p.matches(name))).collect()
}
