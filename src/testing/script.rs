//! A script: what the model replies, what the tools answer and what the host does, in order. Pure data and a pure
//! state machine; `provider::script` makes a model of it, `play` drives a session with it.

use crate::engine::input::{Finish, ProposedCall, Reply, ToolResult};
use indexmap::IndexMap;
use std::sync::Arc;

/// Most bytes one `{ bytes: N }` answer may have.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;
/// What a tool answers that the script does not name.
pub const DEFAULT_ANSWER: &str = "ok";

/// What a scripted tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result. A JSON value in the file is this text, written without spaces.
    Text(String),
    /// An error.
    Error(String),
    /// Nothing, until the time-out: nobody knows whether the call took effect.
    Hang,
    /// A result of so many bytes.
    Bytes(usize),
}

impl Answer {
    /// The result as the engine takes it.
    #[must_use]
    pub fn result(&self) -> ToolResult {
        match self {
            Self::Text(text) => ToolResult::ok(text.clone()),
            Self::Error(text) => ToolResult::error(text.clone()),
            Self::Hang => ToolResult::unknown("timed out"),
            Self::Bytes(n) => ToolResult::ok(filler(*n)),
        }
    }
}

/// `n` bytes of numbered lines: readable, and no two lines alike.
fn filler(n: usize) -> String {
    let n = n.min(MAX_BYTES);
    let mut text = String::with_capacity(n + 16);
    let mut line = 0_usize;
    while text.len() < n {
        line += 1;
        text.push_str("line ");
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text.truncate(n);
    text
}

/// One call of a scripted reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedCall {
    /// The provider's id; `None` = numbered through the script (`c1`, `c2`, …).
    pub id: Option<String>,
    /// The tool as the model writes it.
    pub tool: String,
    /// The arguments as raw text.
    pub arguments: String,
    /// Its own answer, used if it runs; goes before the tool's answers.
    pub answer: Option<Answer>,
}

/// One model reply of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedReply {
    /// The text; empty when there is none.
    pub text: String,
    /// The calls in the model's order.
    pub calls: Vec<ScriptedCall>,
    /// Why the model stops.
    pub finish: Finish,
}

/// How a request to the model fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// With this HTTP status.
    Status(u16),
    /// The request was too long for the model.
    Overflow,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the model answered {status}"),
            Self::Overflow => f.write_str("the request was too long for the model"),
        }
    }
}

/// What happens between two replies, by the host or a person.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEntry {
    /// The user says something.
    User(String),
    /// A person answers the question that waits.
    Approve(bool),
    /// The host sets facts (`None` unsets).
    Facts(Vec<(String, Option<serde_json::Value>)>),
    /// Time goes by.
    Wait {
        /// Milliseconds.
        ms: u64,
    },
    /// The caller wants no more.
    Cancel,
}

/// One entry of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// The model replies.
    Reply(ScriptedReply),
    /// The model cannot be reached.
    Fails(Failure),
    /// Something else happens.
    Host(HostEntry),
}

/// What the model replies, what the tools answer and what the host does, in order.
///
/// ```
/// use stagekeeper::testing::Script;
///
/// let script = Script::new()
///     .call("list_files", r#"{"path":"src"}"#)
///     .text("src/login.rs")
///     .tool("list_files", ["src/login.rs src/db.rs"]);
/// assert_eq!(script.entries.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The entries in order.
    pub entries: Vec<Entry>,
    /// The answers of each tool, in order; the last one repeats.
    pub tools: IndexMap<String, Vec<Answer>>,
    /// Whether the last entry repeats for ever; otherwise the model is silent after the end.
    pub repeats: bool,
}

impl Script {
    /// An empty script: a silent model.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply of one call; `arguments` is raw JSON.
    #[must_use]
    pub fn call(self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = ScriptedCall { tool: tool.into(), arguments: arguments.into(), ..ScriptedCall::default() };
        self.reply(ScriptedReply { calls: vec![call], ..ScriptedReply::default() })
    }

    /// A reply of text alone.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.reply(ScriptedReply { text: text.into(), ..ScriptedReply::default() })
    }

    /// Any reply.
    #[must_use]
    pub fn reply(self, reply: ScriptedReply) -> Self {
        self.entry(Entry::Reply(reply))
    }

    /// Any entry.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// What a tool answers, in order; the last answer repeats.
    #[must_use]
    pub fn tool<T: Into<String>>(mut self, tool: impl Into<String>, answers: impl IntoIterator<Item = T>) -> Self {
        self.tools.insert(tool.into(), answers.into_iter().map(|a| Answer::Text(a.into())).collect());
        self
    }

    /// Repeats the last entry for ever.
    #[must_use]
    pub fn then_repeat(mut self) -> Self {
        self.repeats = true;
        self
    }
}

