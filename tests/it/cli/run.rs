use super::{Shop, compare};
use serde_json::Value;
use std::process::{Command, Stdio};

const TASK: &str = "Login crashes on an empty name.";

/// A table with a tool that asks, and one that writes.
const ASKS: &str = "stagekeeper: 1
workflow: asks
tools:
  write_file: { effect: write, max_calls: 2, approval: always }
stages:
  work:
    goal: Write the note.
    allowed_tools: [write_file]
    max_steps: 3
  report:
    goal: Say what was done.
    allowed_tools: []
    max_steps: 1
";

const WRITES: &str = "script:
  - call: { tool: write_file, args: { path: note.txt, content: hello } }
  - text: the note is written
  - text: done
";

#[test]
fn a_task_is_run_to_its_answer() {
    compare("run_text", &Shop::new().told(&["run", "diagnose.yaml", "--task", TASK, "--no-trace"]));
}

#[test]
fn the_summary_is_json_with_its_keys_in_order() {
    let shop = Shop::new();
    let args = ["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--format", "json", "--summary", "end.json"];
    let output = shop.output(&args);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, shop.read("end.json"));
    let keys = [
        "run",
        "workflow",
        "outcome",
        "limit",
        "stage",
        "steps",
        "ceiling",
        "stages",
        "tools",
        "violations",
        "rollbacks",
        "not_undone",
        "tokens",
        "text",
        "digest",
        "retryable",
    ];
    let places: Vec<usize> =
        keys.map(|key| printed.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}"))).into();
    assert!(places.is_sorted(), "{printed}");
    let summary: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(summary["outcome"], "completed");
    assert_eq!(summary["ceiling"], 15);
}

#[test]
fn a_run_keeps_a_trace_unless_told_not_to() {
    let shop = Shop::new();
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", TASK, "--no-trace"]), 0);
    assert!(!shop.path(".stagekeeper").exists());
    assert_eq!(shop.code(&["run", "diagnose.yaml", "--task", TASK]), 0);
    assert!(shop.read(&shop.trace()).starts_with("{\"stagekeeper_trace\":1"));
}

#[test]
fn refusals_are_told_as_they_happen() {
    let shop = Shop::new();
    shop.write(
        "forbidden.yaml",
        "script:
  - call: { tool: read_file, args: { path: src/login.rs } }
  - call: { tool: read_file, args: { path: src/db.rs } }
  - calls: [{ tool: list_files, args: { path: src } }, { tool: send_email, args: { to: a@b.example } }]
  - text: src/login.rs
  - call: { tool: read_file, args: { path: src/login.rs } }
  - text: an empty name has no first character
  - text: the unwrap panics
  - text: Do not unwrap the first character.
",
    );
    let args = ["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--model", "script:forbidden.yaml"];
    compare("run_refusals", &shop.told(&args));
}

#[test]
fn a_limit_is_exit_code_4_and_still_an_answer() {
    let shop = Shop::new();
    let args = ["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--model", "chaos:never-ends"];
    compare("run_exhausted", &shop.told(&args));
}

#[test]
fn observing_refuses_nothing() {
    let shop = Shop::new();
    let args = [
        "run",
        "diagnose.yaml",
        "--task",
        TASK,
        "--no-trace",
        "--format",
        "json",
        "--model",
        "chaos:forbidden",
        "--observe",
    ];
    let summary: Value = serde_json::from_slice(&shop.output(&args).stdout).unwrap();
    // Only the closing request runs no calls: the ceiling holds when observing too.
    let refused: u64 = summary["tools"].as_object().unwrap().values().map(|t| t["refused"].as_u64().unwrap()).sum();
    assert!(refused <= 1 && summary["violations"] == 0, "{summary}");
}

#[test]
fn a_server_that_is_not_there_is_exit_code_5() {
    let shop = Shop::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let output =
        shop.output(&["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--model", "openai:m", "--base-url", &url]);
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8(output.stderr).unwrap().contains("check that the server runs"));
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_model_timeout() {
    let shop = Shop::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let model = ["--model", "openai:m", "--base-url", &url, "--model-timeout", "1s"];
    let output = shop.output(&[&["run", "diagnose.yaml", "--task", TASK, "--no-trace"], &model[..]].concat());
    drop(listener);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("nothing for 1 s"), "{said}");
}

#[test]
fn a_tool_that_no_host_provides_stops_before_the_run_starts() {
    let shop = Shop::new();
    shop.write(
        "other.yaml",
        "stagekeeper: 1\nworkflow: other\nstages:\n  s: { goal: G, allowed_tools: [read_file, launch], max_steps: 2 }\n",
    );
    compare("run_no_such_tool", &shop.told(&["run", "other.yaml", "--task", TASK]));
    assert!(!shop.path(".stagekeeper").exists());
}

