//! The checked stage table: what the engine reads. Built only by the loader, so every index in it is valid.

mod guards;
mod rules;
mod stages;
mod tools;
mod whole;

pub use guards::{
    ConservativeGuard, CycleGuard, ErrorsGuard, Guards, Mode, NoProgressGuard, SameToolGuard, ViolationsGuard,
};
pub use rules::{Action, At, Rule};
pub use stages::{Allowed, LeaveBy, Next, OnExhausted, Stage};
pub use tools::{Effect, FactDecl, FactFrom, FactValue, Keep, NestedRun, Spend, ToolEntry};
pub use whole::{Batch, Expose, Finish, Guarantee, Limits, Model, Source, StageTable};
