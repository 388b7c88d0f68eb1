use super::{Shop, compare};
use stagekeeper::StageTable;
use stagekeeper::testing::Scenario;

#[test]
fn a_new_table_and_its_scenario_are_written_once_and_never_over_others() {
    let shop = Shop::new();
    compare("new", &shop.told(&["new", "find_port"]));
    shop.write("stages/find_port.yaml", "mine");
    compare("new_again", &shop.told(&["new", "find_port"]));
    assert_eq!(shop.read("stages/find_port.yaml"), "mine");

    shop.write("tests/scenarios/other.yaml", "mine");
    assert_eq!(shop.code(&["new", "other"]), 2);
    assert!(!shop.path("stages/other.yaml").exists(), "nothing is written by halves");
}

#[test]
fn a_new_table_loads_without_a_problem_and_its_scenario_passes() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["new", "find_port"]), 0);
    let table = StageTable::parse(&shop.read("stages/find_port.yaml")).unwrap();
    assert!(table.warnings().is_empty(), "{:?}", table.warnings());
    let scenario = Scenario::parse(&shop.read("tests/scenarios/find_port.yaml"), "find_port.yaml").unwrap();
    let played = scenario.play(&table).unwrap();
    assert_eq!(scenario.failures(&played), Vec::<String>::new());
    compare("new_scenario", &played.story());
}

#[test]
fn a_name_is_plain() {
    let shop = Shop::new();
    for name in ["../up", "Big", "", "a b", "9lives", "a.b", &"x".repeat(65)] {
        assert_eq!(shop.code(&["new", name]), 2, "{name:?}");
    }
    assert!(!shop.path("stages").exists());
}
