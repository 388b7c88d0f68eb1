//! Where a run stands, in one row: what `runs` lists without reading records.

use crate::engine::event::Event;
use crate::engine::input::Input;
use crate::engine::outcome::Outcome;
use crate::engine::session::Record;
use serde::Serialize;

pub use crate::engine::summary::NEAR;

/// Where a run stands, taken from its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    /// How it ended, or why it pauses.
    pub outcome: Option<Outcome>,
    /// The current or last stage.
    pub stage: String,
    /// Steps charged.
    pub steps: u32,
    /// Steps it cannot exceed.
    pub ceiling: u32,
    /// Whether the last reply within the run's budget held calls.
    pub calling: bool,
    /// Nested runs under way, whose stages are not this run's.
    nested: usize,
}

impl RunState {
    /// Takes in a record.
    pub fn see(&mut self, record: &Record) {
        let closing = record.events.iter().any(|e| matches!(e, Event::RunEnded { .. }));
        if let Input::Reply(reply) = &record.input
            && (!closing || !reply.calls.is_empty())
        {
            self.calling = !reply.calls.is_empty();
        }
        for event in &record.events {
            self.event(event);
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::ChildOpened { .. } => self.nested += 1,
            Event::ChildClosed { .. } => self.nested = self.nested.saturating_sub(1),
            Event::Paused { outcome, .. } => self.outcome = Some(*outcome),
            Event::Resumed => self.outcome = None,
            _ if self.nested > 0 => {}
            Event::RunStarted { ceiling, .. } => self.ceiling = *ceiling,
            Event::BudgetGranted { steps, .. } => self.ceiling = self.ceiling.saturating_add(*steps),
            Event::StepCharged { step, stage, .. } => {
                self.steps = *step;
                self.stage = stage.to_string();
            }
            Event::StageEntered { stage, .. } => self.stage = stage.to_string(),
            Event::RunEnded { outcome, .. } => self.outcome = Some(*outcome),
            _ => {}
        }
    }

    /// Whether it came within [`NEAR`] steps of its ceiling and still called tools.
    #[must_use]
    pub fn near_limit(&self) -> bool {
        self.calling && self.outcome != Some(Outcome::Completed) && self.steps.saturating_add(NEAR) >= self.ceiling
    }
}

/// One run of a list; keys as `runs --format json` prints them (design §12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredRun {
    /// Its id.
    pub run: String,
    /// The table's name.
    pub workflow: String,
    /// How it ended or why it pauses; `None` while it runs, or was interrupted.
    pub outcome: Option<Outcome>,
    /// The current or last stage.
    pub stage: String,
    /// Steps charged.
    pub steps: u32,
    /// Steps it cannot exceed.
    pub ceiling: u32,
    /// Within [`NEAR`] steps of the ceiling and still calling.
    pub near_limit: bool,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// When it was last written.
    pub updated: u64,
}
