//! Any text as a scenario file: reading says the same twice, and what has its table inside plays within its bounds.

use stagekeeper::StageTable;
use stagekeeper::testing::{Scenario, TableSource};

/// Takes bytes as a scenario file.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let scenario = match (Scenario::parse(text, "fuzzed.yaml"), Scenario::parse(text, "fuzzed.yaml")) {
        (Ok(one), Ok(_)) => one,
        (Err(one), Err(two)) => return assert_eq!(one, two, "two readings differ"),
        _ => panic!("a scenario loads once and then no more"),
    };
    let TableSource::Inline(table) = scenario.table() else { return };
    let Ok(table) = StageTable::parse(table) else { return };
    let (Ok(one), Ok(two)) = (scenario.play(&table), scenario.play(&table)) else { return };
    assert!(one.broken.is_empty(), "{:?}", one.broken);
    assert_eq!(one.records, two.records, "playing twice differs");
    assert!(one.summary.steps <= one.summary.ceiling);
    let _ = (one.story(), scenario.failures(&one));
    let trace = scenario.trace(&table, one.records);
    let _ = stagekeeper::testing::scenario_of(&trace, &table, "a fuzzed run", "table.yaml");
}
