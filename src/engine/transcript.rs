//! What the model sees, and the checkpoint of the stage.

use super::input::{CallNo, ProposedCall};
use super::view::Message;
use std::sync::Arc;

/// The messages so far.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    messages: Vec<Message>,
    /// Which call a message answers.
    calls: Vec<Option<CallNo>>,
    checkpoint: usize,
    /// The first call number after the checkpoint.
    first_call: CallNo,
}

impl Default for CallNo {
    fn default() -> Self {
        Self(1)
    }
}

impl Transcript {
    /// The messages in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// From the task, the user or us.
    pub fn user(&mut self, text: String) {
        self.push(Message::User { text }, None);
    }

    /// A reply.
    pub fn assistant(&mut self, text: String, calls: Vec<ProposedCall>) {
        self.push(Message::Assistant { text, calls }, None);
    }

    /// The answer to a call.
    pub fn tool(&mut self, no: CallNo, id: String, tool: String, text: Arc<str>, error: bool) {
        self.push(Message::Tool { id, tool, text, error }, Some(no));
    }

    fn push(&mut self, message: Message, call: Option<CallNo>) {
        self.messages.push(message);
        self.calls.push(call);
    }

    /// The stage was entered here; the next call will have this number.
    pub fn set_checkpoint(&mut self, next_call: CallNo) {
        self.checkpoint = self.messages.len();
        self.first_call = next_call;
    }

    /// Goes back to the checkpoint. Returns how many messages left and the first call number that left with them.
    pub fn roll_back(&mut self) -> (usize, CallNo) {
        let dropped = self.messages.len().saturating_sub(self.checkpoint);
        self.messages.truncate(self.checkpoint);
        self.calls.truncate(self.checkpoint);
        (dropped, self.first_call)
    }

    /// Results after the checkpoint.
    #[must_use]
    pub fn results_here(&self) -> usize {
        self.calls.iter().skip(self.checkpoint).flatten().count()
    }

    /// The last tool result after the checkpoint that is no error.
    #[must_use]
    pub fn last_result(&self) -> Option<Arc<str>> {
        self.messages.iter().skip(self.checkpoint).rev().find_map(|m| match m {
            Message::Tool { text, error: false, .. } => Some(Arc::clone(text)),
            _ => None,
        })
    }

    /// All but the last `keep` results are replaced by `instead`. Returns the calls whose results left.
    pub fn forget(&mut self, keep: usize, instead: &Arc<str>) -> Vec<CallNo> {
        let mut gone = Vec::new();
        let answers = self.messages.iter_mut().zip(&self.calls).rev();
        let results = answers.filter_map(|(m, no)| match (m, no) {
            (Message::Tool { text, .. }, Some(no)) => Some((text, *no)),
            _ => None,
        });
        for (text, no) in results.skip(keep) {
            if *text != *instead {
                *text = Arc::clone(instead);
                gone.push(no);
            }
        }
        gone
    }

    /// Cuts every result to `most` characters by `cut`. Returns how many were cut.
    pub fn shorten(&mut self, most: usize, cut: impl Fn(&str) -> String) -> usize {
        let mut count = 0;
        for message in &mut self.messages {
            if let Message::Tool { text, .. } = message
                && text.chars().nth(most).is_some()
            {
                *text = cut(text).into();
                count += 1;
            }
        }
        count
    }
}
