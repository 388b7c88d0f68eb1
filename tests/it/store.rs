//! Runs that survive: the store, resuming, and every fault that must not tear a run.

use stagekeeper::run::{Answer, Asker, Question};
use stagekeeper::run::{FnTools, Model, ModelError, Runner, ToolCall, Unanswered, now_ms};
use stagekeeper::store::{
    Entry, Group, Holder, Kept, LEASE_MS, MemoryStore, RunState, RunStore, SqliteStore, StoreError, StoreSink, is_alive,
};
use stagekeeper::trace::{Header, go_on};
use stagekeeper::{
    CallNo, Input, Outcome, ProposedCall, Record, Reply, Session, StageTable, ToolResult, ToolSpec, View,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TABLE: &str = "
stagekeeper: 1
workflow: work
tools:
  look: { effect: read }
  put: { effect: write, repeats: 9 }
  same: { effect: write, repeats: 9, idempotent: true }
  ask: { effect: write, repeats: 9, approval: always }
stages:
  work: { goal: Work., allowed_tools: [look, put, same, ask], max_steps: 4 }
  report: { goal: Report., allowed_tools: [], max_steps: 2 }
";

fn table(text: &str) -> StageTable {
    StageTable::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Replies in order, then a text.
struct Says(Vec<Reply>);

impl Model for Says {
    fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let next = if self.0.is_empty() { Reply::text("done") } else { self.0.remove(0) };
        Box::pin(async move { Ok(next) })
    }
}

fn calls(list: &[(&str, &str)]) -> Reply {
    let calls = list.iter().enumerate();
    Reply::calls(calls.map(|(n, (tool, args))| ProposedCall::new(format!("id{n}"), *tool, *args)).collect())
}

type Seen = Arc<Mutex<Vec<ToolCall>>>;

/// Tools that note what they are asked; `hangs` never answers.
fn tools(seen: &Seen, hangs: Option<&'static str>) -> FnTools {
    let mut tools = FnTools::new();
    for name in ["look", "put", "same", "ask"] {
        let seen = Arc::clone(seen);
        tools = tools.slow_tool(ToolSpec::named(name), move |call| {
            seen.lock().unwrap().push(call.clone());
            let hang = hangs == Some(name);
            Box::pin(async move {
                if hang {
                    std::future::pending::<()>().await;
                }
                ToolResult::ok(format!("{} done", call.tool))
            })
        });
    }
    tools
}

fn both() -> [(&'static str, Arc<dyn RunStore>, Option<tempfile::TempDir>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("runs.db")).unwrap();
    [("memory", Arc::new(MemoryStore::new()), None), ("sqlite", Arc::new(sqlite), Some(folder))]
}

/// Runs until the run ends, pauses, or a tool hangs; then the process is as good as killed: nothing is cleaned up.
async fn begin(store: &Arc<dyn RunStore>, replies: Vec<Reply>, tools: FnTools) -> Option<Outcome> {
    let table = table(TABLE);
    let header = Header::new(&table, "r", "Do it.");
    let lease = store.begin(&header, "", &dead(), now_ms()).unwrap();
    let mut session = header.session(&table).start().unwrap();
    let sink = StoreSink::new(Kept::new(Arc::clone(store), lease));
    let runner =
        Runner::new(Box::new(Says(replies)), Box::new(tools)).sink(Box::new(sink)).unanswered(Unanswered::Pause);
    let _ = tokio::time::timeout(Duration::from_millis(200), runner.run(&mut session)).await;
    session.outcome()
}

/// A holder that is no more.
fn dead() -> Holder {
    let here = Holder::here();
    let (front, _) = here.0.rsplit_once('/').unwrap();
    Holder(format!("{front}/1"))
}

struct Yes;

impl Asker for Yes {
    fn approve<'a>(&'a mut self, _: &'a Question) -> Answer<'a, Option<bool>> {
        Box::pin(async { Some(true) })
    }

    fn user<'a>(&'a mut self, _: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(async { None })
    }
}

async fn resume(store: &Arc<dyn RunStore>, replies: Vec<Reply>, tools: FnTools) -> Session {
    let lease = store.claim("r", &Holder::here(), now_ms()).unwrap();
    let stored = store.load("r").unwrap();
    let mut session = go_on(&stored.trace, &table(TABLE)).unwrap().session;
    let sink = StoreSink::behind(Kept::new(Arc::clone(store), lease), &stored);
    let runner = Runner::new(Box::new(Says(replies)), Box::new(tools))
        .sink(Box::new(sink))
        .asker(Box::new(Yes))
        .begun(stored.intents);
    runner.run(&mut session).await.unwrap();
    session
}

#[tokio::test]
async fn a_call_whose_intent_is_stored_without_a_result_runs_again_only_where_that_is_harmless() {
    for (tool, again) in [("look", true), ("same", true), ("put", false)] {
        for (name, store, _folder) in both() {
            let (before, after) = (Seen::default(), Seen::default());
            begin(&store, vec![calls(&[(tool, "{}")])], tools(&before, Some(tool))).await;
            let session = resume(&store, vec![], tools(&after, None)).await;
            assert_eq!(session.outcome(), Some(Outcome::Completed), "{name} {tool}");
            assert_eq!(before.lock().unwrap().len(), 1);
            let after = after.lock().unwrap();
            assert_eq!(after.len(), usize::from(again), "{name} {tool}");
            if let Some(call) = after.first() {
                // The very same attempt, as far as the tool can tell.
                assert_eq!(*call, before.lock().unwrap()[0]);
            }
            let told = format!("{:?}", session.view().messages);
            assert_eq!(told.contains("nobody knows whether this call took effect"), !again, "{told}");
        }
    }
}

#[tokio::test]
async fn a_call_that_had_not_begun_is_run_even_if_it_writes() {
    for (name, store, _folder) in both() {
        let (before, after) = (Seen::default(), Seen::default());
        // The first hangs; the second is judged, stored and not begun.
        begin(&store, vec![calls(&[("same", "{}"), ("put", "{}")])], tools(&before, Some("same"))).await;
        resume(&store, vec![], tools(&after, None)).await;
        let ran: Vec<String> = after.lock().unwrap().iter().map(|c| c.tool.clone()).collect();
        assert_eq!(ran, ["same", "put"], "{name}");
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_asks_again_when_it_goes_on() {
    for (name, store, _folder) in both() {
        let seen = Seen::default();
        let outcome = begin(&store, vec![calls(&[("ask", "{}")])], tools(&seen, None)).await;
        assert_eq!(outcome, Some(Outcome::AwaitingApproval), "{name}");
        assert_eq!(store.runs().unwrap()[0].outcome, Some(Outcome::AwaitingApproval));
        let session = resume(&store, vec![], tools(&seen, None)).await;
        assert_eq!(session.outcome(), Some(Outcome::Completed), "{name}");
        assert_eq!(seen.lock().unwrap().len(), 1);
        assert_eq!(store.runs().unwrap()[0].outcome, Some(Outcome::Completed));
    }
}

#[tokio::test]
async fn a_stored_reply_is_never_asked_for_again() {
    for (_, store, _folder) in both() {
        let seen = Seen::default();
        let replies = vec![calls(&[("look", r#"{"n":1}"#)]), calls(&[("same", "{}")])];
        begin(&store, replies, tools(&seen, Some("same"))).await;
        let session = resume(&store, vec![Reply::text("a"), Reply::text("b")], tools(&seen, None)).await;
        assert_eq!(session.summary().steps, 4);
        let looks = seen.lock().unwrap().iter().filter(|c| c.tool == "look").count();
        assert_eq!(looks, 1);
    }
}

#[tokio::test]
async fn a_40_mb_result_is_cut_before_it_is_stored() {
    for (name, store, _folder) in both() {
        let tools = FnTools::new();
        let tools = ["look", "put", "same", "ask"]
            .iter()
            .fold(tools, |tools, name| tools.tool(name, |_| ToolResult::ok("x".repeat(40 * 1024 * 1024))));
        begin(&store, vec![calls(&[("look", "{}")])], tools).await;
        let longest = store.load("r").unwrap().trace.records.iter().map(|r| format!("{r:?}").len()).max().unwrap();
        assert!((1_000..300_000).contains(&longest), "{name}: {longest}");
    }
}

fn record() -> Record {
    Record { input: Input::Cancel, events: Vec::new() }
}

fn put(store: &dyn RunStore, lease: &stagekeeper::store::Lease, n: u64, now: u64) -> Result<(), StoreError> {
    let state = RunState::default();
    store.write(lease, Entry::Record { n, at_ms: 0, record: &record(), state: &state }, now)
}

#[test]
fn two_never_write_one_run() {
    for (name, store, _folder) in both() {
        let header = Header::new(&table(TABLE), "r", "Do it.");
        let now = 1_000_000_000_000;
        let first = store.begin(&header, "", &Holder::here(), now).unwrap();
        assert_eq!(store.begin(&header, "", &Holder::here(), now), Err(StoreError::Exists("r".to_owned())));
        let held = store.claim("r", &Holder::here(), now + LEASE_MS - 1);
        assert!(matches!(held, Err(StoreError::Held { left_ms: 1, .. })), "{name}: {held:?}");
        put(&*store, &first, 1, now).unwrap();

        // A tool that outlasts the lease: it is renewed.
        store.write(&first, Entry::Renew, now + LEASE_MS).unwrap();
        assert!(store.claim("r", &Holder::here(), now + 2 * LEASE_MS - 1).is_err(), "{name}");

        // The holder stalls, another takes over, the stalled one wakes up.
        let second = store.claim("r", &Holder::here(), now + 2 * LEASE_MS).unwrap();
        for late in [put(&*store, &first, 2, now), store.write(&first, Entry::Intents(&[CallNo(1)]), now)] {
            assert_eq!(late, Err(StoreError::Lost("r".to_owned())), "{name}");
        }
        put(&*store, &second, 2, now).unwrap();
        // A record is never written twice or past a gap.
        assert!(put(&*store, &second, 2, now).is_err() && put(&*store, &second, 4, now).is_err());
        let stored = store.load("r").unwrap();
        assert_eq!((stored.trace.records.len(), stored.intents.len()), (2, 0), "{name}");

        store.write(&second, Entry::Release, now).unwrap();
        store.claim("r", &Holder::here(), now).unwrap();
    }
}

#[test]
fn a_dead_holder_and_a_clock_that_went_back_hold_nobody_up() {
    for (name, store, _folder) in both() {
        let header = Header::new(&table(TABLE), "r", "Do it.");
        let now = 1_000_000_000_000;
        let first = store.begin(&header, "", &dead(), now).unwrap();
        let second = store.claim("r", &Holder::here(), now + 1).unwrap();
        assert!(second.fence > first.fence, "{name}");
        // The clock is set back by a year: the lease does not last that long.
        store.claim("r", &Holder::here(), now - 31_536_000_000).unwrap();
    }
}

#[test]
fn ended_runs_that_are_old_are_pruned_and_others_stay() {
    for (name, store, _folder) in both() {
        let now = 1_000_000_000_000;
        for (run, outcome, age) in [
            ("old", Some(Outcome::Completed), 10),
            ("new", Some(Outcome::Exhausted), 0),
            ("waits", Some(Outcome::AwaitingUser), 10),
            ("broke", None, 10),
        ] {
            let lease = store.begin(&Header::new(&table(TABLE), run, "Do it."), "", &dead(), now).unwrap();
            let mut state = RunState::default();
            state.outcome = outcome;
            store.write(&lease, Entry::Record { n: 1, at_ms: 0, record: &record(), state: &state }, now - age).unwrap();
        }
        assert_eq!(store.prune(now - 5), Ok(1), "{name}");
        let mut left: Vec<String> = store.runs().unwrap().into_iter().map(|r| r.run).collect();
        left.sort();
        assert_eq!(left, ["broke", "new", "waits"]);
        assert_eq!(store.load("old").unwrap_err(), StoreError::NoRun("old".to_owned()));
    }
}

#[test]
fn a_newer_store_and_a_file_that_is_none_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 2).unwrap();
    drop(raw);
    let error = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("has format 2, this version reads up to 1; use a newer stagekeeper"), "{error}");

    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "just notes, long enough to be looked at as a file".repeat(100)).unwrap();
    assert!(matches!(SqliteStore::open(&text), Err(StoreError::NotAStore(_))));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("just notes"));

    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE runs (a)").unwrap();
    assert!(matches!(SqliteStore::open(&other), Err(StoreError::NotAStore(_))));

    let nowhere = SqliteStore::open(folder.path().join("no/such/folder.db")).unwrap_err();
    assert!(matches!(nowhere, StoreError::ReadOnly(_)), "{nowhere}");
    assert!(matches!(SqliteStore::existing(folder.path().join("none.db")), Err(StoreError::Other(_))));
}

#[test]
fn a_lease_is_renewed_while_it_is_kept_and_given_back_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store: Arc<dyn RunStore> = Arc::new(SqliteStore::open(&path).unwrap());
    let lease = store.begin(&Header::new(&table(TABLE), "r", "Do it."), "", &Holder::here(), now_ms()).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let lasts_until = || reader.query_row("SELECT until_ms FROM runs", [], |row| row.get::<_, i64>(0)).unwrap();
    let first = lasts_until();
    let kept = Kept::renewed_every(Duration::from_millis(1), store, lease);
    until(|| (lasts_until() > first).then_some(()));
    drop(kept);
    assert_eq!(lasts_until(), 0);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_said() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    let rights = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    rights(folder.path(), 0o755);
    rights(&path, 0o444);
    let mut runs = Command::new(env!("CARGO_BIN_EXE_stagekeeper"));
    runs.args(["runs", "--store"]).arg(&path).current_dir("/");
    if rustix::process::geteuid().is_root() {
        // The superuser may write everything.
        runs.uid(65534).gid(65534);
    }
    match runs.output() {
        Ok(output) => {
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(5), "{told}");
            assert!(told.contains("the store cannot be written: "), "{told}");
        }
        Err(e) => eprintln!("skipped: another user cannot run the command where it lies ({e})"),
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.begin(&Header::new(&table(TABLE), "r", "Do it."), "", &dead(), 0).unwrap();
    store.limit_pages(40).unwrap();
    let record = Record { input: Input::UserMessage { text: "x".repeat(4_000) }, events: Vec::new() };
    let state = RunState::default();
    let mut written = 0;
    let error = loop {
        let entry = Entry::Record { n: written + 1, at_ms: 0, record: &record, state: &state };
        match store.write(&lease, entry, 0) {
            Ok(()) => written += 1,
            Err(e) => break e,
        }
        assert!(written < 1_000, "the store is never full");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(error.to_string().ends_with("make room"), "{error}");
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    assert_eq!(store.load("r").unwrap().trace.records.len() as u64, written);
}

/// Found by reading for overflows: each grant is bounded, their number is not.
#[test]
fn grants_without_end_stop_at_the_largest_number() {
    let table = table("stagekeeper: 1\nworkflow: w\nstages:\n  read: { goal: R., allowed_tools: [], max_steps: 2 }\n");
    let mut session = Session::builder(&table, "Do it.").record(false).start().unwrap();
    for _ in 0..=u32::MAX / 100_000 {
        session.grant("read", 100_000, "ann").unwrap();
    }
    assert_eq!((session.summary().ceiling, session.summary().stages[0].budget), (u32::MAX, u32::MAX));
}

#[test]
fn a_grant_takes_a_run_on_that_a_spent_budget_closed_and_is_on_record() {
    let table = table(
        "stagekeeper: 1\nworkflow: w\nstages:\n  read: { goal: R., allowed_tools: [ls], max_steps: 2 }\n  report: { goal: R., allowed_tools: [], max_steps: 1 }\n",
    );
    let mut session = Session::start(&table, "Do it.");
    let step = |session: &mut Session, n: u32| {
        for ruling in session.judge(Reply::calls(vec![ProposedCall::new("c", "ls", format!("{{\"n\":{n}}}"))])) {
            if let stagekeeper::Verdict::Run(ticket) = ruling.verdict {
                session.finish(ticket, ToolResult::ok(format!("{n}")));
            }
        }
    };
    for n in 0..3 {
        step(&mut session, n);
    }
    assert_eq!(session.outcome(), Some(Outcome::Exhausted));
    assert_eq!(session.grants_needed(), [("report".to_owned(), 3)]);
    assert!(session.grant("nowhere", 1, "ann").unwrap_err().to_string().contains("there is read, report"));
    assert!(session.grant("read", 0, "ann").is_err());
    session.grant("read", 2, "ann").unwrap();
    session.grant("report", 1, "ann").unwrap();
    assert_eq!((session.outcome(), session.view().stage, session.summary().ceiling), (None, "read", 6));
    step(&mut session, 4);
    session.judge(Reply::text("found"));
    session.judge(Reply::text("the answer"));
    assert_eq!(session.outcome(), Some(Outcome::Completed));
    assert_eq!(session.summary().steps, 6);
    assert!(session.grant("read", 1, "ann").is_err());
    let records = session.take_records();
    let granted = records.iter().find(|r| matches!(r.input, Input::Grant { .. })).unwrap();
    assert!(format!("{:?}", granted.events).contains("ann"));
    Session::replay(Session::builder(&table, "Do it."), &records).unwrap();
}

#[tokio::test]
async fn a_run_interrupted_before_its_first_record_still_keeps_how_it_began() {
    for (name, store, _folder) in both() {
        store.begin(&Header::new(&table(TABLE), "r", "Do it."), "", &dead(), now_ms()).unwrap();
        resume(&store, vec![], tools(&Seen::default(), None)).await;
        let trace = store.load("r").unwrap().trace;
        assert_eq!(trace.records[0].record.input, Input::Start, "{name}");
        assert!(go_on(&trace, &table(TABLE)).is_ok());
    }
}

#[test]
fn another_table_takes_a_run_on_only_if_it_judges_the_past_alike() {
    let store = MemoryStore::new();
    let old = table(TABLE);
    let header = Header::new(&old, "r", "Do it.");
    let lease = store.begin(&header, "", &dead(), 0).unwrap();
    let mut session = header.session(&old).start().unwrap();
    session.judge(calls(&[("gone", "{}")]));
    let state = RunState::default();
    for (n, record) in (1..).zip(session.take_records()) {
        store.write(&lease, Entry::Record { n, at_ms: 0, record: &record, state: &state }, 0).unwrap();
    }
    let trace = store.load("r").unwrap().trace;
    // Larger budgets judge alike, and the records take on their numbers.
    let wider = table(&TABLE.replace("max_steps: 4", "max_steps: 9"));
    let gone_on = go_on(&trace, &wider).unwrap();
    let header = Header { table: Header::new(&wider, "r", "").table, ..trace.header.clone() };
    store.rewrite(&lease, &header, &gone_on.records).unwrap();
    let again = store.load("r").unwrap().trace;
    assert!(go_on(&again, &wider).is_ok());
    assert_eq!(gone_on.session.view().steps_left, 8);
    // A table that knows the tool does not.
    let other = table(&TABLE.replace("look", "gone"));
    let difference = go_on(&trace, &other).unwrap_err();
    assert_eq!(difference.record, 2);
}

// The real command.

const LOOP_TABLE: &str = "
stagekeeper: 1
workflow: loop
tools:
  list_files: { effect: read }
  grep_code: { effect: read }
  read_file: { effect: read }
stages:
  look: { goal: Look., allowed_tools: [list_files, grep_code], max_steps: 14 }
  read: { goal: Read., allowed_tools: [read_file], max_steps: 10 }
  report: { goal: Report., allowed_tools: [], max_steps: 2 }
";

struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new(table: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shop = Self { folder };
        std::fs::create_dir(shop.path("src")).unwrap();
        for n in 0..10 {
            std::fs::write(shop.path(&format!("src/f{n}.rs")), format!("fn f{n}() {{}}\n").repeat(5)).unwrap();
        }
        std::fs::write(shop.path("t.yaml"), table).unwrap();
        std::fs::write(shop.path("script.yaml"), script).unwrap();
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stagekeeper"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env_remove("STAGEKEEPER_LOG");
        command
    }

    fn start(&self, store: &str, resume: Option<&str>) -> Child {
        let mut command = match resume {
            Some(run) => self.command(&["resume", run, "--store", store]),
            None => self.command(&[
                "run",
                "t.yaml",
                "--task",
                "Look.",
                "--root",
                "src",
                "--model",
                "script:script.yaml",
                "--store",
                store,
            ]),
        };
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn open(&self, store: &str) -> SqliteStore {
        SqliteStore::existing(self.path(store)).unwrap()
    }
}

fn loop_script() -> String {
    let mut script = "script:\n".to_owned();
    for n in 0..6 {
        script += &format!("  - call: {{ tool: list_files, args: {{ path: \".\", depth: {} }} }}\n", n + 1);
        script += &format!(
            "  - calls: [{{ tool: grep_code, args: {{ pattern: f{n} }} }}, {{ tool: list_files, args: {{ path: f{n}.rs }} }}]\n"
        );
        // Two violations in a row: the stage is rolled back once.
        if n == 2 {
            script += "  - call: { tool: read_file, args: { path: f1.rs } }\n  - call: { tool: rm, args: { n: 1 } }\n";
        }
    }
    for n in 0..9 {
        script += &format!("  - call: {{ tool: read_file, args: {{ path: f{n}.rs }} }}\n");
    }
    script + "  - text: read\n  - text: The answer.\n"
}

/// The records without what time did.
fn untimed(store: &dyn RunStore, run: &str) -> String {
    let trace = store.load(run).unwrap().trace;
    let told = trace.records.iter().map(|stamped| &stamped.record);
    let told = told.filter(|r| !(matches!(r.input, Input::Time { .. }) && r.events.is_empty()));
    told.map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
}

/// The last step that a process told of before it was gone.
fn last_told(stderr: &str) -> u32 {
    let step = |line: &str| line.split(' ').next()?.parse::<u32>().ok();
    stderr.lines().filter_map(step).max().unwrap_or(0)
}

#[test]
fn sigkill_at_any_moment_loses_no_acknowledged_record_and_tears_no_run() {
    const KILLS: u32 = 100;
    let shop = Shop::new(LOOP_TABLE, &loop_script());
    let begun = Instant::now();
    assert!(shop.start("whole.db", None).wait_with_output().unwrap().status.success());
    // Kills fall anywhere within the time a whole run takes.
    let most = u64::try_from(begun.elapsed().as_millis()).unwrap().max(20);
    let whole = shop.open("whole.db");
    let expected = untimed(&whole, &whole.runs().unwrap()[0].run);
    assert!(expected.contains("rolled_back") && expected.lines().count() > 50, "{expected}");

    let (mut kills, mut finished, mut seed) = (0, 0, 0x9e37_79b9_u64);
    let mut killed_at = std::collections::BTreeSet::new();
    let mut run: Option<String> = None;
    while kills < KILLS {
        let mut child = shop.start("killed.db", run.as_deref());
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((seed >> 33) % (most * 3 / 4)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let killed = output.status.code().is_none();
        kills += u32::from(killed);
        assert!(killed || output.status.success(), "{told}");
        let Ok(store) = SqliteStore::existing(shop.path("killed.db")) else { continue };
        assert_eq!(store.integrity().unwrap(), "ok");
        let Some(now) = store.runs().unwrap().into_iter().next() else { continue };
        if killed {
            killed_at.insert(store.load(&now.run).unwrap().trace.records.len());
        }
        // What was told of had been kept.
        assert!(now.steps >= last_told(&told), "{} steps kept, {told}", now.steps);
        // Whatever is there is a beginning of the whole run.
        assert!(expected.starts_with(&untimed(&store, &now.run)), "{}", untimed(&store, &now.run));
        run = match now.outcome {
            Some(outcome) => {
                assert_eq!(outcome, Outcome::Completed);
                assert_eq!(untimed(&store, &now.run), expected);
                finished += 1;
                None
            }
            None => Some(now.run),
        };
    }
    if let Some(run) = run {
        assert!(shop.start("killed.db", Some(&run)).wait_with_output().unwrap().status.success());
        assert_eq!(untimed(&shop.open("killed.db"), &run), expected);
        finished += 1;
    }
    // The kills fell all over the run, not at its begin alone.
    assert!(finished > 1 && killed_at.len() > 10, "{finished} runs ended; kills after {killed_at:?} records");
}

#[test]
fn a_copied_store_is_whole_once_a_run_ended() {
    let shop = Shop::new(LOOP_TABLE, &loop_script());
    assert!(shop.start("runs.db", None).wait_with_output().unwrap().status.success());
    let copy = shop.path("copy.db");
    std::fs::copy(shop.path("runs.db"), &copy).unwrap();
    let copied = SqliteStore::existing(&copy).unwrap();
    assert_eq!(copied.runs().unwrap()[0].outcome, Some(Outcome::Completed));
    assert_eq!(copied.integrity().unwrap(), "ok");
}

#[test]
fn the_run_a_living_process_holds_is_not_resumed_by_another() {
    let shop = Shop::new(LOOP_TABLE, &loop_script());
    let store: Arc<dyn RunStore> = Arc::new(SqliteStore::open(shop.path("runs.db")).unwrap());
    let lease = store.begin(&Header::new(&table(LOOP_TABLE), "r", "Look."), "", &Holder::here(), now_ms()).unwrap();
    let kept = Kept::new(Arc::clone(&store), lease);
    let output = shop.command(&["resume", "r", "--store", "runs.db"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("is held by process {}", std::process::id())), "{told}");
    drop(kept);
    store.claim("r", &Holder::here(), now_ms()).unwrap();
}

/// Waits until `what` gives something.
fn until<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(Instant::now() < end, "nothing came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_tools_of_a_killed_run_left_running_is_ended_before_it_goes_on() {
    let table = "
stagekeeper: 1
workflow: slow
tools:
  run_command: { effect: stateful, idempotent: true, commands: [\"sleep 1000\", \"true\"] }
stages:
  work: { goal: W., allowed_tools: [run_command], max_steps: 3 }
";
    let script = "script:\n  - call: { tool: run_command, args: { command: sleep 1000 } }\n  - text: done\n";
    let shop = Shop::new(table, script);
    let mut child = shop.start("runs.db", None);
    let stored = until(|| {
        let store = SqliteStore::existing(shop.path("runs.db")).ok()?;
        let run = store.runs().ok()?.into_iter().next()?;
        store.load(&run.run).ok().filter(|stored| !stored.groups.is_empty())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let group: Group = stored.groups[0];
    assert!(is_alive(group));
    // The call runs again and hangs again: that this one is another is all that is looked at.
    let mut again = shop.start("runs.db", Some(&stored.trace.header.run));
    until(|| (!is_alive(group)).then_some(()));
    let next = until(|| {
        let now = shop.open("runs.db").load(&stored.trace.header.run).ok()?;
        now.groups.into_iter().find(|g| *g != group)
    });
    again.kill().unwrap();
    again.wait().unwrap();
    stagekeeper::store::end_group(next, &stored.trace.header.run);
}

#[test]
fn a_new_store_may_be_opened_by_many_at_once() {
    let shop = Shop::new(LOOP_TABLE, "script: []\n");
    for round in 0..20 {
        let path = shop.path(&format!("{round}.db"));
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    start.wait();
                    SqliteStore::open(&path).unwrap().runs().unwrap();
                });
            }
        });
    }
}

/// The leader went away and left a child: the group is known by what the child's environment says.
#[cfg(target_os = "linux")]
#[test]
fn what_a_command_left_behind_when_its_shell_was_gone_is_ended_too() {
    let table = "
stagekeeper: 1
workflow: slow
tools:
  run_command: { effect: stateful, commands: [\"sh -c 'sleep 1000 & exec sleep 1000'\"] }
stages:
  work: { goal: W., allowed_tools: [run_command], max_steps: 3 }
";
    let script = "script:\n  - call: { tool: run_command, args: { command: \"sh -c 'sleep 1000 & exec sleep 1000'\" } }\n  - text: done\n";
    let shop = Shop::new(table, script);
    let mut child = shop.start("runs.db", None);
    let stored = until(|| {
        let store = SqliteStore::existing(shop.path("runs.db")).ok()?;
        let run = store.runs().ok()?.into_iter().next()?;
        store.load(&run.run).ok().filter(|stored| !stored.groups.is_empty())
    });
    let group: Group = stored.groups[0];
    let id = rustix::process::Pid::from_raw(group.id).unwrap();
    let members = || {
        let found = Command::new("pgrep").args(["-g", &group.id.to_string()]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().count()
    };
    until(|| (members() == 2).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    until(|| (!is_alive(group)).then_some(()));
    assert!(!stagekeeper::store::end_group(group, "another-run"));
    assert!(stagekeeper::store::end_group(group, &stored.trace.header.run));
    until(|| rustix::process::test_kill_process_group(id).is_err().then_some(()));
}

#[test]
fn a_run_that_a_limit_closed_says_which_grant_it_needs_and_goes_on_with_it() {
    let table = LOOP_TABLE.replace("max_steps: 10", "max_steps: 3");
    let shop = Shop::new(&table, &loop_script());
    let first = shop.start("runs.db", None).wait_with_output().unwrap();
    let store = shop.open("runs.db");
    let run = store.runs().unwrap()[0].clone();
    assert_eq!((first.status.code(), run.outcome), (Some(4), Some(Outcome::Exhausted)));
    assert!(run.near_limit);
    let told = |args: &[&str]| {
        let args: Vec<&str> = ["resume", &run.run, "--store", "runs.db"].iter().chain(args).copied().collect();
        let output = shop.command(&args).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, refused) = told(&[]);
    assert_eq!(code, 4);
    assert!(refused.contains("the run has ended (exhausted); to go on it needs `--grant report=3`"), "{refused}");
    // What is refused leaves nothing behind, or the grant would count twice.
    assert_eq!(told(&["--grant", "read=6", "--grant", "nowhere=3"]).0, 2);
    assert_eq!(told(&["--grant", "read=6", "--model", "builtn"]).0, 2);
    assert_eq!(told(&["--grant", "read=6", "--root", "nowhere"]).0, 2);
    let (code, went_on) = told(&["--grant", "read=6", "--grant", "report=2", "--by", "ann"]);
    assert_eq!(code, 0, "{went_on}");
    let trace = store.load(&run.run).unwrap().trace;
    let grants = || trace.records.iter().filter(|r| matches!(r.record.input, Input::Grant { .. }));
    assert_eq!(grants().count(), 2);
    let granted = grants().next().unwrap();
    assert!(serde_json::to_string(granted).unwrap().contains(r#""stage":"read","steps":6,"by":"ann""#));
}

#[test]
fn a_stored_run_is_listed_exported_and_replayed() {
    let shop = Shop::new(LOOP_TABLE, &loop_script());
    shop.start("runs.db", None).wait_with_output().unwrap();
    let lines = shop.command(&["runs", "--format", "json"]).output().unwrap().stdout;
    let line: serde_json::Value = serde_json::from_slice(&lines).unwrap();
    let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 9);
    let text = String::from_utf8(lines).unwrap();
    let order = ["run", "workflow", "outcome", "stage", "steps", "ceiling", "near_limit", "started", "updated"];
    let at: Vec<usize> = order.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(at.is_sorted(), "{text}");
    let run = line["run"].as_str().unwrap();
    assert!(shop.command(&["runs", "--export", run, "-o", "t.jsonl"]).status().unwrap().success());
    assert!(shop.command(&["replay", "t.jsonl"]).status().unwrap().success());
    assert!(shop.command(&["draw", "t.jsonl", "-o", "t.html"]).status().unwrap().success());
    let none = shop.command(&["runs", "--outcome", "exhausted"]).output().unwrap().stdout;
    assert_eq!(String::from_utf8(none).unwrap().lines().count(), 1);
    assert_eq!(shop.command(&["resume", "nothing"]).status().unwrap().code(), Some(2));
    assert!(Path::new(&shop.path("runs.db")).exists());
}
