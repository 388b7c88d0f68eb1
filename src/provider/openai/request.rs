//! A view as the body of a chat-completions request, written from borrowed data: the history is never copied.

use crate::engine::input::ProposedCall;
use crate::engine::view::{Message, ToolChoice, ToolSpec, View};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// Longest function name that servers take, in characters.
const LONGEST_NAME: usize = 64;

/// The body for `model`.
///
/// # Errors
/// When a tool's schema cannot be written as JSON.
pub(super) fn body(model: &str, view: &View<'_>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Request {
        model,
        messages: Messages { system: view.system, messages: view.messages },
        tools: (!view.tools.is_empty()).then_some(Tools(view.tools)),
        // Left out, it means `auto`; without tools servers refuse it.
        tool_choice: (view.tool_choice == ToolChoice::None && !view.tools.is_empty()).then_some("none"),
        stream: false,
    })
}

#[derive(serde::Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    stream: bool,
}

struct Tools<'a>(&'a [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(serde::Serialize)]
        struct Function<'a> {
            name: Cow<'a, str>,
            #[serde(skip_serializing_if = "str::is_empty")]
            description: &'a str,
            parameters: &'a serde_json::Value,
        }
        serializer.collect_seq(self.0.iter().map(|tool| Tool {
            r#type: "function",
            function: Function {
                name: wire_name(&tool.name),
                description: &tool.description,
                parameters: &tool.parameters,
            },
        }))
    }
}

struct Messages<'a> {
    system: &'a str,
    messages: &'a [Message],
}

#[derive(serde::Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Wire<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Joined<'a>,
    },
    Assistant {
        /// `null` beside calls; servers refuse an empty text there.
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_calls: Option<Calls<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(None)?;
        if !self.system.is_empty() {
            out.serialize_element(&Wire::System { content: self.system })?;
        }
        let mut ids = Ids::default();
        let mut rest = self.messages;
        while let Some((message, after)) = rest.split_first() {
            let at = self.messages.len() - rest.len();
            rest = after;
            match message {
                Message::User { .. } => {
                    // Chat templates of small models insist on turns that alternate.
                    let more = after.iter().take_while(|m| matches!(m, Message::User { .. }) || is_silent(m)).count();
                    let (run, others) = self.messages.split_at(at + 1 + more);
                    rest = others;
                    out.serialize_element(&Wire::User { content: Joined(run.get(at..).unwrap_or_default()) })?;
                }
                Message::Assistant { .. } if is_silent(message) => {}
                Message::Assistant { text, calls } => {
                    ids.open(at, calls);
                    let tool_calls = (!calls.is_empty()).then_some(Calls { calls, ids: &ids.current });
                    let content = (!text.is_empty()).then_some(text.as_str());
                    out.serialize_element(&Wire::Assistant { content, tool_calls })?;
                }
                Message::Tool { id, text, .. } => {
                    let tool_call_id = ids.next().unwrap_or(id);
                    out.serialize_element(&Wire::Tool { tool_call_id, content: text })?;
                }
            }
        }
        out.end()
    }
}

/// A reply of nothing: servers refuse it, and it says nothing.
fn is_silent(message: &Message) -> bool {
    matches!(message, Message::Assistant { text, calls } if text.is_empty() && calls.is_empty())
}

/// Adjacent user messages as one text.
struct Joined<'a>(&'a [Message]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for message in self.0 {
            if let Message::User { text } = message {
                write!(f, "{between}{text}")?;
                between = "\n\n";
            }
        }
        Ok(())
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [Message::User { text }] => serializer.serialize_str(text),
            _ => serializer.collect_str(self),
        }
    }
}

/// The ids of the last reply's calls as they are sent. A model's own id stays unless it is empty or stood before:
/// servers match answers by id, and some want ids unique in the whole history.
#[derive(Default)]
struct Ids<'a> {
    seen: HashSet<Cow<'a, str>>,
    current: Vec<Cow<'a, str>>,
    answered: usize,
}

impl<'a> Ids<'a> {
    fn open(&mut self, at: usize, calls: &'a [ProposedCall]) {
        self.answered = 0;
        self.current.clear();
        for (n, call) in calls.iter().enumerate() {
            let own = Cow::Borrowed(call.id.as_str());
            let fresh = !call.id.is_empty() && self.seen.insert(own.clone());
            let id = if fresh { own } else { self.make(at, n) };
            self.current.push(id);
        }
    }

    fn make(&mut self, at: usize, n: usize) -> Cow<'a, str> {
        let mut n = n;
        while !self.seen.insert(Cow::Owned(made_id(at, n))) {
            n += 1;
        }
        Cow::Owned(made_id(at, n))
    }

    fn next(&mut self) -> Option<&str> {
        self.answered += 1;
        self.current.get(self.answered - 1).map(AsRef::as_ref)
    }
}

/// The id of call `n` of the message at `at`: nine letters and digits, which the pickiest server (Mistral) wants.
pub(super) fn made_id(at: usize, n: usize) -> String {
    format!("c{at:05}{n:03}")
}

struct Calls<'a> {
    calls: &'a [ProposedCall],
    ids: &'a [Cow<'a, str>],
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Call<'a> {
            id: &'a str,
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(serde::Serialize)]
        struct Function<'a> {
            name: Cow<'a, str>,
            arguments: &'a str,
        }
        serializer.collect_seq(self.calls.iter().zip(self.ids).map(|(call, id)| Call {
            id,
            r#type: "function",
            function: Function { name: wire_name(&call.tool), arguments: wire_arguments(&call.arguments) },
        }))
    }
}

