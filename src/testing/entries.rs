//! The `script` and `tools` of a scenario file.

use super::reader::Reader;
use super::script::{Answer, Entry, Failure, HostEntry, MAX_BYTES, Script, ScriptedCall, ScriptedReply};
use crate::engine::input::Finish;
use crate::table::report::quoted;
use crate::table::yaml::{self, Kind, Node};

/// Most entries of a script, repeats counted.
const MAX_ENTRIES: usize = 20_000;
/// Most calls of one reply.
const MAX_CALLS: usize = 10_000;

/// Keys of a reply.
const REPLY: &[&str] = &["text", "call", "calls", "raw", "empty", "declines", "cut"];
/// Keys that stand alone.
const ALONE: &[&str] = &["fails", "user", "approve", "fact", "wait", "cancel", "repeat"];
/// Keys of a call.
const CALL: &[&str] = &["tool", "args", "arguments", "result", "id"];

impl Reader {
    /// `tools`: the answers of each tool, in order.
    pub(super) fn answers(&mut self, node: &Node, script: &mut Script) {
        for entry in self.entries(node, "`tools`") {
            let answers = self.one_or_list(&entry.value).iter().map(|n| self.answer(n)).collect();
            script.tools.insert(entry.key.clone(), answers);
        }
    }

    /// Text, `{ error: text }`, `{ hang: true }`, `{ bytes: N }`, or any other JSON value.
    fn answer(&mut self, node: &Node) -> Answer {
        if let Kind::Scalar { text, plain: false } = &node.kind {
            return Answer::Text(text.clone());
        }
        if let Kind::Map(entries) = &node.kind
            && let [only] = entries.as_slice()
        {
            match only.key.as_str() {
                "error" => return Answer::Error(self.text(&only.value, "`error`")),
                "hang" => {
                    self.yes(&only.value, "`hang`");
                    return Answer::Hang;
                }
                "bytes" => {
                    let bytes = self.number(&only.value, "`bytes`", MAX_BYTES as u64);
                    return Answer::Bytes(usize::try_from(bytes).unwrap_or_default());
                }
                _ => {}
            }
        }
        match node.scalar() {
            Some(text) => Answer::Text(text.to_owned()),
            None => Answer::Text(self.json_text(node)),
        }
    }

    /// `script`: the entries in order, repeats written out.
    pub(super) fn script(&mut self, node: &Node, script: &mut Script) {
        for item in self.list(node, "`script`") {
            if script.entries.len() >= MAX_ENTRIES {
                let help = "`then: repeat` repeats the last entry for ever";
                self.wrong(item.place, format!("the script has more than {MAX_ENTRIES} entries"), help);
                return;
            }
            self.entry(item, script);
        }
    }

