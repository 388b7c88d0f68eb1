use super::{Shop, compare};

const BROKEN: &str = "stagekeeper: 1\nworkflow: broken\nstages:\n  look:\n    goal: Look.\n    allowed_tool: [read_file]\n    max_steps: 0\n    next: reprot\n  report:\n    goal: Report.\n    allowed_tools: []\n    max_steps: 1\n";
const WARNED: &str = "stagekeeper: 1\nworkflow: warned\ntools:\n  write_file: { effect: write }\nstages:\n  work:\n    goal: Work.\n    allowed_tools: [write_file]\n    max_steps: 2\n";

#[test]
fn a_sound_table_prints_its_bounds() {
    compare("check_sound", &Shop::new().told(&["check", "diagnose.yaml"]));
}

#[test]
fn a_sound_table_as_json() {
    compare("check_sound_json", &Shop::new().told(&["check", "diagnose.yaml", "--format", "json"]));
}

#[test]
fn what_holds_is_shown_as_a_table_that_means_the_same() {
    let shop = Shop::new();
    compare("check_show", &shop.told(&["check", "diagnose.yaml", "--show"]));
    let shown = shop.output(&["check", "diagnose.yaml", "--show"]).stdout;
    shop.write("shown.yaml", &String::from_utf8(shown).unwrap());
    let again = shop.output(&["check", "shown.yaml", "--show"]).stdout;
    assert_eq!(String::from_utf8(again).unwrap(), shop.read("shown.yaml"));
}

#[test]
fn a_broken_table_tells_every_problem_with_its_place() {
    let shop = Shop::new();
    shop.write("broken.yaml", BROKEN);
    compare("check_broken", &shop.told(&["check", "broken.yaml"]));
    compare("check_broken_json", &shop.told(&["check", "broken.yaml", "--format", "json"]));
    compare("check_broken_github", &shop.told(&["check", "broken.yaml", "--format", "github"]));
}

#[test]
fn a_warning_does_not_stop_the_check() {
    let shop = Shop::new();
    shop.write("warned.yaml", WARNED);
    compare("check_warned", &shop.told(&["check", "warned.yaml"]));
}

#[test]
fn of_several_tables_all_are_looked_at_and_the_highest_code_counts() {
    let shop = Shop::new();
    shop.write("broken.yaml", BROKEN);
    compare(
        "check_several",
        &shop.told(&["check", "nowhere.yaml", "src", "broken.yaml", "diagnose.yaml", "--format", "json"]),
    );
}

#[test]
fn a_file_that_is_no_text_is_a_problem_of_the_table() {
    let shop = Shop::new();
    std::fs::write(shop.path("binary.yaml"), [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0, 0]).unwrap();
    shop.write("empty.yaml", "");
    assert_eq!(shop.code(&["check", "binary.yaml"]), 3);
    assert_eq!(shop.code(&["check", "empty.yaml"]), 3);
}

#[test]
fn a_file_of_100_mb_is_refused_without_reading_it_all() {
    let shop = Shop::new();
    std::fs::File::create(shop.path("huge.yaml")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    let output = shop.output(&["check", "huge.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("too large"));
}

#[cfg(unix)]
#[test]
fn an_included_file_stays_within_the_folder_of_the_table() {
    let shop = Shop::new();
    let table = |file: &str| {
        format!(
            "stagekeeper: 1\nworkflow: w\nmessages:\n  last_step: {{ from: {file} }}\nstages:\n  s: {{ goal: G, allowed_tools: [], max_steps: 1 }}\n"
        )
    };
    shop.write("secret.txt", "secret").write("tables/said.txt", "This is the last one.");
    shop.write("tables/good.yaml", &table("said.txt")).write("tables/bad.yaml", &table("link.txt"));
    std::os::unix::fs::symlink(shop.path("secret.txt"), shop.path("tables/link.txt")).unwrap();
    assert_eq!(shop.code(&["check", "tables/good.yaml"]), 0);
    let output = shop.output(&["check", "tables/bad.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("a link leads out of the table's folder"));
}

/// Reading one would wait for a writer that never comes.
#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let shop = Shop::new();
    assert!(std::process::Command::new("mkfifo").arg(shop.path("pipe")).status().unwrap().success());
    let output = shop.output(&["check", "pipe"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`pipe` is no regular file"));
}