#[test]
fn what_is_wrong_before_the_start_is_said_and_nothing_is_left_behind() {
    let shop = Shop::new();
    shop.write("broken.yaml", "stages: {}\n");
    let run = |args: &[&str]| shop.told(&[&["run"], args, &["--task", TASK]].concat());
    let told = [
        run(&["nowhere.yaml"]),
        run(&["diagnose.yaml", "--root", "nowhere"]),
        run(&["diagnose.yaml", "--root", "diagnose.yaml"]),
        run(&["diagnose.yaml", "--fact", "recipient=a@b.example"]),
        run(&["diagnose.yaml", "--model", "builtn"]),
        run(&["diagnose.yaml", "--model", "script:nowhere.yaml"]),
        run(&["diagnose.yaml", "--model", "openai:m"]),
        run(&["diagnose.yaml", "--model", "builtin", "--model", "chaos:repeat"]),
        run(&["diagnose.yaml", "--model", "big=builtin"]),
        run(&["diagnose.yaml", "--base-url", "http://127.0.0.1:1"]),
        run(&["diagnose.yaml", "--model-timeout", "5m"]),
        run(&["diagnose.yaml", "--model-timeout", "5"]),
        run(&["diagnose.yaml", "--summary", "no/such/end.json"]),
        run(&["broken.yaml"]),
    ];
    compare("run_before_the_start", &told.join("\n"));
    assert!(!shop.path(".stagekeeper").exists());
}

