//! `stagekeeper schema`: the JSON Schema of the table.

use super::failure::Failure;
use super::{exit, out};

/// Prints the JSON Schema of the stage table, for editors.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<u8, Failure> {
    out::data(&crate::table::schema())?;
    Ok(exit::OK)
}