/// What comes next in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The model replies.
    Reply {
        /// What.
        reply: Reply,
        /// The own answers of its calls, by position.
        answers: Vec<Option<Answer>>,
    },
    /// The model cannot be reached.
    Fails(Failure),
    /// Something else happens.
    Host(HostEntry),
}

/// A model that replies what a script says, and then nothing (or its last entry again).
///
/// ```
/// use stagekeeper::testing::{Script, ScriptedModel};
///
/// let mut model = ScriptedModel::new(Script::new().text("hello"));
/// assert_eq!(model.next_reply().unwrap().text, "hello");
/// assert_eq!(model.next_reply().unwrap().text, ""); // silent after the end
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
    at: usize,
    calls: usize,
}

impl ScriptedModel {
    /// A model at the start of its script.
    #[must_use]
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        Self { script: script.into(), at: 0, calls: 0 }
    }

    /// Whether the script has been gone through.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.at >= self.script.entries.len()
    }

    /// What comes next, without taking it; `None` after the end.
    #[must_use]
    pub fn peek(&self) -> Option<&Entry> {
        let entries = &self.script.entries;
        entries.get(self.at).or_else(|| entries.last().filter(|_| self.script.repeats))
    }

    /// What comes next. After the end: the last entry again where the script repeats, else a silent reply.
    pub fn next_turn(&mut self) -> Turn {
        let entry = self.peek().cloned().unwrap_or_else(|| Entry::Reply(ScriptedReply::default()));
        self.at += 1;
        match entry {
            Entry::Reply(reply) => self.say(reply),
            Entry::Fails(failure) => Turn::Fails(failure),
            Entry::Host(host) => Turn::Host(host),
        }
    }

    /// The next reply, passing over what the host does.
    ///
    /// # Errors
    /// When the script says that the request fails.
    pub fn next_reply(&mut self) -> Result<Reply, Failure> {
        // One round through the script finds a reply or shows that only the host is left.
        for _ in 0..=self.script.entries.len() {
            match self.next_turn() {
                Turn::Reply { reply, .. } => return Ok(reply),
                Turn::Fails(failure) => return Err(failure),
                Turn::Host(_) => {}
            }
        }
        Ok(Reply::default())
    }

    fn say(&mut self, reply: ScriptedReply) -> Turn {
        let mut calls = Vec::with_capacity(reply.calls.len());
        let mut answers = Vec::with_capacity(reply.calls.len());
        for call in reply.calls {
            self.calls += 1;
            let id = call.id.unwrap_or_else(|| format!("c{}", self.calls));
            calls.push(ProposedCall { id, tool: call.tool, arguments: call.arguments });
            answers.push(call.answer);
        }
        let reply = Reply { text: reply.text, calls, finish: reply.finish, ..Reply::default() };
        Turn::Reply { reply, answers }
    }
}

/// Tools that answer what a script says.
///
/// ```
/// use stagekeeper::testing::{Script, ScriptedTools};
///
/// let mut tools = ScriptedTools::new(Script::new().tool("read_file", ["first", "then"]));
/// assert_eq!(tools.call("read_file").text, "first");
/// assert_eq!(tools.call("read_file").text, "then");
/// assert_eq!(tools.call("read_file").text, "then"); // the last one repeats
/// assert_eq!(tools.call("other").text, "ok");
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedTools {
    script: Arc<Script>,
    called: IndexMap<String, usize>,
}

impl ScriptedTools {
    /// Tools at the start of their answers.
    #[must_use]
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        Self { script: script.into(), called: IndexMap::new() }
    }

    /// The next answer of `tool`.
    pub fn answer(&mut self, tool: &str) -> Answer {
        let Some(answers) = self.script.tools.get(tool) else {
            return Answer::Text(DEFAULT_ANSWER.to_owned());
        };
        let called = self.called.entry(tool.to_owned()).or_default();
        let answer = answers.get(*called).or_else(|| answers.last()).cloned();
        *called = called.saturating_add(1);
        answer.unwrap_or_else(|| Answer::Text(DEFAULT_ANSWER.to_owned()))
    }

    /// The next result of `tool`.
    pub fn call(&mut self, tool: &str) -> ToolResult {
        self.answer(tool).result()
    }
}
