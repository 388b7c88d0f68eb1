//! The models: a strict server of our own, the keyword agent in a small world, the texts that name models.

mod builtin;
mod openai;
mod runs;
mod server;
mod spec;
