//! What ran in earlier replies, for `called`, `succeeded` and `times` in conditions.

use std::sync::Arc;

/// Most calls remembered; the oldest goes first.
pub const MAX_PAST: usize = 10_000;

/// One call that ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ran {
    /// The tool.
    pub tool: crate::table::Name,
    /// Its arguments.
    pub args: serde_json::Value,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// The calls of earlier replies, and those of the reply under way, which conditions do not see yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    earlier: Arc<Vec<Ran>>,
    now: Vec<Ran>,
}

impl Past {
    /// A history of these calls.
    #[must_use]
    pub fn of(earlier: Vec<Ran>) -> Self {
        Self { earlier: Arc::new(earlier), now: Vec::new() }
    }

    /// The calls of the reply under way.
    #[must_use]
    pub fn now(&self) -> &[Ran] {
        &self.now
    }

    /// Notes a call that ran in the reply under way.
    pub fn ran(&mut self, call: Ran) {
        self.now.push(call);
    }

    /// The reply is over: its calls are history.
    pub fn reply_done(&mut self) {
        if self.now.is_empty() {
            return;
        }
        let earlier = Arc::make_mut(&mut self.earlier);
        earlier.append(&mut self.now);
        let over = earlier.len().saturating_sub(MAX_PAST);
        earlier.drain(..over);
    }

    /// The calls of earlier replies.
    #[must_use]
    pub fn earlier(&self) -> Arc<Vec<Ran>> {
        Arc::clone(&self.earlier)
    }
}

/// Calls of `tool` whose arguments hold every one of `wanted`.
pub fn matching<'a>(
    past: &'a [Ran],
    tool: &'a str,
    wanted: &'a [(String, serde_json::Value)],
) -> impl Iterator<Item = &'a Ran> {
    past.iter()
        .filter(move |ran| &*ran.tool == tool && wanted.iter().all(|(name, value)| ran.args.get(name) == Some(value)))
}
