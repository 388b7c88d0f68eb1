//! `stagekeeper new`: a commented table and a scenario to start from.

use super::failure::Failure;
use super::{exit, files, out};
use crate::table::StageTable;
use std::path::PathBuf;

const TABLE: &str = include_str!("new/table.yaml");
const SCENARIO: &str = include_str!("new/scenario.yaml");
/// Stands for the name in both.
const PLACEHOLDER: &str = "NAME";
/// Longest name, in characters.
const LONGEST: usize = 64;

/// Writes stages/NAME.yaml and tests/scenarios/NAME.yaml to start from.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The workflow's name: small letters, digits, `_` and `-`
    name: String,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let name = args.name.as_str();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) || name.len() > LONGEST {
        return Err(Failure::usage(format!(
            "`{}` cannot be a name; use a small letter, then small letters, digits, `_` and `-`, at most {LONGEST}",
            out::visible(name)
        )));
    }
    let table = TABLE.replace(PLACEHOLDER, name);
    StageTable::parse(&table).map_err(|e| Failure::usage(format!("`{name}` cannot be a name: {e}")))?;
    let stages = PathBuf::from("stages").join(format!("{name}.yaml"));
    let scenario = PathBuf::from("tests").join("scenarios").join(format!("{name}.yaml"));
    files::write_new(&[(stages.clone(), table), (scenario.clone(), SCENARIO.replace(PLACEHOLDER, name))])?;
    out::data(&format!("{}\n{}\n", stages.display(), scenario.display()))?;
    out::say(&format!(
        "next: edit them, then\n  stagekeeper check {}\n  stagekeeper test {}\n",
        stages.display(),
        scenario.display()
    ));
    Ok(exit::OK)
}