#[test]
fn a_stage_that_names_a_model_wants_it_given() {
    let shop = Shop::new();
    shop.write(
        "two.yaml",
        "stagekeeper: 1\nworkflow: two\nstages:\n  s: { goal: G, allowed_tools: [], max_steps: 2, model: big }\n",
    );
    shop.write("says.yaml", "script:\n  - text: from the big one\n");
    compare("run_no_model", &shop.told(&["run", "two.yaml", "--task", TASK, "--no-trace"]));
    let output = shop.output(&["run", "two.yaml", "--task", TASK, "--no-trace", "--model", "big=script:says.yaml"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("from the big one\n"));
}

#[test]
fn a_model_for_an_alias_that_no_stage_names_is_a_usage_error() {
    let shop = Shop::new();
    shop.write(
        "two.yaml",
        "stagekeeper: 1\nworkflow: two\nstages:\n  s: { goal: G, allowed_tools: [], max_steps: 2, model: large }\n",
    );
    let output = shop.output(&["run", "two.yaml", "--task", TASK, "--no-trace", "--model", "lrage=builtin"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: no stage has `model: lrage`; did you mean `large`?\n");
}

#[test]
fn a_blank_task_is_a_usage_error() {
    let shop = Shop::new();
    for task in ["", " \n"] {
        let output = shop.output(&["run", "diagnose.yaml", "--no-trace", "--task", task]);
        assert_eq!(output.status.code(), Some(2), "{task:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("say what to do"));
    }
}

#[test]
fn a_trace_folder_that_is_a_file_is_said_to_be_none() {
    let shop = Shop::new();
    shop.write(".stagekeeper", "a file");
    let output = shop.output(&["run", "diagnose.yaml", "--task", TASK]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`.stagekeeper` is no folder; move that file away"), "{said}");
}

/// The device made for this: it opens, and every write to it finds no room.
#[cfg(target_os = "linux")]
#[test]
fn a_summary_for_which_there_is_no_room_is_exit_code_1() {
    let shop = Shop::new();
    let output = shop.output(&["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--summary", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("completed in"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("No space left on device"));
}

/// A file may have one block: room for the trace's first lines, none for the rest.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_for_which_there_is_no_more_room_is_exit_code_1() {
    let shop = Shop::new();
    // SIGXFSZ is ignored, so that the write fails as on a full disk.
    let line = format!(
        "trap '' XFSZ; ulimit -f 16; exec {} run diagnose.yaml --task 'Login crashes on an empty name.'",
        env!("CARGO_BIN_EXE_stagekeeper")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(shop.path("")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot write the trace"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn approvals_are_answered_by_flags_and_refused_without() {
    for (flags, written) in [(&["--yes"][..], true), (&["--no"], false), (&[], false)] {
        let shop = Shop::new();
        shop.write("asks.yaml", ASKS).write("writes.yaml", WRITES);
        let args =
            [&["run", "asks.yaml", "--task", TASK, "--no-trace", "--model", "script:writes.yaml"], flags].concat();
        let output = shop.output(&args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(shop.path("note.txt").exists(), written, "{flags:?}");
    }
    assert_eq!(Shop::new().code(&["run", "diagnose.yaml", "--task", TASK, "--yes", "--no"]), 2);
}

#[test]
fn a_host_fact_comes_from_the_command_line() {
    let shop = Shop::new();
    shop.write(
        "freeze.yaml",
        "stagekeeper: 1\nworkflow: freeze\ntools:\n  write_file: { effect: write, max_calls: 1 }\nfacts:\n  freeze: { from: host }\nstages:\n  work: { goal: G, allowed_tools: [write_file], max_steps: 3 }\nrules:\n  - { name: frozen, at: call, tool: write_file, when: facts.freeze, deny: A freeze is on. }\n",
    );
    shop.write("writes.yaml", WRITES);
    let run = |fact: &str| {
        let args =
            ["run", "freeze.yaml", "--task", TASK, "--no-trace", "--model", "script:writes.yaml", "--fact", fact];
        assert_eq!(shop.code(&args), 0);
        shop.path("note.txt").exists()
    };
    assert!(!run("freeze=true"));
    assert!(run("freeze=false"));
}

#[test]
fn a_question_to_the_user_pauses_where_nobody_is() {
    let shop = Shop::new();
    shop.write(
        "chat.yaml",
        "stagekeeper: 1\nworkflow: chat\nconversation: true\nleave_by: [advance]\nstages:\n  ask: { goal: Ask., allowed_tools: [], max_steps: 3 }\n  answer: { goal: Answer., allowed_tools: [], max_steps: 1 }\n",
    );
    shop.write("asks.yaml", "script:\n  - text: Which order do you mean?\n");
    compare(
        "run_paused",
        &shop.told(&["run", "chat.yaml", "--task", TASK, "--no-trace", "--model", "script:asks.yaml"]),
    );
}

#[test]
fn a_mail_goes_into_the_outbox_that_was_named() {
    let shop = Shop::new();
    shop.write(
        "mails.yaml",
        "script:
  - call: { tool: list_files, args: { path: src } }
  - text: src/login.rs
  - call: { tool: read_file, args: { path: src/login.rs } }
  - text: unwrap
  - text: unwrap
  - call: { tool: send_email, args: { to: ann@example.com, subject: Login, body: Do not unwrap. } }
  - text: mailed
",
    );
    let task = "Login crashes. Mail the report to ann@example.com";
    let args =
        ["run", "diagnose.yaml", "--task", task, "--no-trace", "--model", "script:mails.yaml", "--outbox", "post"];
    let output = shop.output(&args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(shop.path("post")).unwrap().count(), 1);
}

/// A server that takes the request and never answers; the run is cancelled while it waits.
#[cfg(unix)]
#[test]
fn a_signal_cancels_and_the_summary_still_comes() {
    for signals in [&["-INT"][..], &["-TERM"], &["-HUP"], &["-TERM", "-HUP", "-TERM"]] {
        let shop = Shop::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let args = ["run", "diagnose.yaml", "--task", TASK, "--model", "openai:m", "--base-url", &url];
        let child = shop.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let held = listener.accept().unwrap();
        for signal in signals {
            // After the first the run may have ended already.
            let sent = Command::new("kill").args([signal, child.id().to_string().as_str()]).output().unwrap();
            assert!(sent.status.success() || signals.len() > 1, "{signal}");
        }
        let output = child.wait_with_output().unwrap();
        drop(held);
        assert_eq!(output.status.code(), Some(130), "{signals:?}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("cancelled in 0 of at most 15 steps"));
        assert!(shop.read(&shop.trace()).lines().last().unwrap().contains("cancelled"));
    }
}

/// What `run_command` began has a process group of its own, which a signal to the program alone does not reach.
#[cfg(target_os = "linux")]
#[test]
fn a_sigterm_ends_what_a_tool_began() {
    let shop = Shop::new();
    let line = format!("sleep 98.{}", std::process::id());
    shop.write(
        "waits.yaml",
        &format!("stagekeeper: 1\nworkflow: waits\ntools:\n  run_command: {{ commands: [{line}] }}\nstages:\n  s: {{ goal: G, allowed_tools: [run_command], max_steps: 2 }}\n"),
    );
    let call = format!("script:\n  - call: {{ tool: run_command, args: {{ command: {line} }} }}\n  - text: done\n");
    shop.write("calls.yaml", &call);
    let args = ["run", "waits.yaml", "--task", TASK, "--no-trace", "--model", "script:calls.yaml"];
    let mut child = shop.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let sleeps = || Command::new("pgrep").args(["-fx", &line]).output().is_ok_and(|o| o.status.success());
    let began = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        sleeps()
    });
    assert!(began, "{:?}", child.try_wait());
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!sleeps());
}

#[test]
fn colour_is_never_sent_to_a_pipe() {
    let shop = Shop::new();
    let output = shop.output(&["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--model", "chaos:forbidden"]);
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b));
}

#[test]
fn control_characters_of_a_model_do_not_reach_the_terminal() {
    let shop = Shop::new();
    shop.write("evil.yaml", "script:\n  - call: { tool: list_files, args: { path: \"\\e[2J\" } }\n  - text: \"\\e]0;owned\\a\"\n  - text: \"a\\e[31m\"\n  - text: \"b\\e[31m\"\n  - text: \"c\\e[31m\"\n");
    let output = shop.output(&["run", "diagnose.yaml", "--task", TASK, "--no-trace", "--model", "script:evil.yaml"]);
    assert!(!output.stderr.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stdout));
}