/// The raw arguments if they are one JSON object, else `{}`: servers parse them and refuse a history they cannot read.
/// What was wrong with them stands in the call's answer.
fn wire_arguments(raw: &str) -> &str {
    let is_object = raw.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(raw).is_ok();
    if is_object { raw } else { "{}" }
}

/// A tool's name within what servers take (letters, digits, `_`, `-`): a made-up name must not spoil the history.
pub(super) fn wire_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().take(LONGEST_NAME).map(|c| if fits(c) { c } else { '_' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn assistant(text: &str, calls: Vec<ProposedCall>) -> Message {
        Message::Assistant { text: text.to_owned(), calls }
    }

    fn answer(id: &str, text: &str) -> Message {
        Message::Tool { id: id.to_owned(), tool: "t".to_owned(), text: text.into(), error: false }
    }

    fn sent(messages: &[Message], tools: &[ToolSpec], tool_choice: ToolChoice) -> Value {
        let view = View { system: "be brief", messages, tools, tool_choice, stage: "s", steps_left: 1, model: None };
        serde_json::from_slice(&body("m", &view).unwrap()).unwrap()
    }

    #[test]
    fn a_whole_exchange_is_mapped() {
        let messages = [
            user("find it"),
            assistant("", vec![ProposedCall::new("a", "grep_code", r#"{"n": 12345678901234567890}"#)]),
            answer("a", "src/x.rs:1: it"),
            user("one step left"),
            assistant("it is in src/x.rs", vec![]),
        ];
        assert_eq!(
            sent(&messages, &[ToolSpec::named("grep_code")], ToolChoice::Auto),
            json!({
                "model": "m",
                "messages": [
                    { "role": "system", "content": "be brief" },
                    { "role": "user", "content": "find it" },
                    { "role": "assistant", "content": null, "tool_calls": [
                        { "id": "a", "type": "function",
                          "function": { "name": "grep_code", "arguments": r#"{"n": 12345678901234567890}"# } }] },
                    { "role": "tool", "tool_call_id": "a", "content": "src/x.rs:1: it" },
                    { "role": "user", "content": "one step left" },
                    { "role": "assistant", "content": "it is in src/x.rs" },
                ],
                "tools": [{ "type": "function", "function":
                    { "name": "grep_code", "parameters": { "type": "object", "properties": {} } } }],
                "stream": false,
            })
        );
    }

    #[test]
    fn the_closing_request_keeps_the_tools_and_forbids_calls() {
        let tools = [ToolSpec::named("a")];
        assert_eq!(sent(&[user("x")], &tools, ToolChoice::None)["tool_choice"], "none");
        assert!(sent(&[user("x")], &tools, ToolChoice::Auto).get("tool_choice").is_none());
        let without = sent(&[user("x")], &[], ToolChoice::None);
        assert!(without.get("tools").is_none() && without.get("tool_choice").is_none());
    }

    #[test]
    fn empty_and_repeated_ids_are_sent_as_unique_ones_and_answers_follow() {
        let call = |id: &str| ProposedCall::new(id, "t", "");
        let messages = [
            user("x"),
            assistant("", vec![call(""), call("a"), call("a")]),
            answer("", "1"),
            answer("a", "2"),
            answer("a", "3"),
            assistant("", vec![call("a")]),
            answer("a", "4"),
        ];
        let sent = sent(&messages, &[], ToolChoice::Auto);
        let wire = sent["messages"].as_array().unwrap();
        let called: Vec<&Value> =
            wire.iter().flat_map(|m| m["tool_calls"].as_array().into_iter().flatten()).map(|c| &c["id"]).collect();
        let answered: Vec<&Value> = wire.iter().filter(|m| m["role"] == "tool").map(|m| &m["tool_call_id"]).collect();
        assert_eq!(called, ["c00001000", "a", "c00001002", "c00005000"]);
        assert_eq!(called, answered);
    }

    #[test]
    fn arguments_that_are_no_object_become_an_empty_one() {
        for (raw, wire) in [
            ("", "{}"),
            ("{\"a\":", "{}"),
            ("[1]", "{}"),
            ("\"x\"", "{}"),
            ("{} {}", "{}"),
            (" {\"a\":1}", " {\"a\":1}"),
        ] {
            assert_eq!(wire_arguments(raw), wire, "{raw}");
        }
    }

    #[test]
    fn made_up_names_are_cut_to_what_servers_take() {
        assert_eq!(wire_name("read_file"), "read_file");
        assert_eq!(wire_name(""), "unnamed");
        assert_eq!(wire_name("fs.read file"), "fs_read_file");
        assert_eq!(wire_name(&"ü".repeat(200)), "_".repeat(64));
    }

    #[test]
    fn neighbouring_user_texts_are_joined_and_silent_replies_left_out() {
        let sent = sent(&[user("a"), user("b"), assistant("", vec![]), user("c")], &[], ToolChoice::Auto);
        assert_eq!(sent["messages"][1], json!({ "role": "user", "content": "a\n\nb\n\nc" }));
        assert_eq!(sent["messages"].as_array().unwrap().len(), 2);
    }
}
