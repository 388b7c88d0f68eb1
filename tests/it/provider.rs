//! The models: a strict server of our own, the keyword agent in a small world, the texts that name models.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests may fail loudly, read files and look at the clock"
)]

mod builtin;
mod openai;
mod runs;
pub(super) mod server;
mod spec;
