//! Nothing is left behind: no task, process, file descriptor or temporary file, however a run ends.
#![cfg(target_os = "linux")]

use stagekeeper::run::{Answer, BuiltinTools, Cancel, Model, ModelError, Runner};
use stagekeeper::{Outcome, ProposedCall, Reply, Session, StageTable, View};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs in one process.
const RUNS: u64 = 200;
/// Longest wait before a run is cancelled, in microseconds.
const LATEST: u64 = 12_000;

const TABLE: &str = "
stagekeeper: 1
workflow: busy
tools:
  run_command: { commands: ['sleep *', 'sh sleepy.sh'] }
  write_file: { effect: write, repeats: 99 }
  read_file: { effect: read }
stages:
  work: { goal: Work., allowed_tools: all, max_steps: 4 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

/// Calls tools that are quick, slow, and that leave a child behind which holds their pipe.
struct Busy(u64, u64);

impl Model for Busy {
    fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        self.0 += 1;
        let n = self.0;
        // Where nobody reaps orphans, the end of such a group takes the whole grace time: a few of them are enough.
        let slow = if self.1.is_multiple_of(25) { "sh sleepy.sh" } else { "sleep 0.006" };
        let call = |id: &str, tool: &str, args: String| ProposedCall::new(id, tool, args);
        let calls = vec![
            call("a", "read_file", format!("{{\"path\":\"sleepy.sh\",\"offset\":{n}}}")),
            call("b", "write_file", format!("{{\"path\":\"out{}\",\"content\":\"{n}\"}}", n % 3)),
            call("c", "run_command", format!("{{\"command\":\"{slow}\"}}")),
            call("d", "run_command", r#"{"command":"sleep 0.002"}"#.to_owned()),
        ];
        Box::pin(async move {
            tokio::time::sleep(Duration::from_micros(n * 37 % 500)).await;
            Ok(Reply::calls(calls))
        })
    }
}

fn entries(folder: impl AsRef<Path>) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Processes whose parent this one is.
fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.map(|task| of(task.unwrap()).split_whitespace().count()).sum()
}

