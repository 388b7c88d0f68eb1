//! One recorded run, whatever format it came from.

use crate::engine::args::fingerprint;
use crate::engine::input::{Input, Reply, Status};
use std::collections::HashMap;

/// Longest result text that is kept, in bytes; of a longer one its beginning, length and fingerprint.
pub const MAX_RESULT: usize = 64 * 1024;
/// Result texts kept of one run, in bytes; beyond it a result is only its length and fingerprint.
pub const MAX_TEXTS: usize = 32 * 1024 * 1024;
/// Most calls of one run; later ones are left out and reported.
pub const MAX_CALLS: usize = 50_000;
/// Longest id, source or model, in bytes.
pub const MAX_NAME: usize = 200;

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Its id; `FILE:LINE` when the recording has none.
    pub id: String,
    /// Where it was recorded; empty when unknown.
    pub source: String,
    /// Which model; empty when unknown.
    pub model: String,
    /// Whether it succeeded, where the recording says so.
    pub success: Option<bool>,
    /// The task, where the recording holds it.
    pub task: String,
    /// The line it begins in, from 1.
    pub line: u64,
    /// Replies that hold calls, in order; of our own traces all replies.
    pub turns: Vec<Turn>,
    /// Facts that the host set before the start, where the recording holds them.
    pub facts: Vec<(String, serde_json::Value)>,
    /// Steps spent in each stage, in the order of the stages; only of our own traces.
    pub spent: Vec<(String, u32)>,
    /// Calls beyond `MAX_CALLS`.
    pub left_out: usize,
}

/// One model reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its calls, in the model's order.
    pub calls: Vec<RecordedCall>,
    /// What else our own traces say of it.
    pub around: Option<Box<Around>>,
}

/// What a trace of ours holds beside calls and results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// What came from the user, the host or the clock before the reply.
    pub before: Vec<Input>,
    /// The reply without its calls.
    pub reply: Reply,
}

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedCall {
    /// The provider's id; may be empty or repeat.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments as raw text.
    pub arguments: String,
    /// What came back, where the recording holds it.
    pub result: Option<Recorded>,
}

/// A recorded result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Its text: equal for equal results, different for different ones.
    pub text: String,
    /// How it ended; `Ok` where the recording does not say.
    pub status: Status,
}

impl Recording {
    /// All calls in order.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.turns.iter().map(|turn| turn.calls.len()).sum()
    }
}

/// Puts a recording together, event by event.
#[derive(Debug, Default)]
pub struct Builder {
    made: Recording,
    /// The reply under way, as its format tells replies apart.
    turn: Option<String>,
    /// Calls without a result: id → the last such call.
    open: HashMap<String, (usize, usize)>,
    calls: usize,
    texts: usize,
}

impl Builder {
    /// Begins a run at a line.
    pub fn new(line: u64) -> Self {
        Self { made: Recording { line, ..Recording::default() }, ..Self::default() }
    }

    /// The run so far, for its names and labels.
    pub fn head(&mut self) -> &mut Recording {
        &mut self.made
    }

    /// Begins the reply `turn`, which may hold no call at all.
    pub fn reply(&mut self, turn: &str, around: Around) {
        if self.made.turns.len() < MAX_CALLS {
            self.made.turns.push(Turn { calls: Vec::new(), around: Some(Box::new(around)) });
            self.turn = Some(turn.to_owned());
        }
    }

    /// Adds a call to the reply `turn`; another name is another reply.
    pub fn call(&mut self, turn: &str, call: RecordedCall) {
        if self.calls >= MAX_CALLS {
            self.made.left_out += 1;
            return;
        }
        if self.turn.as_deref() != Some(turn) || self.made.turns.is_empty() {
            self.made.turns.push(Turn::default());
            self.turn = Some(turn.to_owned());
        }
        self.calls += 1;
        let at = self.made.turns.len().saturating_sub(1);
        if let Some(turn) = self.made.turns.last_mut() {
            self.open.insert(call.id.clone(), (at, turn.calls.len()));
            turn.calls.push(call);
        }
    }

    /// Adds the result of the last call with this id that has none yet. One that fits no call is left out.
    pub fn result(&mut self, id: &str, text: String, status: Status) {
        let Some((turn, call)) = self.open.remove(id) else { return };
        let text = self.kept(text);
        if let Some(call) = self.made.turns.get_mut(turn).and_then(|turn| turn.calls.get_mut(call)) {
            call.result = Some(Recorded { text, status });
        }
    }

    /// The finished run; `fallback` names it when the recording does not.
    pub fn finish(mut self, fallback: impl FnOnce(u64) -> String) -> Recording {
        if self.made.id.is_empty() {
            self.made.id = fallback(self.made.line);
        }
        for name in [&mut self.made.id, &mut self.made.source, &mut self.made.model] {
            cut(name, MAX_NAME);
        }
        self.made
    }

    fn kept(&mut self, mut text: String) -> String {
        let most = MAX_RESULT.min(MAX_TEXTS.saturating_sub(self.texts));
        if text.len() > most {
            let mark = format!("\n[cut: {} bytes, {:032x}]", text.len(), fingerprint(&text));
            cut(&mut text, most);
            text.push_str(&mark);
            text.shrink_to_fit();
        }
        self.texts += text.len();
        text
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
    }
}
