//! One run a line, events in the order of the recording (`docs/reference/recordings.md`).

use super::{arguments, status};
use crate::audit::recording::{Builder, RecordedCall, Recording};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write as _;

#[derive(Deserialize)]
struct Run<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    meta: Option<Meta>,
    #[serde(borrow)]
    events: Vec<Event<'a>>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    task: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
    #[serde(default)]
    turn: Option<i64>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(default)]
    len: Option<u64>,
    #[serde(borrow, default)]
    sha: Option<Cow<'a, str>>,
    #[serde(default)]
    truncated: Option<bool>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Reads one line.
pub fn read(number: u64, line: &[u8], named: impl FnOnce(u64) -> String) -> serde_json::Result<Recording> {
    let run: Run<'_> = serde_json::from_slice(line)?;
    let mut builder = Builder::new(number);
    let task = task(&run);
    let head = builder.head();
    head.id = run.id.unwrap_or_default();
    head.source = run.source.unwrap_or_default();
    head.model = run.model.unwrap_or_default();
    head.success = run.success;
    head.task = task;
    let mut turn = String::new();
    for (at, event) in run.events.into_iter().enumerate() {
        let id = event.id.as_deref().unwrap_or_default();
        match &*event.t {
            "call" => {
                turn.clear();
                // Where no turn is given every call is a reply of its own.
                let _ = match event.turn {
                    Some(number) => write!(turn, "{number}"),
                    None => write!(turn, "#{at}"),
                };
                let (id, tool) = (id.to_owned(), event.name.unwrap_or_default().into_owned());
                builder.call(&turn, RecordedCall { id, tool, arguments: arguments(event.args), result: None });
            }
            "result" => {
                let status = status(event.is_error);
                let id = id.to_owned();
                builder.result(&id, content(event), status);
            }
            _ => {}
        }
    }
    Ok(builder.finish(named))
}

/// The content; of a cut one also what stands for the full text, so that equal means equal.
fn content(event: Event<'_>) -> String {
    let mut text = event.content.unwrap_or_default().into_owned();
    let cut = event.truncated == Some(true) || event.len.is_some_and(|len| len > text.chars().count() as u64);
    if cut {
        let _ = write!(text, "\n[cut: len={} sha={}]", event.len.unwrap_or_default(), event.sha.unwrap_or_default());
    }
    text
}

/// What the user said first, else the task the recording names.
fn task(run: &Run<'_>) -> String {
    let said = run.events.iter().find(|event| event.t == "text" && event.role.as_deref() == Some("user"));
    if let Some(text) = said.and_then(|event| event.content.as_deref()) {
        return text.to_owned();
    }
    match run.meta.as_ref().and_then(|meta| meta.task.as_ref()) {
        Some(serde_json::Value::String(task)) => task.clone(),
        _ => String::new(),
    }
}
