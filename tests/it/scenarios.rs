//! Every scenario file plays as it expects, and its story is the stored one.

use stagekeeper::StageTable;
use stagekeeper::testing::{Played, Scenario, TableSource};
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

/// Plays a scenario; its story, and what came otherwise than expected.
fn play(path: &Path) -> Result<(Played, Vec<String>), String> {
    let (scenario, table) = read(path)?;
    let played = scenario.play(&table).map_err(|e| e.to_string())?;
    let failures = scenario.failures(&played);
    Ok((played, failures))
}

/// `stagekeeper test tests/scenarios` says the same; this keeps it in `cargo test`.
#[test]
fn every_scenario_plays_as_it_expects_and_tells_the_stored_story() {
    let mut wrong = Vec::new();
    insta::glob!("../scenarios", "**/*.yaml", |path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let story = match play(path) {
            Ok((played, failures)) => {
                wrong.extend(failures.iter().map(|f| format!("{name}: {f}")));
                played.story()
            }
            Err(e) => return wrong.push(e),
        };
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots/runs");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_snapshot_suffix();
        settings.bind(|| insta::assert_snapshot!(name, story));
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_scenario_has_a_snapshot_of_its_own_and_every_snapshot_a_scenario() {
    let mut stems = std::collections::BTreeSet::new();
    insta::glob!("../scenarios", "**/*.yaml", |path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        assert!(stems.insert(stem.clone()), "two scenarios share the snapshot `{stem}.snap`");
    });
    for entry in std::fs::read_dir("snapshots/runs").unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        assert!(stems.contains(&stem), "{} belongs to no scenario", path.display());
    }
}