/// A process of its own, since other tests open files and start processes, too.
#[test]
fn after_200_cancelled_runs_no_task_process_descriptor_or_file_is_left() {
    let own = std::env::current_exe().unwrap();
    let name = "clean::two_hundred_runs_cancelled_at_random";
    let temporary = tempfile::tempdir().unwrap();
    let mut process = Command::new(own);
    process.args(["--exact", name, "--ignored", "--nocapture"]).env("TMPDIR", temporary.path());
    let ended = process.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(entries(temporary.path()), 0, "a temporary file is left");
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn two_hundred_runs_cancelled_at_random() {
    let folder = tempfile::tempdir().unwrap();
    // A child in the background that holds the pipe far longer than the test lasts.
    std::fs::write(folder.path().join("sleepy.sh"), "sleep 77 & sleep 0.004\n").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut seed = 0x9e37_79b9_u64;
    runtime.block_on(async {
        // What the runtime itself needs is opened by the first run.
        one(folder.path(), 0, LATEST).await;
        settle().await;
        let files = entries(folder.path());
        let descriptors = entries("/proc/self/fd");
        let mut cancelled = 0;
        for run in 0..RUNS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let outcome = one(folder.path(), run, (seed >> 33) % LATEST).await;
            cancelled += u64::from(outcome == Some(Outcome::Cancelled));
        }
        settle().await;
        assert!(cancelled > RUNS / 2, "{cancelled} of {RUNS} were cancelled");
        // A thread that reads a file ends on its own time; what is a leak stays.
        let now = || entries("/proc/self/fd");
        for _ in 0..100 {
            if now() > descriptors {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let open: Vec<_> = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|e| std::fs::read_link(e.ok()?.path()).ok())
            .collect();
        assert!(now() <= descriptors, "more than {descriptors}: {open:?}");
        assert_eq!(children(), 0);
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
        assert!(entries(folder.path()) <= files + 3, "only what was written on purpose");
    });
    let left = Command::new("pgrep").args(["-f", "^sleep 77$"]).output();
    assert!(left.is_err() || left.unwrap().stdout.is_empty(), "a child in the background lives on");
}

/// Waits for what is being reaped.
async fn settle() {
    for _ in 0..100 {
        if children() == 0 && tokio::runtime::Handle::current().metrics().num_alive_tasks() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn one(root: &Path, run: u64, micros: u64) -> Option<Outcome> {
    let table = StageTable::parse(TABLE).unwrap();
    let tools = BuiltinTools::open(root).unwrap().for_table(&table);
    let specs = stagekeeper::run::ToolHost::tools(&tools);
    let mut session = Session::builder(&table, "Be busy.").tools(specs).start().unwrap();
    let cancel = Cancel::new();
    let runner = Runner::new(Box::new(Busy(micros, run)), Box::new(tools)).cancel(cancel.clone());
    let (report, ()) = tokio::join!(runner.run(&mut session), async {
        tokio::time::sleep(Duration::from_micros(micros)).await;
        cancel.cancel();
    });
    let report = report.unwrap();
    assert!(report.not_closed.is_empty(), "{:?}", report.not_closed);
    report.summary.outcome
}

mod closing {
    use serde_json::json;
    use stagekeeper::run::{Answer, Cancel, Hosts, Model, ModelError, ModelErrorKind, Runner, ToolCall, ToolHost};
    use stagekeeper::{Outcome, ProposedCall, Reply, Session, StageTable, ToolResult, ToolSpec, View};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    type Log = Arc<Mutex<Vec<String>>>;

    /// Opened with its first call, closed once; the inner one fails to close.
    struct Opened(&'static str, Log);

    impl ToolHost for Opened {
        fn tools(&self) -> Vec<ToolSpec> {
            vec![ToolSpec::named(self.0)]
        }

        fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
            self.1.lock().unwrap().push(self.0.to_owned());
            let how = call.arguments.clone();
            Box::pin(async move {
                assert!(!how.contains("break"), "the tool breaks");
                tokio::time::sleep(Duration::from_secs(if how.contains("slow") { 50 } else { 1 })).await;
                ToolResult::ok("x")
            })
        }

        fn close(&self) -> Answer<'_, Result<(), String>> {
            self.1.lock().unwrap().push(format!("close {}", self.0));
            let ended = if self.0 == "inner" { Err("inner is stuck".to_owned()) } else { Ok(()) };
            Box::pin(std::future::ready(ended))
        }
    }

    /// Calls the outer tool and then a nested run, whose model calls the inner tool and then does `then`.
    struct Says {
        n: usize,
        then: &'static str,
    }

    impl Model for Says {
        fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
            self.n += 1;
            let call = |tool: &str, args: &str| ProposedCall::new("id", tool, args);
            let reply = match (self.n, self.then) {
                (1, _) => Reply::calls(vec![call("outer", "{}"), ProposedCall::new("id2", "dig", "{}")]),
                (2, _) => Reply::calls(vec![call("inner", "{}")]),
                (3, "breaks") => Reply::calls(vec![call("inner", r#"{"how":"break"}"#)]),
                (3, "is slow") => Reply::calls(vec![call("inner", r#"{"how":"slow"}"#)]),
                (3, "fails") => {
                    let kind = ModelErrorKind::Unreachable;
                    return Box::pin(std::future::ready(Err(ModelError { kind, message: "away".to_owned() })));
                }
                (3, "hangs") => return Box::pin(std::future::pending()),
                (n, "never ends") => Reply::calls(vec![call("inner", &json!({ "n": n }).to_string())]),
                _ => Reply::text("done"),
            };
            Box::pin(std::future::ready(Ok(reply)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_tree_opened_is_closed_once_in_reverse_order_on_every_end() {
        let main = "stagekeeper: 1\nworkflow: m\ntools:\n  dig: { workflow: dig.yaml }\n  outer: { timeout: 99s }\nlimits: { max_time: 20s }\nstages:\n  work: { goal: W., allowed_tools: [dig, outer], max_steps: 9 }\n  report: { goal: R., allowed_tools: [], max_steps: 1 }\n";
        let dig = "stagekeeper: 1\nworkflow: d\ntools:\n  inner: { timeout: 99s }\nstages:\n  down: { goal: D., allowed_tools: [inner], max_steps: 9 }\n  up: { goal: U., allowed_tools: [], max_steps: 1 }\n";
        for (then, outcome) in [
            ("answers", Outcome::Completed),
            ("never ends", Outcome::Exhausted),
            ("breaks", Outcome::Completed),
            ("is slow", Outcome::Exhausted),
            ("fails", Outcome::ProviderError),
            ("hangs", Outcome::Cancelled),
        ] {
            let log = Log::default();
            let hosts = Hosts::new().with(Opened("outer", log.clone())).with(Opened("inner", log.clone()));
            let table = StageTable::parse_with("m.yaml", main, &mut |_| Ok(dig.to_owned())).unwrap();
            let mut session = Session::builder(&table, "go").tools(hosts.tools()).start().unwrap();
            let cancel = Cancel::new();
            let runner = Runner::new(Box::new(Says { n: 0, then }), Box::new(hosts)).cancel(cancel.clone());
            let (report, ()) = tokio::join!(runner.run(&mut session), async {
                if then == "hangs" {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    cancel.cancel();
                }
            });
            let report = report.unwrap();
            assert_eq!(report.summary.outcome, Some(outcome), "{then}");
            let closed: Vec<String> = log.lock().unwrap().iter().filter(|l| l.starts_with("close")).cloned().collect();
            assert_eq!(closed, ["close inner", "close outer"], "{then}");
            assert_eq!(report.not_closed, ["inner is stuck"], "{then}");
        }
    }
}
