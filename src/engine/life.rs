//! The life cycle of a run, as a statig machine. Stages are data; they are no states of it.
//!
//! Entering a stage is a function of the core, never an entry action here: those do not run again between leaves of one
//! superstate and do run again after deserialising.
#![expect(missing_docs, reason = "statig's macro writes public items of its own")]

use super::outcome::Outcome;
use statig::prelude::*;
use std::hash::{Hash, Hasher};

/// What moves the life cycle.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// A reply was judged; calls are open.
    Opened,
    /// The last open call was answered.
    Answered,
    /// The run waits.
    Paused(Outcome),
    /// The run goes on.
    Resumed,
    /// The run ended.
    Ended(Outcome),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle;

#[state_machine(
    initial = "State::awaiting_reply()",
    state(derive(Clone, Debug, PartialEq, Eq, Hash)),
    superstate(derive(Debug))
)]
impl Cycle {
    #[superstate]
    fn running(event: &Turn) -> statig::Outcome<State> {
        match event {
            Turn::Ended(outcome) => Transition(State::ended(*outcome)),
            Turn::Paused(outcome) => Transition(State::paused(*outcome)),
            Turn::Opened | Turn::Answered | Turn::Resumed => Handled,
        }
    }

    #[state(superstate = "running")]
    fn awaiting_reply(event: &Turn) -> statig::Outcome<State> {
        match event {
            Turn::Opened => Transition(State::calls_open()),
            _ => Super,
        }
    }

    #[state(superstate = "running")]
    fn calls_open(event: &Turn) -> statig::Outcome<State> {
        match event {
            Turn::Answered => Transition(State::awaiting_reply()),
            _ => Super,
        }
    }

    #[state(superstate = "running")]
    fn paused(outcome: &Outcome, event: &Turn) -> statig::Outcome<State> {
        let _ = outcome;
        match event {
            Turn::Resumed => Transition(State::awaiting_reply()),
            Turn::Opened => Transition(State::calls_open()),
            _ => Super,
        }
    }

    #[state]
    fn ended(outcome: &Outcome, event: &Turn) -> statig::Outcome<State> {
        let _ = (outcome, event);
        Handled
    }
}

/// Where a run stands in its life.
#[derive(Clone, PartialEq, Eq)]
pub struct Life(statig::blocking::InitializedStateMachine<Cycle>);

impl Hash for Life {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.state().hash(state);
    }
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.state().fmt(f)
    }
}

impl Life {
    /// A run that waits for its first reply.
    #[must_use]
    pub fn begin() -> Self {
        Self(Cycle.uninitialized_state_machine().init())
    }

    /// Moves on.
    pub fn turn(&mut self, turn: Turn) {
        self.0.handle(&turn);
    }

    /// The end or the pause, if it is one.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.0.state() {
            State::AwaitingReply {} | State::CallsOpen {} => None,
            State::Paused { outcome } | State::Ended { outcome } => Some(*outcome),
        }
    }

    /// Whether nothing can happen any more.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.0.state(), State::Ended { .. })
    }

    /// Whether calls of the last reply are open.
    #[must_use]
    pub fn has_open_calls(&self) -> bool {
        matches!(self.0.state(), State::CallsOpen {})
    }
}
