//! The calls of the reply under way, each on its way to its one answer.

use super::core::{Proposed, Target};
use super::event::Judged;
use super::guard::{Seen, Telling};
use super::input::{CallNo, ProposedCall, ToolResult};
use super::roster::ToolIdx;
use super::verdict::{Ask, Ruling, Ticket, Verdict};
use crate::table::{Name, StageId};
use std::sync::Arc;

/// How far a call is.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// A ticket is out.
    Running,
    /// A person is asked.
    Asked,
    /// A nested run answers it: opened in its turn.
    Nested,
    /// The result is there, but an earlier call is not answered yet.
    Arrived(ToolResult),
    /// It gets the answer of an earlier call of this reply.
    Shared(CallNo),
    /// It gets an earlier result.
    Memory(CallNo, Telling),
    /// Its answer is known: text, and whether it is an error.
    Ready(Arc<str>, bool),
    /// It is answered.
    Answered(Arc<str>, bool),
}

/// One call of the reply under way.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub no: CallNo,
    pub call: ProposedCall,
    pub proposed: Proposed,
    /// The tool's name, resolved where it is known.
    pub name: Name,
    pub tool: Option<ToolIdx>,
    /// The stage it was judged in.
    pub stage: StageId,
    pub seen: Option<Seen>,
    pub judged: Judged,
    /// It is a nested run.
    pub nested: bool,
    pub state: State,
    /// Hints of rules that go with the answer.
    pub hints: Vec<String>,
}

/// What is kept of a result for memory.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub text: Arc<str>,
    pub print: u64,
    pub failed: bool,
}

/// A call as the digest shows it.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub tool: Name,
    pub args: String,
    pub came_to: String,
}

impl Slot {
    pub fn ruling(&self) -> Ruling {
        let verdict = match (&self.judged, &self.state) {
            (Judged::Ask { question, .. }, State::Asked) => {
                Verdict::Ask(Ask { call: self.no, question: question.clone() })
            }
            (Judged::Run, _) if self.proposed.what == Some(Target::Advance) => Verdict::Advance,
            (Judged::Run | Judged::Ask { .. }, _) if self.nested => Verdict::Nested,
            (Judged::Run | Judged::Ask { .. }, _) => Verdict::Run(Ticket(self.no)),
            (Judged::Reuse { of, .. }, _) => Verdict::Reuse { of: *of },
            (Judged::Refuse { check, hint, .. }, _) => Verdict::Refuse { check: *check, hint: hint.clone() },
        };
        Ruling { no: self.no, call: self.call.clone(), tool: Arc::clone(&self.name), verdict }
    }
}
