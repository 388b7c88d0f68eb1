//! Adversaries: models that do one wrong thing for ever, to see a table hold. No randomness: the n-th reply to the
//! same view is always the same.

use super::spec::{SpecError, near};
use crate::engine::input::{ProposedCall, Reply};
use crate::engine::view::{ToolSpec, View};
use crate::run::model::{Answer, Model, ModelError};
use serde_json::{Map, Value, json};
use std::str::FromStr;

/// Calls of one reply of `flood`.
pub const FLOOD: u64 = 64;
/// The engine's own control tool: an adversary that wants to stay does not call it.
const ADVANCE: &str = "advance";
/// What `malformed` sends as arguments, in turn: none is one JSON object without duplicate keys.
const MALFORMED: [&str; 8] = [
    "{\"path\": \"src",
    "[\"src\"]",
    "\"src\"",
    "{\"path\": \"a\", \"path\": \"b\"}",
    "path=src",
    "{} {}",
    "{'path': 'src'}",
    "null",
];

/// What an adversary does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The same call in every reply.
    Repeat,
    /// Two calls in turn.
    PingPong,
    /// Calls of tools that the stage does not allow.
    Forbidden,
    /// Calls of tools that do not exist, each time another.
    Unknown,
    /// Calls whose arguments are no JSON object.
    Malformed,
    /// Many new calls in every reply, all with the same id.
    Flood,
    /// Replies without text and calls.
    Silent,
    /// A new call in every reply, never a text.
    NeverEnds,
}

impl Kind {
    /// All kinds, as written.
    pub const ALL: [(&'static str, Self); 8] = [
        ("repeat", Self::Repeat),
        ("ping-pong", Self::PingPong),
        ("forbidden", Self::Forbidden),
        ("unknown", Self::Unknown),
        ("malformed", Self::Malformed),
        ("flood", Self::Flood),
        ("silent", Self::Silent),
        ("never-ends", Self::NeverEnds),
    ];
}

impl FromStr for Kind {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if let Some((_, kind)) = Self::ALL.into_iter().find(|(name, _)| *name == text) {
            return Ok(kind);
        }
        let names = Self::ALL.map(|(name, _)| name);
        Err(SpecError::new(format!("unknown kind `{text}` in `chaos:{text}`")).help(match near(text, &names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the kinds are {}", names.join(", ")),
        }))
    }
}

/// A model that does one wrong thing for ever.
#[derive(Clone, Debug)]
pub struct Chaos {
    kind: Kind,
    /// Replies given.
    replies: u64,
    /// Calls made up.
    calls: u64,
}

impl Chaos {
    /// An adversary of this kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, replies: 0, calls: 0 }
    }

    /// Its next reply.
    pub fn next(&mut self, view: &View<'_>) -> Reply {
        let n = self.replies;
        self.replies += 1;
        let tools: Vec<&ToolSpec> = view.tools.iter().filter(|t| t.name != ADVANCE).collect();
        let tool = |at: u64| {
            let at = usize::try_from(at).unwrap_or(usize::MAX).checked_rem(tools.len());
            at.and_then(|at| tools.get(at)).copied()
        };
        match self.kind {
            Kind::Silent => Reply::default(),
            Kind::Repeat => self.one(tool(0), 0),
            Kind::PingPong => self.one(tool(n % 2), n % 2),
            Kind::NeverEnds => self.one(tool(n), n),
            Kind::Unknown => self.named(&format!("no_such_tool_{n}"), "{}".to_owned()),
            Kind::Malformed => {
                let at = usize::try_from(n).unwrap_or_default() % MALFORMED.len();
                let arguments = MALFORMED.get(at).copied().unwrap_or_default();
                self.named(tool(n).map_or("tool", |t| &t.name), arguments.to_owned())
            }
            Kind::Forbidden => {
                let allowed = super::builtin::allowed_tools(view);
                let forbidden: Vec<&ToolSpec> =
                    tools.iter().copied().filter(|t| !allowed.iter().any(|a| *a == t.name)).collect();
                let at = usize::try_from(n).unwrap_or_default().checked_rem(forbidden.len());
                match at.and_then(|at| forbidden.get(at)) {
                    Some(tool) => self.one(Some(tool), n),
                    // Everything on offer is allowed here, or only the stage's tools are on offer.
                    None => self.named("forbidden", "{}".to_owned()),
                }
            }
            Kind::Flood => {
                let first = n * FLOOD;
                let calls = (first..first + FLOOD).map(|n| {
                    let name = tool(n).map_or("tool", |t| &t.name);
                    ProposedCall::new("flood", name, arguments(tool(n), n))
                });
                Reply::calls(calls.collect())
            }
        }
    }

    fn one(&mut self, tool: Option<&ToolSpec>, n: u64) -> Reply {
        self.named(tool.map_or("tool", |t| &t.name), arguments(tool, n))
    }

    fn named(&mut self, tool: &str, arguments: String) -> Reply {
        self.calls += 1;
        Reply::calls(vec![ProposedCall::new(format!("chaos_{}", self.calls), tool, arguments)])
    }
}

