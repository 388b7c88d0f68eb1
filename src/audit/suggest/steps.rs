//! A recorded run laid out call by call, for measuring.

use crate::audit::recording::{RecordedCall, Recording, Turn};
use crate::engine::args::{Identity, fingerprint, identity};
use crate::engine::input::Status;
use crate::table::StageTable;
use crate::table::model::{Effect, ToolEntry};
use std::borrow::Cow;
use std::collections::HashSet;

/// Characters of a token, where a recording counts none.
pub(super) const CHARS_PER_TOKEN: u64 = 4;

/// One call of a recorded run.
pub(super) struct Step<'r> {
    pub(super) call: &'r RecordedCall,
    pub(super) identity: Identity,
    /// The fingerprint of the result, masked as the table says; `None` when none was recorded.
    pub(super) result: Option<u128>,
    pub(super) failed: bool,
    /// Its identity gave this very result before, or it came again and brought none, and no declared write succeeded in
    /// between.
    pub(super) stale: bool,
    /// Declared `effect: poll`: expected to be asked again.
    pub(super) poll: bool,
    /// Its share of what the reply cost, or an estimate.
    pub(super) tokens: u64,
    pub(super) estimated: bool,
}

impl<'r> Step<'r> {
    /// The tool, as the model named it.
    pub(super) fn tool(&self) -> &'r str {
        &self.call.tool
    }

    /// It came back, and not as an error.
    pub(super) fn is_good(&self) -> bool {
        self.result.is_some() && !self.failed
    }

    /// Whether it is the same call as another one and brought nothing else. A call without a recorded result, which our own
    /// traces hold when it was refused or answered from memory, brought nothing.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let same = self.result == other.result || self.result.is_none() || other.result.is_none();
        same && self.identity == other.identity
    }
}

/// The calls of a run in order.
pub(super) fn lay_out<'r>(table: &StageTable, run: &'r Recording) -> Vec<Step<'r>> {
    let mut steps = Vec::with_capacity(run.calls());
    let mut given: HashSet<(Identity, Option<u128>)> = HashSet::new();
    for turn in &run.turns {
        for call in &turn.calls {
            let entry = table.tool_entry(&call.tool);
            let mut step = step(entry, turn, call);
            // That it was made at all is remembered, too: what comes again without a result brings nothing.
            step.stale = !given.insert((step.identity, step.result));
            given.insert((step.identity, None));
            if step.is_good() && entry.is_some_and(|entry| entry.effect == Effect::Write) {
                given.clear();
            }
            steps.push(step);
        }
    }
    steps
}

fn step<'r>(entry: Option<&ToolEntry>, turn: &Turn, call: &'r RecordedCall) -> Step<'r> {
    let ignored = entry.map_or(&[][..], |entry| &entry.ignore_args);
    // Arguments that are no object are compared as they were written.
    let identity = identity(&call.tool, &call.arguments, ignored)
        .unwrap_or_else(|_| Identity(fingerprint(&format!("{}\0{}", call.tool, call.arguments))));
    let text = call.result.as_ref().map_or("", |result| &result.text);
    let masks = entry.map_or(&[][..], |entry| &entry.mask);
    let masked = masks.iter().fold(Cow::Borrowed(text), |t, mask| Cow::Owned(mask.replace_all(&t, "").into_owned()));
    let (tokens, estimated) = tokens(turn, call, text);
    Step {
        call,
        identity,
        result: call.result.is_some().then(|| fingerprint(&masked)),
        failed: call.result.as_ref().is_some_and(|result| result.status == Status::Error),
        stale: false,
        poll: entry.is_some_and(|entry| entry.effect == Effect::Poll),
        tokens,
        estimated,
    }
}

fn tokens(turn: &Turn, call: &RecordedCall, text: &str) -> (u64, bool) {
    let usage = turn.around.as_ref().map(|around| around.reply.usage).unwrap_or_default();
    match usage.input.saturating_add(usage.output) {
        0 => {
            let chars = call.arguments.chars().count() + text.chars().count();
            ((chars as u64).div_ceil(CHARS_PER_TOKEN), true)
        }
        all => (all / (turn.calls.len() as u64).max(1), false),
    }
}
