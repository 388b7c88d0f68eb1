//! Message lists as OpenAI's and Anthropic's interfaces take them; the two may even be mixed.

use super::{arguments, status};
use crate::audit::recording::{Builder, RecordedCall, Recording};
use crate::engine::input::Status;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    id: Option<serde_json::Value>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
}

/// One message of either kind.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    /// The older form of `tool_calls`: one a message, without an id, answered by the function's name.
    #[serde(borrow, default)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// One block of a content that is a list.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Reads a line, or a document, that holds one list.
pub fn read_list(number: u64, text: &[u8], named: impl FnOnce(u64) -> String) -> serde_json::Result<Recording> {
    let list: List<'_> = serde_json::from_slice(text)?;
    let mut builder = Builder::new(number);
    let head = builder.head();
    head.id = match list.id {
        Some(serde_json::Value::String(id)) => id,
        Some(serde_json::Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    head.source = list.source.unwrap_or_default();
    head.model = list.model.unwrap_or_default();
    head.success = list.success;
    for (at, message) in list.messages.iter().enumerate() {
        add(&mut builder, &at.to_string(), message)?;
    }
    Ok(builder.finish(named))
}

/// A list with one message a line.
pub struct Going {
    builder: Builder,
    messages: u64,
}

impl Going {
    /// Begins at a line.
    pub fn begin(number: u64) -> Self {
        Self { builder: Builder::new(number), messages: 0 }
    }

    /// Takes one message.
    pub fn line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let message: Message<'_> = serde_json::from_slice(line)?;
        self.messages += 1;
        add(&mut self.builder, &self.messages.to_string(), &message)
    }

    /// The run.
    pub fn finish(self) -> Builder {
        self.builder
    }
}

/// Adds a message's calls and results; `turn` names its reply.
pub fn add(builder: &mut Builder, turn: &str, message: &Message<'_>) -> serde_json::Result<()> {
    for call in message.tool_calls.iter().flatten() {
        let id = call.id.as_deref().unwrap_or_default().to_owned();
        builder.call(turn, called(id, &call.function));
    }
    if let Some(function) = &message.function_call {
        builder.call(turn, called(function.name.clone().into_owned(), function));
    }
    let Some(content) = message.content else { return Ok(()) };
    if matches!(&*message.role, "tool" | "function") {
        let id = message.tool_call_id.as_deref().or(message.name.as_deref()).unwrap_or_default();
        builder.result(id, plain(content)?, Status::Ok);
        return Ok(());
    }
    if content.get().starts_with('[') {
        for block in serde_json::from_str::<Vec<Block<'_>>>(content.get())? {
            add_block(builder, turn, block)?;
        }
    }
    if message.role == "user" && builder.head().task.is_empty() && builder.head().turns.is_empty() {
        builder.head().task = plain(content)?;
    }
    Ok(())
}

fn called(id: String, function: &Function<'_>) -> RecordedCall {
    RecordedCall {
        id,
        tool: function.name.clone().into_owned(),
        arguments: arguments(function.arguments),
        result: None,
    }
}

fn add_block(builder: &mut Builder, turn: &str, block: Block<'_>) -> serde_json::Result<()> {
    match block.kind.as_deref() {
        Some("tool_use") => {
            let (id, tool) = (block.id.unwrap_or_default().into_owned(), block.name.unwrap_or_default().into_owned());
            builder.call(turn, RecordedCall { id, tool, arguments: arguments(block.input), result: None });
        }
        Some("tool_result") => {
            let text = block.content.map_or(Ok(String::new()), plain)?;
            builder.result(&block.tool_use_id.unwrap_or_default(), text, status(block.is_error));
        }
        _ => {}
    }
    Ok(())
}

/// A content as text: a string, or blocks of text; anything else (images) as the JSON it is.
fn plain(content: &RawValue) -> serde_json::Result<String> {
    let raw = content.get();
    if raw.starts_with('"') {
        return serde_json::from_str(raw);
    }
    if raw.starts_with('[') {
        let blocks: Vec<Block<'_>> = serde_json::from_str(raw)?;
        if let Some(texts) = blocks.into_iter().map(|block| block.text).collect::<Option<Vec<_>>>() {
            return Ok(texts.join("\n"));
        }
    }
    Ok(if raw == "null" { String::new() } else { raw.to_owned() })
}
