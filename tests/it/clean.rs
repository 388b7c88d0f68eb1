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
    let ended = Command::new(own).args(["--exact", name, "--ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn two_hundred_runs_cancelled_at_random() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    // A child in the background that holds the pipe far longer than the test lasts.
    std::fs::write(folder.path().join("sleepy.sh"), "sleep 77 & sleep 0.004\n").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut seed = 0x9e37_79b9_u64;
    runtime.block_on(async {
        // What the runtime itself needs is opened by the first run.
        one(folder.path(), 0, LATEST).await;
        settle().await;
        let files = entries(folder.path());
        let before = (entries("/proc/self/fd"), children(), entries(temporary.path()));
        let mut cancelled = 0;
        for run in 0..RUNS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let outcome = one(folder.path(), run, (seed >> 33) % LATEST).await;
            cancelled += u64::from(outcome == Some(Outcome::Cancelled));
        }
        settle().await;
        assert!(cancelled > RUNS / 2, "{cancelled} of {RUNS} were cancelled");
        assert_eq!((entries("/proc/self/fd"), children(), entries(temporary.path())), before);
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
