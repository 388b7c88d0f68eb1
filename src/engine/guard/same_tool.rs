//! `same_tool`: one tool in a row, counted in replies.

use crate::engine::roster::ToolIdx;
use crate::table::model::SameToolGuard;

/// The tool of the last replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Streak {
    pub(crate) tool: Option<ToolIdx>,
    pub(crate) replies: u32,
    /// What ran in the reply under way: nothing, one tool, several.
    pub(crate) now: Vec<ToolIdx>,
}

impl Streak {
    /// Whether `tool` was used in so many replies in a row that it is refused now.
    #[must_use]
    pub fn refuses(&self, tool: ToolIdx, guard: SameToolGuard) -> bool {
        guard.in_a_row > 0 && self.tool == Some(tool) && self.replies >= guard.in_a_row
    }

    /// Notes a call that runs.
    pub fn ran(&mut self, tool: ToolIdx) {
        if !self.now.contains(&tool) {
            self.now.push(tool);
        }
    }

    /// The tool of the last replies was another.
    pub(crate) fn forget(&mut self) {
        (self.tool, self.replies) = (None, 0);
    }

    /// Closes the reply: a reply that ran another tool, or several, starts again; one that ran nothing changes nothing.
    pub fn reply_done(&mut self) {
        match self.now.as_slice() {
            [] => {}
            [tool] if self.tool == Some(*tool) => self.replies += 1,
            [tool] => (self.tool, self.replies) = (Some(*tool), 1),
            _ => (self.tool, self.replies) = (None, 0),
        }
        self.now.clear();
    }
}
