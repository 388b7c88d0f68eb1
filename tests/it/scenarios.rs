//! Every scenario file plays as it expects, and its story is the stored one.

use stagekeeper::StageTable;
use stagekeeper::testing::{Scenario, TableSource};
use std::path::Path;

/// Reads a scenario with its table.
fn read(path: &Path) -> Result<(Scenario, StageTable), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let scenario = Scenario::parse(&text, &path.display().to_string()).map_err(|e| e.to_string())?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let table = match scenario.table() {
        TableSource::Inline(text) => StageTable::parse_with(scenario.file(), text, &mut |_| Err("no files".into())),
        TableSource::Path(to) => {
            let to = folder.join(to);
            let text = std::fs::read_to_string(&to).map_err(|e| format!("{}: {e}", to.display()))?;
            StageTable::parse_with(&to.display().to_string(), &text, &mut |name| {
                std::fs::read_to_string(to.with_file_name(name)).map_err(|e| e.to_string())
            })
        }
    };
    Ok((scenario, table.map_err(|e| e.to_string())?))
}

#[test]
fn every_scenario_file_is_sound() {
    let mut wrong = Vec::new();
    insta::glob!("../scenarios", "**/*.yaml", |path| wrong.extend(read(path).err()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
