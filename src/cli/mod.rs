//! The command line: data to stdout, everything else to stderr.

mod ask;
mod audit;
mod check;
mod command;
mod draw;
pub mod exit;
mod explain;
mod failure;
#[expect(clippy::disallowed_methods, reason = "the command line is the edge that reads and writes files")]
mod files;
mod logs;
mod new;
mod out;
mod recordings;
mod replay;
mod resume;
mod run;
mod runs;
mod schema;
mod test;
#[expect(clippy::disallowed_methods, reason = "how long a proof took is measured here, at the edge")]
mod verify;

pub use command::main;