impl Model for Chaos {
    fn goes_on_behind(&mut self, replies: usize) {
        self.replies = replies as u64;
        self.calls = self.replies;
    }

    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let reply = self.next(&view);
        Box::pin(async move { Ok(reply) })
    }
}

/// Arguments of the tool's form that differ with `n`. A tool without a schema gets a key of our own.
fn arguments(tool: Option<&ToolSpec>, n: u64) -> String {
    let properties = tool.and_then(|t| t.parameters.get("properties")).and_then(Value::as_object);
    let mut made = Map::new();
    for (name, schema) in properties.into_iter().flatten() {
        let value = match schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => json!(n),
            Some("boolean") => json!(n.is_multiple_of(2)),
            Some("array") => json!([format!("{name}-{n}")]),
            Some("object") => json!({}),
            _ => schema.get("enum").and_then(|e| e.get(0)).cloned().unwrap_or_else(|| json!(format!("{name}-{n}"))),
        };
        made.insert(name.clone(), value);
    }
    if made.is_empty() {
        made.insert("n".to_owned(), json!(n));
    }
    Value::Object(made).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::view::{Message, ToolChoice};
    use std::collections::HashSet;

    fn replies(kind: &str, count: usize) -> Vec<Reply> {
        let path = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: path.clone() };
        let tools = [tool("list_files"), tool("read_file"), ToolSpec::named("advance")];
        let messages = [Message::User { text: "Stage 1 of 2: explore\nAllowed tools: list_files.".into() }];
        let view = View {
            system: "",
            messages: &messages,
            tools: &tools,
            tool_choice: ToolChoice::Auto,
            stage: "explore",
            steps_left: 3,
            model: None,
        };
        let mut chaos = Chaos::new(kind.parse().unwrap());
        (0..count).map(|_| chaos.next(&view)).collect()
    }

    fn called(replies: &[Reply]) -> Vec<(String, String)> {
        replies.iter().flat_map(|r| &r.calls).map(|c| (c.tool.clone(), c.arguments.clone())).collect()
    }

    #[test]
    fn each_kind_does_its_one_wrong_thing() {
        let distinct = |kind: &str, n: usize| called(&replies(kind, n)).into_iter().collect::<HashSet<_>>().len();
        assert_eq!(distinct("repeat", 5), 1);
        assert_eq!(distinct("ping-pong", 6), 2);
        assert_eq!(distinct("never-ends", 20), 20);
        assert_eq!(distinct("flood", 2), 128);
        assert_eq!(distinct("unknown", 9), 9);
        assert!(replies("silent", 3).iter().all(|r| *r == Reply::default()));
        assert!(called(&replies("forbidden", 4)).iter().all(|(tool, _)| tool == "read_file"));
        for (tool, arguments) in called(&replies("malformed", 8)) {
            assert!(["list_files", "read_file"].contains(&tool.as_str()));
            let parsed = serde_json::from_str::<Value>(&arguments);
            assert!(arguments.matches("path").count() == 2 || parsed.is_err() || !parsed.unwrap().is_object());
        }
    }

    #[test]
    fn the_same_views_get_the_same_replies_and_nobody_advances() {
        for (kind, _) in Kind::ALL {
            assert_eq!(replies(kind, 12), replies(kind, 12));
            assert!(called(&replies(kind, 12)).iter().all(|(tool, _)| tool != "advance"), "{kind}");
        }
    }

    #[test]
    fn an_unknown_kind_names_the_near_one() {
        let said = |text: &str| text.parse::<Kind>().unwrap_err().to_string();
        assert_eq!(said("pingpong"), "unknown kind `pingpong` in `chaos:pingpong`; did you mean `ping-pong`?");
        assert!(
            said("zzz")
                .ends_with("the kinds are repeat, ping-pong, forbidden, unknown, malformed, flood, silent, never-ends")
        );
    }
}
