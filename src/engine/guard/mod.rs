//! The guards: built-in watches over the loop, one pure rule a file. This file holds what they share.
//!
//! The identity guards (`duplicate`, `cycle`, `no_progress`) stand behind [`Identities`] with a closed set of answers,
//! so that a proof can put an oracle in their place.

pub mod conservative;
pub mod cycle;
pub mod duplicate;
pub mod errors;
pub mod no_progress;
pub mod same_tool;
pub mod violations;
pub mod watch;

use super::args::Identity;
use super::input::CallNo;
use crate::table::model::{Effect, Guards};
use std::fmt::Debug;
use std::hash::Hash;

pub use watch::Watch;

/// The guards by name, as in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// The same call again.
    Duplicate,
    /// The same calls in turn.
    Cycle,
    /// Results that were there already.
    NoProgress,
    /// One tool failing in a row.
    Errors,
    /// One tool in a row.
    SameTool,
    /// Few steps left.
    Conservative,
    /// Forbidden calls.
    Violations,
}

impl Guard {
    /// The name in tables and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Cycle => "cycle",
            Self::NoProgress => "no_progress",
            Self::Errors => "errors",
            Self::SameTool => "same_tool",
            Self::Conservative => "conservative",
            Self::Violations => "violations",
        }
    }
}

/// What a guard wants once the reply's last call is answered. Ordered by strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Then {
    /// Nothing more.
    #[default]
    Nothing,
    /// Back to the checkpoint.
    RollBack,
    /// Leave the stage as if its budget were spent.
    Leave,
    /// Close the run.
    Close,
}

/// What the model is told with a result or instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Telling {
    /// The information is already there.
    Known,
    /// A write whose answer was cut from view was done.
    AlreadyDone,
    /// The same call was answered from memory and comes again.
    Repeated,
    /// This write failed twice the same way.
    FailsTheSame,
    /// The second run brought the same result.
    SameResult,
    /// These calls go round in a circle.
    Circle,
    /// Nothing new for some calls.
    NothingNew,
    /// One tool keeps failing.
    KeepsFailing,
}

/// The answer of the identity guards to a call that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// No objection.
    Pass,
    /// Answer it with an earlier result.
    Reuse {
        /// Whose.
        of: CallNo,
        /// What to say.
        telling: Telling,
    },
    /// Refuse it.
    Refuse {
        /// Which guard.
        guard: Guard,
        /// What to say.
        telling: Telling,
        /// What follows.
        then: Then,
    },
}

/// What the identity guards found in a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Noted {
    /// Its identity already gave this result.
    pub same: bool,
    /// Who speaks, what is said with the result, what follows, and whether it is only observed.
    pub fired: Vec<Fired>,
}

/// A guard that spoke at a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fired {
    /// Which.
    pub guard: Guard,
    /// What is said with the result.
    pub telling: Option<Telling>,
    /// What follows.
    pub then: Then,
    /// Recorded only.
    pub observed: bool,
}

/// What the identity guards know of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The engine's number.
    pub no: CallNo,
    /// Tool and arguments.
    pub identity: Identity,
    /// The tool's effect.
    pub effect: Effect,
    /// Identical calls that may run before any guard speaks.
    pub repeats: u32,
    /// A call judged *run* in this very reply may change what this one reads.
    pub unsettled: bool,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Done {
    /// It failed.
    pub failed: bool,
    /// Nobody knows whether it took effect.
    pub unknown: bool,
    /// The fingerprint of its masked result.
    pub result: u64,
    /// It did not run: an earlier result was used.
    pub from_memory: bool,
}

/// The identity guards as the core sees them.
pub trait Identities: Clone + Debug + Eq + Hash {
    /// Looks at a call that nothing before objects to. `observed` takes what a guard in `observe` mode would have said.
    fn look(&mut self, call: &Seen, guards: &Guards, observed: &mut Vec<Look>) -> Look;
    /// Notes how a call came out.
    fn note(&mut self, call: &Seen, done: &Done, guards: &Guards) -> Noted;
    /// The answers of these calls left the view.
    fn view_cut(&mut self, gone: &dyn Fn(CallNo) -> bool);
    /// Whether this very call ran before.
    fn has_run(&self, identity: Identity) -> bool;
}
