use super::{Shop, compare};

#[test]
fn a_new_scenario_passes_is_stored_and_then_compared() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["new", "find_port"]), 0);
    let scenario = "tests/scenarios/find_port.yaml";
    compare("test_without_snapshots", &shop.told(&["test", scenario, "--snapshots", "none"]));
    std::fs::create_dir_all(shop.path("snapshots/runs")).unwrap();
    assert_eq!(shop.code(&["test", scenario, "--update"]), 0);
    compare("test_same", &shop.told(&["test", scenario]));

    // Another budget makes another story.
    let table = shop.read("stages/find_port.yaml").replace("max_steps: 6", "max_steps: 5");
    shop.write("stages/find_port.yaml", &table);
    compare("test_differs", &shop.told(&["test", scenario]));
}

#[test]
fn an_expectation_that_does_not_hold_is_exit_code_6() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["new", "find_port"]), 0);
    let scenario = "tests/scenarios/find_port.yaml";
    let changed = shop.read(scenario).replace("rollbacks: 0", "rollbacks: 1");
    shop.write(scenario, &changed);
    compare("test_expectation", &shop.told(&["test", scenario, "--snapshots", "none"]));
}

#[test]
fn what_is_no_scenario_is_told_with_its_place() {
    let shop = Shop::new();
    shop.write("odd.yaml", "scenario: odd\ntabel: diagnose.yaml\ntask: t\nscript: []\n");
    compare("test_invalid", &shop.told(&["test", "odd.yaml", "--snapshots", "none"]));
    assert_eq!(shop.code(&["test", "nowhere.yaml"]), 2);
}
