//! `stagekeeper schema`: the JSON Schema of the table.

use super::failure::Failure;
use super::{exit, out};
use crate::table::StageTable;

/// Prints the JSON Schema of the stage table, for editors.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<u8, Failure> {
    let schema = serde_json::to_string_pretty(&StageTable::schema())
        .map_err(|e| Failure::unexpected(format!("the schema cannot be written: {e}")))?;
    out::data(&format!("{schema}\n"))?;
    Ok(exit::OK)
}