    fn entry(&mut self, node: &Node, script: &mut Script) {
        if let Some(word) = node.scalar() {
            match word {
                "empty" => script.entries.push(Entry::Reply(ScriptedReply::default())),
                "declines" => script.entries.push(declines("")),
                "cancel" => script.entries.push(Entry::Host(HostEntry::Cancel)),
                _ => {
                    let help = "an entry is a mapping, such as `call: { tool: NAME }` or `text: …`";
                    self.wrong(node.place, format!("{} is no entry of a script", quoted(word)), help);
                }
            }
            return;
        }
        let known: Vec<&'static str> = REPLY.iter().chain(ALONE).copied().collect();
        let parts = self.known(node, "an entry of a script", &known);
        let Some((first, entry)) = parts.first().copied() else {
            if matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
                self.wrong(node.place, "this entry says nothing", "write `empty` for a reply without text and calls");
            }
            return;
        };
        if let Some((other, entry)) = parts.iter().find(|(key, _)| ALONE.contains(key)).filter(|_| parts.len() > 1) {
            let help = "make it an entry of its own";
            self.wrong(entry.place, format!("`{other}` stands beside other keys of an entry"), help);
            return;
        }
        if ALONE.contains(&first) {
            self.alone(first, &entry.value, script);
        } else {
            let reply = self.reply(&parts);
            script.entries.push(Entry::Reply(reply));
        }
    }

    fn alone(&mut self, key: &str, value: &Node, script: &mut Script) {
        let host = match key {
            "fails" => {
                let failure = self.failure(value);
                script.entries.push(Entry::Fails(failure));
                return;
            }
            "repeat" => return self.repeat(value, script),
            "user" => HostEntry::User(self.text(value, "`user`")),
            "approve" => HostEntry::Approve(self.yes(value, "`approve`")),
            "wait" => HostEntry::Wait { ms: self.duration(value, "`wait`") },
            "fact" => {
                let facts = self.entries(value, "`fact`").iter();
                HostEntry::Facts(facts.map(|e| (e.key.clone(), self.fact(&e.value))).collect())
            }
            _ => {
                self.only_yes(value, key);
                HostEntry::Cancel
            }
        };
        script.entries.push(Entry::Host(host));
    }

    /// A fact's value; `null` unsets it.
    pub(super) fn fact(&mut self, node: &Node) -> Option<serde_json::Value> {
        Some(self.json(node)).filter(|value| !value.is_null())
    }

    /// `cancel:` and its like may have `true` or nothing behind them.
    fn only_yes(&mut self, value: &Node, key: &str) {
        if !matches!(value.kind, Kind::Null) && !self.yes(value, &format!("`{key}`")) {
            self.wrong(value.place, format!("`{key}: no` says nothing"), "leave the entry out");
        }
    }

    fn failure(&mut self, value: &Node) -> Failure {
        if value.scalar() == Some("overflow") {
            return Failure::Overflow;
        }
        match value.scalar().and_then(|text| text.parse::<u16>().ok()) {
            Some(status @ 100..=599) => Failure::Status(status),
            _ => {
                let help = "write an HTTP status such as 429, or `overflow`";
                self.wrong(value.place, "`fails` takes the status of the answer", help);
                Failure::Status(0)
            }
        }
    }

    fn repeat(&mut self, value: &Node, script: &mut Script) {
        let mut times = 0;
        let mut part = Script::new();
        let before = self.report.errors();
        let mut has_script = false;
        for (key, entry) in self.known(value, "`repeat`", &["times", "script"]) {
            if key == "times" {
                times = self.number(&entry.value, "`times`", MAX_ENTRIES as u64);
            } else {
                has_script = true;
                self.script(&entry.value, &mut part);
            }
        }
        if self.report.errors() > before {
            return;
        }
        let times = usize::try_from(times).unwrap_or_default();
        if times == 0 || !has_script {
            let help = "write `repeat: { times: 3, script: [...] }`";
            self.wrong(value.place, "`repeat` needs `times` from 1 and a `script`", help);
            return;
        }
        if part.entries.len().saturating_mul(times).saturating_add(script.entries.len()) > MAX_ENTRIES {
            let said = format!("the script would have more than {MAX_ENTRIES} entries");
            self.wrong(value.place, said, "repeat less often");
            return;
        }
        for _ in 0..times {
            script.entries.extend(part.entries.iter().cloned());
        }
    }

    fn reply(&mut self, parts: &[(&'static str, &yaml::Entry)]) -> ScriptedReply {
        let mut reply = ScriptedReply::default();
        for (key, entry) in parts {
            let value = &entry.value;
            match *key {
                "text" => reply.text = self.text(value, "`text`"),
                "call" => reply.calls.push(self.call(value)),
                "calls" => {
                    let calls = self.list(value, "`calls`");
                    if calls.len() > MAX_CALLS {
                        let said = format!("a reply has more than {MAX_CALLS} calls");
                        self.wrong(value.place, said, "propose fewer");
                    }
                    for call in calls.iter().take(MAX_CALLS) {
                        reply.calls.push(self.call(call));
                    }
                }
                "raw" => {
                    for call in self.one_or_list(value) {
                        reply.calls.push(self.call(call));
                    }
                }
                "declines" => {
                    reply.finish = Finish::Refusal;
                    self.said_beside(value, &mut reply);
                }
                "cut" => {
                    reply.finish = Finish::Length;
                    self.said_beside(value, &mut reply);
                }
                // `empty`
                _ => self.only_yes(value, key),
            }
        }
        reply
    }

    /// `declines: TEXT` and `cut: TEXT` may hold the text, `true` or nothing.
    fn said_beside(&mut self, value: &Node, reply: &mut ScriptedReply) {
        match &value.kind {
            Kind::Null => {}
            _ if value.scalar() == Some("true") => {}
            _ => reply.text = self.text(value, "the text"),
        }
    }

    fn call(&mut self, node: &Node) -> ScriptedCall {
        let mut call = ScriptedCall::default();
        let mut named = false;
        for (key, entry) in self.known(node, "a call", CALL) {
            let value = &entry.value;
            match key {
                "tool" => {
                    named = true;
                    call.tool = self.text(value, "`tool`");
                }
                "args" => {
                    if !matches!(value.kind, Kind::Map(_)) {
                        let help = "malformed arguments are written as text: `raw: { tool: NAME, arguments: TEXT }`";
                        self.wrong(value.place, "`args` is not a mapping", help);
                    }
                    call.arguments = self.json_text(value);
                }
                "arguments" => call.arguments = self.text(value, "`arguments`"),
                "result" => call.answer = Some(self.answer(value)),
                _ => call.id = Some(self.text(value, "`id`")),
            }
        }
        if !named && matches!(node.kind, Kind::Map(_)) {
            self.wrong(node.place, "a call without a `tool`", "write `call: { tool: NAME, args: { … } }`");
        }
        call
    }
}

fn declines(text: &str) -> Entry {
    Entry::Reply(ScriptedReply { text: text.to_owned(), calls: Vec::new(), finish: Finish::Refusal })
}
