//! A chat-completions answer as a [`Reply`]: lenient about form, strict about size, and never inventing a call.

use super::request::{made_id, wire_name};
use crate::engine::input::{Finish, ProposedCall, Reply, Usage};
use crate::engine::view::ToolSpec;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most calls of one reply; a longer list is no reply but a flood.
pub const MOST_CALLS: usize = 1000;

/// Why an answer is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is no JSON, or not of the expected form: what is wrong with it. Asking again may help.
    Garbled(String),
    /// It reports an error, although its status said success: the raw error.
    Error(String),
    /// Asking again will not help.
    Flood(usize),
}

/// What is needed of the request to read the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Messages of the view: makes ids for calls without one.
    pub messages: usize,
    /// Tools whose name is sent changed: as sent, as it is.
    pub renamed: Vec<(String, String)>,
}

impl Asked {
    pub(super) fn new(messages: usize, tools: &[ToolSpec]) -> Self {
        let sent_changed = tools.iter().filter(|t| wire_name(&t.name) != t.name);
        Self { messages, renamed: sent_changed.map(|t| (wire_name(&t.name).into_owned(), t.name.clone())).collect() }
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

/// Every field raw: one of a wrong type must not lose the others.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Reads an answer.
///
/// # Errors
/// When it holds no reply.
pub(super) fn read(body: &str, asked: &Asked) -> Result<Reply, Unreadable> {
    let parsed: Body<'_> = serde_json::from_str(body.trim_start_matches('\u{feff}')).map_err(|e| garbled(body, &e))?;
    let choice = parsed.choices.and_then(|all| all.into_iter().next());
    let Some(Choice { message: Some(message), finish_reason }) = choice else {
        return Err(match parsed.error {
            Some(error) => Unreadable::Error(error.get().to_owned()),
            None => Unreadable::Garbled("it holds no choice with a message".to_owned()),
        });
    };
    let said = message.content.map(said).unwrap_or_default();
    let refusal = message.refusal.map(string).filter(|text| !text.is_empty()).or(said.refusal);
    let calls = calls(&message, asked)?;
    let finish = match finish_reason.map(string).unwrap_or_default().as_str() {
        _ if refusal.is_some() => Finish::Refusal,
        "content_filter" | "refusal" => Finish::Refusal,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        _ => Finish::Stop,
    };
    let text = if said.text.is_empty() { refusal.unwrap_or_default() } else { said.text };
    Ok(Reply { text, calls, finish, usage: parsed.usage.map(usage).unwrap_or_default() })
}

fn garbled(body: &str, error: &serde_json::Error) -> Unreadable {
    let start = body.trim_start();
    Unreadable::Garbled(if start.is_empty() {
        "it is empty".to_owned()
    } else if start.starts_with('<') {
        "it is HTML, not JSON".to_owned()
    } else if start.starts_with("data:") {
        "it is an event stream although none was asked for".to_owned()
    } else if error.is_eof() {
        "it breaks off in the middle of the JSON".to_owned()
    } else {
        format!("it is not the expected JSON ({error})")
    })
}

#[derive(Default)]
struct Said {
    text: String,
    refusal: Option<String>,
}

/// The content: a string, a list of parts, or something else, which says nothing.
fn said(raw: &RawValue) -> Said {
    let mut said = Said::default();
    match serde_json::from_str(raw.get()) {
        Ok(Value::String(text)) => said.text = text,
        Ok(Value::Array(parts)) => {
            for part in &parts {
                match (part, part.get("text"), part.get("refusal")) {
                    (Value::String(text), ..) | (_, Some(Value::String(text)), _) => said.text.push_str(text),
                    (_, _, Some(Value::String(text))) => said.refusal = Some(text.clone()),
                    _ => {}
                }
            }
        }
        Ok(_) => {}
        Err(_) => said.text = string(raw),
    }
    said
}

/// A JSON string's text; of anything else, the text as it stands.
fn string(raw: &RawValue) -> String {
    // A lone surrogate is no Rust text: then the escapes stay as written.
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().trim_matches('"').to_owned())
}

fn calls(message: &Message<'_>, asked: &Asked) -> Result<Vec<ProposedCall>, Unreadable> {
    let listed: Vec<&RawValue> = match message.tool_calls {
        Some(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![raw]),
        None => Vec::new(),
    };
    if listed.len() > MOST_CALLS {
        return Err(Unreadable::Flood(listed.len()));
    }
    let mut calls: Vec<ProposedCall> =
        listed.iter().enumerate().map(|(n, raw)| call(raw, made_id(asked.messages, n))).collect();
    if let (true, Some(raw)) = (calls.is_empty(), message.function_call) {
        let function = serde_json::from_str(raw.get()).ok();
        calls.push(proposed(made_id(asked.messages, 0), function, raw));
    }
    for call in &mut calls {
        if let Some((_, name)) = asked.renamed.iter().find(|(sent, _)| *sent == call.tool) {
            call.tool.clone_from(name);
        }
    }
    Ok(calls)
}

/// One call. What cannot be read is kept as the arguments of a call without a name, for the engine to refuse.
fn call(raw: &RawValue, made: String) -> ProposedCall {
    let parsed: Option<Call<'_>> = serde_json::from_str(raw.get()).ok();
    let id = parsed.as_ref().and_then(|c| c.id).map(string).filter(|id| !id.is_empty()).unwrap_or(made);
    proposed(id, parsed.and_then(|c| c.function), raw)
}

fn proposed(id: String, function: Option<Function<'_>>, raw: &RawValue) -> ProposedCall {
    match function {
        Some(f) => ProposedCall {
            id,
            tool: f.name.map(string).unwrap_or_default(),
            arguments: f.arguments.map(string_or_raw).unwrap_or_default(),
        },
        None => ProposedCall { id, tool: String::new(), arguments: raw.get().to_owned() },
    }
}

/// Arguments are a string of JSON; some servers send the JSON itself. Its numbers stay as written.
fn string_or_raw(raw: &RawValue) -> String {
    if raw.get().starts_with('"') { string(raw) } else { raw.get().to_owned() }
}

fn usage(raw: &RawValue) -> Usage {
    let Ok(value) = serde_json::from_str::<Value>(raw.get()) else {
        return Usage::default();
    };
    let count = |names: [&str; 2]| names.iter().find_map(|n| value.get(n)?.as_u64()).unwrap_or_default();
    Usage {
        input: count(["prompt_tokens", "input_tokens"]),
        output: count(["completion_tokens", "output_tokens"]),
        cost_micros: value.get("cost").and_then(Value::as_f64).map(micros).unwrap_or_default(),
    }
}

/// Millionths of what a server says a reply cost (OpenRouter does). `as` saturates: no sum is negative or endless.
fn micros(cost: f64) -> u64 {
    (cost * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(message: &Value) -> String {
        json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop", "logprobs": null }] })
            .to_string()
    }

    fn reply(message: &Value) -> Reply {
        read(&body(message), &Asked { messages: 7, ..Asked::default() }).unwrap()
    }

    #[test]
    fn text_may_be_a_string_parts_or_null() {
        assert_eq!(reply(&json!({ "content": "hi", "reasoning_content": "hm" })).text, "hi");
        assert_eq!(reply(&json!({ "content": [{ "type": "text", "text": "a" }, { "type": "x" }, "b"] })).text, "ab");
        for nothing in [json!({ "content": null }), json!({}), json!({ "content": 5 }), json!({ "tool_calls": null })] {
            assert_eq!(reply(&nothing), Reply::default());
        }
    }

    #[test]
    fn arguments_may_be_text_or_an_object_and_numbers_stay_as_written() {
        let raw = r#"{"choices":[{"message":{"content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"f","arguments":"{\"id\": 12345678901234567890123}"}},
            {"id":"b","type":"function","function":{"name":"g","arguments":{"id": 12345678901234567890123}}}]}}]}"#;
        let reply = read(raw, &Asked::default()).unwrap();
        let arguments: Vec<&str> = reply.calls.iter().map(|c| c.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"id": 12345678901234567890123}"#; 2]);
    }

    #[test]
    fn a_malformed_call_does_not_lose_its_siblings() {
        let calls = reply(&json!({ "tool_calls": [
            { "id": "a", "function": { "name": "f", "arguments": "{\"x\": " } },
            "nonsense",
            { "id": 9, "function": { "name": null, "arguments": null } },
            { "id": "d", "function": { "name": "g", "arguments": "{}" } },
        ] }))
        .calls;
        assert_eq!(
            calls,
            [
                ProposedCall::new("a", "f", "{\"x\": "),
                ProposedCall::new("c00007001", "", "\"nonsense\""),
                ProposedCall::new("9", "", ""),
                ProposedCall::new("d", "g", "{}"),
            ]
        );
    }

    #[test]
    fn missing_ids_are_made_from_the_place_in_the_transcript() {
        let calls = reply(
            &json!({ "tool_calls": [{ "function": { "name": "f" } }, { "id": "", "function": { "name": "f" } }] }),
        );
        let ids: Vec<&str> = calls.calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["c00007000", "c00007001"]);
    }

    #[test]
    fn an_old_function_call_is_a_call_and_written_tags_are_text() {
        let old = reply(&json!({ "content": null, "function_call": { "name": "f", "arguments": "{}" } }));
        assert_eq!(old.calls, [ProposedCall::new("c00007000", "f", "{}")]);
        let text = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
        assert_eq!(reply(&json!({ "content": text, "tool_calls": [] })), Reply::text(text));
    }

    #[test]
    fn endings_are_told_apart() {
        let finish = |reason: &str| {
            let body = json!({ "choices": [{ "message": { "content": "x" }, "finish_reason": reason }] }).to_string();
            read(&body, &Asked::default()).unwrap().finish
        };
        assert_eq!(finish("length"), Finish::Length);
        assert_eq!(finish("content_filter"), Finish::Refusal);
        assert_eq!(finish("tool_calls"), Finish::Stop);
        let declined = reply(&json!({ "content": null, "refusal": "I will not" }));
        assert_eq!((declined.text.as_str(), declined.finish), ("I will not", Finish::Refusal));
        let part = reply(&json!({ "content": [{ "type": "refusal", "refusal": "no" }] }));
        assert_eq!((part.text.as_str(), part.finish), ("no", Finish::Refusal));
    }

    #[test]
    fn usage_is_read_where_it_is_sane() {
        let with = |usage: Value| {
            let body = json!({ "choices": [{ "message": { "content": "x" } }], "usage": usage }).to_string();
            read(&body, &Asked::default()).unwrap().usage
        };
        let full = with(json!({ "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "cost": 0.000_25 }));
        assert_eq!(full, Usage { input: 12, output: 3, cost_micros: 250 });
        assert_eq!(with(json!({ "prompt_tokens": -1, "completion_tokens": "x", "cost": -3 })), Usage::default());
        assert_eq!(with(json!("none")), Usage::default());
    }

    #[test]
    fn what_is_no_reply_says_what_it_is() {
        let said = |body: &str| match read(body, &Asked::default()) {
            Err(Unreadable::Garbled(what)) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(""), "it is empty");
        assert_eq!(said("<!doctype html><h1>hi</h1>"), "it is HTML, not JSON");
        assert_eq!(said(r#"{"choices":[{"mess"#), "it breaks off in the middle of the JSON");
        assert_eq!(said("data: {}\n\n"), "it is an event stream although none was asked for");
        assert_eq!(said(r#"{"choices":[]}"#), "it holds no choice with a message");
        assert_eq!(said(r#"{"choices":[{"message":null}]}"#), "it holds no choice with a message");
        assert!(said("[1]").starts_with("it is not the expected JSON"));
        let error = read(r#"{"error":{"message":"busy","code":503}}"#, &Asked::default());
        assert_eq!(error, Err(Unreadable::Error(r#"{"message":"busy","code":503}"#.to_owned())));
    }

    #[test]
    fn a_flood_of_calls_is_no_reply_and_deep_nesting_is_survived() {
        let calls: Vec<Value> = (0..=MOST_CALLS).map(|_| json!({ "function": { "name": "f" } })).collect();
        assert_eq!(read(&body(&json!({ "tool_calls": calls })), &Asked::default()), Err(Unreadable::Flood(1001)));
        let deep = format!(r#"{{"choices":[{{"message":{{"content":{}}}}}]}}"#, "[".repeat(200_000));
        assert!(matches!(read(&deep, &Asked::default()), Err(Unreadable::Garbled(_))));
    }

    #[test]
    fn renamed_tools_come_back_under_their_own_name() {
        let asked = Asked::new(1, &[ToolSpec::named("fs.read"), ToolSpec::named("grep")]);
        let reply = read(&body(&json!({ "tool_calls": [{ "id": "a", "function": { "name": "fs_read" } }] })), &asked);
        assert_eq!(reply.unwrap().calls, [ProposedCall::new("a", "fs.read", "")]);
    }
}
