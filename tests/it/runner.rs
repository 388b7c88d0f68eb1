//! The runner: concurrency, time-outs, people, cancelling, and that everything is closed once.

use serde_json::json;
use stagekeeper::run::{
    Always, Answer, Asker, Cancel, FnTools, MemorySink, Model, ModelError, ModelErrorKind, Question, Report, RunError,
    Runner, SinkError, ToolCall, ToolHost, TraceSink, Unanswered,
};
use stagekeeper::{
    Input, LimitKind, Message, Outcome, ProposedCall, Record, Reply, Session, SessionBuilder, StageTable, Status,
    ToolResult, ToolSpec, View,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One stage with reading and writing tools, and a report.
const TABLE: &str = "
stagekeeper: 1
workflow: work
tools:
  slow: { effect: read, timeout: 30s }
  look: { effect: read }
  put: { effect: write, repeats: 9 }
  shell: { effect: stateful }
  hang: { effect: write, repeats: 9, timeout: 5s }
  boom: { effect: read }
  ask: { effect: write, repeats: 9, approval: always }
stages:
  work: { goal: Work., allowed_tools: [slow, look, put, shell, hang, boom, ask], max_steps: 6 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

/// A table of one working stage with these tools and their effects.
fn of_tools(tools: &[(&str, &str)], steps: u32) -> String {
    let names: Vec<_> = tools.iter().map(|(name, _)| *name).collect();
    let catalogue: String = tools.iter().map(|(name, effect)| format!("  {name}: {{ effect: {effect} }}\n")).collect();
    format!(
        "stagekeeper: 1\nworkflow: w\ntools:\n{catalogue}stages:\n  work: {{ goal: W., allowed_tools: [{}], max_steps: {steps} }}\n  report: {{ goal: R., allowed_tools: [], max_steps: 1 }}\n",
        names.join(", ")
    )
}

fn table(text: &str) -> StageTable {
    StageTable::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn builder(text: &str) -> SessionBuilder {
    Session::builder(&table(text), "Do it.").run_id("r")
}

fn session(text: &str) -> Session {
    builder(text).start().unwrap()
}

fn reply(calls: &[(&str, &str)]) -> Reply {
    let calls = calls.iter().enumerate();
    Reply::calls(calls.map(|(n, (tool, args))| ProposedCall::new(format!("id{n}"), *tool, *args)).collect())
}

type Seen = Arc<Mutex<Vec<Vec<Message>>>>;

/// Replies from a list, and "Done." after its end. Checks every view as a strict provider would.
#[derive(Default)]
struct Says {
    replies: VecDeque<Result<Reply, ModelError>>,
    seen: Seen,
}

impl Says {
    fn boxed(replies: impl IntoIterator<Item = Reply>) -> Box<Self> {
        Box::new(Self { replies: replies.into_iter().map(Ok).collect(), seen: Seen::default() })
    }
}

impl Model for Says {
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        every_call_is_answered(view.messages);
        self.seen.lock().unwrap().push(view.messages.to_vec());
        let reply = self.replies.pop_front().unwrap_or_else(|| Ok(Reply::text("Done.")));
        Box::pin(std::future::ready(reply))
    }
}

/// Every id is answered once, in order, right after the calls.
fn every_call_is_answered(messages: &[Message]) {
    let mut open = VecDeque::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } => assert_eq!(open.pop_front().as_ref(), Some(id)),
            other => {
                assert!(open.is_empty(), "{open:?} before {other:?}");
                if let Message::Assistant { calls, .. } = other {
                    open.extend(calls.iter().map(|call| call.id.clone()));
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Tools that note what they do: `>` begun, `<` ended, `x` dropped before the end, `closed`.
#[derive(Clone, Default)]
struct Tools {
    log: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<String>>>,
    fails_to_close: bool,
}

struct Begun<'t>(&'t Tools, String, bool);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.note(format!("{}{}", if self.2 { '<' } else { 'x' }, self.1));
    }
}

impl Tools {
    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().join(" ")
    }

    fn closed(&self) -> usize {
        self.log.lock().unwrap().iter().filter(|what| *what == "closed").count()
    }
}

impl ToolHost for Tools {
    fn tools(&self) -> Vec<ToolSpec> {
        ["slow", "look", "put", "shell", "hang", "boom", "ask"].map(ToolSpec::named).to_vec()
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
        self.keys.lock().unwrap().push(call.idempotency_key.clone());
        Box::pin(async move {
            let args: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            let seconds = args["s"].as_u64().unwrap_or_default();
            let name = format!("{}{}", call.tool, if seconds > 0 { seconds.to_string() } else { String::new() });
            self.note(format!(">{name}"));
            let mut begun = Begun(self, name.clone(), false);
            if call.tool == "boom" {
                panic!("boom at {name}");
            }
            if call.tool == "hang" {
                std::future::pending::<()>().await;
            }
            if seconds > 0 {
                sleep(Duration::from_secs(seconds)).await;
            }
            begun.2 = true;
            ToolResult::ok(format!("{name} done"))
        })
    }

    fn close(&self) -> Answer<'_, Result<(), String>> {
        Box::pin(async {
            self.note("closed".to_owned());
            if self.fails_to_close { Err("the door is stuck".to_owned()) } else { Ok(()) }
        })
    }
}

fn runner(replies: impl IntoIterator<Item = Reply>, tools: &Tools) -> Runner {
    Runner::new(Says::boxed(replies), Box::new(tools.clone()))
}

/// The texts that answer the calls of the last reply that held any.
fn answers(session: &Session) -> Vec<String> {
    let messages = session.view().messages;
    every_call_is_answered(messages);
    let tool = |message: &Message| match message {
        Message::Tool { text, .. } => Some(text.to_string()),
        _ => None,
    };
    messages.iter().filter_map(tool).collect()
}

async fn run(runner: Runner, session: &mut Session) -> Report {
    runner.run(session).await.unwrap_or_else(|e| panic!("{e}"))
}

#[tokio::test(start_paused = true)]
async fn adjacent_reads_run_together_and_writes_one_after_another() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let calls = [
        ("slow", r#"{"s":3}"#),
        ("slow", r#"{"s":1}"#),
        ("look", r#"{"s":2}"#),
        ("put", r#"{"s":2}"#),
        ("put", r#"{"s":1}"#),
        ("look", r#"{"s":4}"#),
        ("shell", r#"{"s":5}"#),
    ];
    let begun = Instant::now();
    let sink = MemorySink::new();
    let report = run(runner([reply(&calls)], &tools).sink(Box::new(sink.clone())), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(
        tools.log(),
        ">slow3 >slow1 >look2 <slow1 <look2 <slow3 >put2 <put2 >put1 <put1 >look4 <look4 >shell5 <shell5 closed"
    );
    // 3 together, then 2 + 1 + 4 + 5 alone.
    assert_eq!(begun.elapsed(), Duration::from_secs(15));
    assert_eq!(
        answers(&session),
        ["slow3", "slow1", "look2", "put2", "put1", "look4", "shell5"].map(|name| format!("{name} done")),
    );
    let results: Vec<_> = sink
        .records()
        .iter()
        .filter_map(|r| match &r.input {
            Input::Result { call, .. } => Some(call.0),
            _ => None,
        })
        .collect();
    assert_eq!(results, [1, 2, 3, 4, 5, 6, 7], "handed in, in the model's order");
    assert_eq!(*tools.keys.lock().unwrap(), ["r-1", "r-2", "r-3", "r-4", "r-5", "r-6", "r-7"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_ended_and_its_end_is_unknown() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let begun = Instant::now();
    let sink = MemorySink::new();
    let calls = [("hang", "{}"), ("look", r#"{"s":100}"#), ("look", "{}")];
    let runner = runner([reply(&calls)], &tools).tool_timeout(Duration::from_secs(7)).sink(Box::new(sink.clone()));
    run(runner, &mut session).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(12));
    assert_eq!(tools.log(), ">hang xhang >look100 >look <look xlook100 closed");
    let results: Vec<_> = sink
        .records()
        .into_iter()
        .filter_map(|r| match r.input {
            Input::Result { result, .. } => Some((result.status, result.text)),
            _ => None,
        })
        .collect();
    let late = |limit| format!("timed out after {limit}; nobody knows whether it took effect");
    assert_eq!(
        results,
        [(Status::Unknown, late("5s")), (Status::Unknown, late("7s")), (Status::Ok, "look done".to_owned())]
    );
}

#[tokio::test]
async fn a_panic_of_a_tool_is_a_failed_call_and_its_siblings_are_not_lost() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let report = run(runner([reply(&[("look", "{}"), ("boom", "{}"), ("put", "{}")])], &tools), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(report.summary.tools["boom"].failed, 1);
    assert_eq!(answers(&session), ["look done", "the tool broke: boom at boom", "put done"]);
    assert_eq!(tools.log(), ">look <look >boom xboom >put <put closed");
}

#[tokio::test]
async fn a_crashed_write_may_have_taken_effect() {
    let tools = FnTools::new().tool("put", |_| panic!("half-way")).tool("look", |_| ToolResult::ok("x"));
    let text = of_tools(&[("look", "read"), ("put", "write")], 3);
    let mut session = session(&text);
    let sink = MemorySink::new();
    let runner = Runner::new(Says::boxed([reply(&[("put", "{}")])]), Box::new(tools)).sink(Box::new(sink.clone()));
    run(runner, &mut session).await;
    let unknown =
        Input::Result { call: stagekeeper::CallNo(1), result: ToolResult::unknown("the tool broke: half-way") };
    assert!(sink.records().iter().any(|r| r.input == unknown));
}

#[tokio::test]
async fn results_are_bounded_and_made_safe_before_the_engine_sees_them() {
    let tools = FnTools::new()
        .tool("look", |_| ToolResult::ok("x".repeat(50 * 1024 * 1024)))
        .tool("slow", |_| ToolResult::ok("a\u{1b}[31mb\u{7}"));
    let text = of_tools(&[("look", "read"), ("slow", "read")], 3);
    let mut session = session(&text);
    let sink = MemorySink::new();
    let replies = [reply(&[("look", "{}"), ("slow", "{}")])];
    run(Runner::new(Says::boxed(replies), Box::new(tools)).sink(Box::new(sink.clone())), &mut session).await;
    let texts: Vec<_> = sink
        .records()
        .into_iter()
        .filter_map(|r| match r.input {
            Input::Result { result, .. } => Some(result.text),
            _ => None,
        })
        .collect();
    assert!(texts[0].len() < 257 * 1024, "{}", texts[0].len());
    assert_eq!(texts[1], "ab\\u{7}");
}

/// A sink that fails at its n-th record.
struct FailsAt(usize, Arc<AtomicUsize>);

impl TraceSink for FailsAt {
    fn write(&mut self, _: &Record) -> Result<(), SinkError> {
        if self.1.fetch_add(1, Ordering::Relaxed) + 1 == self.0 {
            return Err(SinkError("the disk is full".to_owned()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn nothing_is_done_that_could_not_be_recorded_first() {
    // Records: 1 start, 2 reply, 3 result of `put`, 4 result of `shell`, 5 reply, 6 reply.
    for (n, log) in [
        (1, "closed"),
        (2, "closed"),
        (3, ">put <put closed"),
        (4, ">put <put >shell <shell closed"),
        (5, ">put <put >shell <shell closed"),
        (6, ">put <put >shell <shell closed"),
    ] {
        let (tools, mut session) = (Tools::default(), session(TABLE));
        let runner = runner([reply(&[("put", "{}"), ("shell", "{}")])], &tools);
        let sink = FailsAt(n, Arc::default());
        let count = Arc::clone(&sink.1);
        let error = runner.sink(Box::new(sink)).run(&mut session).await.unwrap_err();
        assert_eq!(error.to_string(), "the run stopped: the disk is full");
        assert!(matches!(error, RunError::Sink { .. }));
        assert_eq!(tools.log(), log, "{n}");
        assert_eq!(count.load(Ordering::Relaxed), n, "nothing is written after a record was lost");
    }
}

#[tokio::test]
async fn the_tools_are_closed_once_on_every_end() {
    let ends: [(&str, Vec<Reply>); 4] = [
        ("completed", vec![reply(&[("look", "{}")])]),
        ("exhausted", (0..9).map(|n| reply(&[("look", &format!("{{\"n\":{n}}}"))])).collect()),
        ("declined", vec![Reply { finish: stagekeeper::Finish::Refusal, ..Reply::text("No.") }]),
        ("completed", vec![reply(&[("boom", "{}")])]),
    ];
    for (outcome, replies) in ends {
        let tools = Tools { fails_to_close: true, ..Tools::default() };
        let report = run(runner(replies, &tools), &mut session(TABLE)).await;
        assert_eq!(report.summary.outcome.map(Outcome::as_str), Some(outcome));
        assert_eq!(tools.closed(), 1, "{outcome}");
        assert!(tools.log().ends_with("closed"), "{outcome}: {}", tools.log());
        assert_eq!(report.not_closed, ["the door is stuck"]);
    }
}

fn failure(kind: ModelErrorKind) -> Result<Reply, ModelError> {
    Err(ModelError { kind, message: "the server is away".to_owned() })
}

#[tokio::test]
async fn a_model_that_cannot_be_reached_pauses_the_run_and_a_later_run_goes_on() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let replies = [Ok(reply(&[("look", "{}")])), failure(ModelErrorKind::Unreachable)];
    let model = Says { replies: replies.into_iter().collect(), seen: Seen::default() };
    let report = run(Runner::new(Box::new(model), Box::new(tools.clone())), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::ProviderError));
    assert_eq!(report.summary.steps, 1, "a failure charges nothing");
    assert_eq!(report.model_error.map(|e| e.message).as_deref(), Some("the server is away"));
    assert_eq!(tools.closed(), 1);
    let report = run(runner([], &tools), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(report.model_error, None);
}

#[tokio::test]
async fn a_model_that_cannot_take_the_view_twice_ends_the_run() {
    let model = Says {
        replies: [failure(ModelErrorKind::Overflow), failure(ModelErrorKind::Overflow)].into_iter().collect(),
        seen: Seen::default(),
    };
    let seen = Arc::clone(&model.seen);
    let report = run(Runner::new(Box::new(model), Box::new(Tools::default())), &mut session(TABLE)).await;
    assert_eq!(report.summary.outcome, Some(Outcome::ContextOverflow));
    assert_eq!(seen.lock().unwrap().len(), 2);
}

/// A model that breaks.
struct Breaks;

impl Model for Breaks {
    fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        Box::pin(async { panic!("no such index") })
    }
}

#[tokio::test]
async fn a_panic_or_an_endless_reply_of_a_model_is_a_provider_error() {
    let tools = Tools::default();
    let report = run(Runner::new(Box::new(Breaks), Box::new(tools.clone())), &mut session(TABLE)).await;
    assert_eq!(report.summary.outcome, Some(Outcome::ProviderError));
    assert_eq!(report.model_error.map(|e| e.message).as_deref(), Some("the model's adapter broke: no such index"));
    assert_eq!(tools.closed(), 1);
    let long = Reply::text("x".repeat(5_000_000));
    let report = run(runner([long], &tools), &mut session(TABLE)).await;
    assert_eq!(
        report.model_error.map(|e| e.message).as_deref(),
        Some("the model's reply is 5000000 bytes long; the most is 4194304")
    );
}

#[tokio::test]
async fn a_stage_may_have_a_model_of_its_own() {
    let text = TABLE.replace("{ goal: Report.,", "{ goal: Report., model: strong,");
    let tools = Tools::default();
    let error = runner([], &tools).run(&mut session(&text)).await.unwrap_err();
    assert_eq!(error.to_string(), "stage `report` wants the model `strong`, and none is given for it");
    assert_eq!(tools.log(), "", "nothing was done, nothing opened");
    let strong = Says::boxed([Reply::text("The strong one.")]);
    let runner = runner([reply(&[("look", "{}")]), Reply::text("On.")], &tools).stage_model("strong", strong);
    assert_eq!(run(runner, &mut session(&text)).await.summary.text, "The strong one.");
}

/// Seconds until the answer, and the answer.
type Prepared = VecDeque<(u64, Option<bool>)>;

/// A person with prepared answers, each after some seconds.
#[derive(Clone, Default)]
struct Person {
    answers: Arc<Mutex<Prepared>>,
    says: Arc<Mutex<VecDeque<String>>>,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Person {
    fn who(answers: impl IntoIterator<Item = (u64, Option<bool>)>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }
}

impl Asker for Person {
    fn approve<'a>(&'a mut self, question: &'a Question) -> Answer<'a, Option<bool>> {
        self.asked.lock().unwrap().push(question.clone());
        let (seconds, answer) = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move {
            sleep(Duration::from_secs(seconds)).await;
            answer
        })
    }

    fn user<'a>(&'a mut self, text: &'a str) -> Answer<'a, Option<String>> {
        let question = Question { text: text.to_owned(), call: None, stage: None, products: Vec::new() };
        self.asked.lock().unwrap().push(question);
        let said = self.says.lock().unwrap().pop_front();
        Box::pin(std::future::ready(said))
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_about_the_call_in_its_place_and_their_time_is_waiting() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let person = Person::who([(40, Some(true)), (2, Some(false))]);
    let sink = MemorySink::new();
    let calls = [("put", "{}"), ("ask", r#"{"a": 1}"#), ("put", r#"{"b":2}"#), ("ask", r#"{"a": 2}"#)];
    let runner = runner([reply(&calls)], &tools).asker(Box::new(person.clone())).sink(Box::new(sink.clone()));
    run(runner, &mut session).await;
    assert_eq!(tools.log(), ">put <put >ask <ask >put <put closed");
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].call, Some(("ask".to_owned(), r#"{"a": 1}"#.to_owned())));
    let waited: Vec<_> = sink
        .records()
        .into_iter()
        .filter_map(|r| match r.input {
            Input::Time { ms, waiting } => Some((ms, waiting)),
            _ => None,
        })
        .collect();
    assert_eq!(waited, [(40_000, true), (2_000, true)]);
    let said = answers(&session);
    assert_eq!(said[1], "ask done");
    assert_eq!(
        said[3],
        "Not run: a person was asked about this call of ask and said no. Do not try it again another way."
    );
    assert_eq!(session.summary().violations, 1, "a person's no is a violation");
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_a_no_or_a_pause() {
    for person in [Person::who([(0, None)]), Person::who([(7200, Some(true))])] {
        let (tools, mut session) = (Tools::default(), session(TABLE));
        let runner = runner([reply(&[("ask", "{}"), ("look", "{}")])], &tools).asker(Box::new(person));
        let report = run(runner, &mut session).await;
        assert_eq!(report.summary.outcome, Some(Outcome::Completed));
        assert_eq!(tools.log(), ">look <look closed");
    }
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let pausing = runner([reply(&[("ask", "{}"), ("look", "{}")])], &tools).unanswered(Unanswered::Pause);
    let report = run(pausing, &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::AwaitingApproval));
    assert_eq!(tools.log(), ">look <look closed");
    // Somebody is there now: the very call runs, once.
    let report = run(runner([], &tools).asker(Box::new(Always(true))), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(tools.log(), ">look <look closed >ask <ask closed");
    assert_eq!(answers(&session), ["ask done", "look done"]);
}

#[tokio::test]
async fn a_person_admits_the_run_to_a_stage_seeing_the_products() {
    let text = TABLE.replace("{ goal: Report.,", "{ goal: Report., approval: always,");
    for (answer, outcome) in [(Some(true), Outcome::Completed), (Some(false), Outcome::Exhausted)] {
        let (tools, mut session) = (Tools::default(), session(&text));
        let person = Person::who([(0, answer)]);
        let replies = [reply(&[("look", "{}")]), Reply::text("The plan.")];
        let report = run(runner(replies, &tools).asker(Box::new(person.clone())), &mut session).await;
        assert_eq!(report.summary.outcome, Some(outcome));
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].stage.as_deref(), Some("report"));
        assert_eq!(asked[0].products, [("work".to_owned(), "The plan.".to_owned())]);
    }
}

#[tokio::test]
async fn a_conversation_goes_on_while_the_user_answers() {
    let text = "
stagekeeper: 1
workflow: chat
tools: { look: { effect: read } }
stages:
  talk: { goal: Talk., allowed_tools: [look], max_steps: 5, conversation: true, leave_by: [advance] }
  bye: { goal: Say goodbye., allowed_tools: [], max_steps: 1 }
";
    let tools = FnTools::new().tool("look", |_| ToolResult::ok("x"));
    let person = Person::default();
    person.says.lock().unwrap().push_back("A red one.".to_owned());
    let replies = [Reply::text("Which one?"), Reply::text("How many?")];
    let model = Says::boxed(replies);
    let seen = Arc::clone(&model.seen);
    let mut session = session(text);
    let report = run(Runner::new(model, Box::new(tools)).asker(Box::new(person.clone())), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::AwaitingUser), "nobody answers the second question");
    let asked: Vec<_> = person.asked.lock().unwrap().iter().map(|q| q.text.clone()).collect();
    assert_eq!(asked, ["Which one?", "How many?"]);
    let seen = seen.lock().unwrap();
    assert!(seen[1].iter().any(|m| matches!(m, Message::User { text } if text == "A red one.")));
}

const POLL: &str = "
stagekeeper: 1
workflow: wait
tools:
  status: { effect: poll, every: 10s, until: result.json.state == 'done', repeats: 6 }
stages:
  wait: { goal: Wait., allowed_tools: [status], max_steps: 3 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

fn status(done_at: usize) -> (FnTools, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let tools = FnTools::new().tool("status", {
        let count = Arc::clone(&count);
        move |_| {
            let n = count.fetch_add(1, Ordering::Relaxed) + 1;
            ToolResult::ok(json!({"state": if n >= done_at { "done" } else { "busy" }, "n": n}).to_string())
        }
    });
    (tools, count)
}

#[tokio::test(start_paused = true)]
async fn a_poll_tool_is_repeated_by_the_host_and_the_model_sees_the_last_result() {
    // (done at, table, calls, seconds, the model sees)
    let declared = POLL.replace("repeats: 6", "repeats: 6, timeout: 25s");
    for (done_at, text, calls, seconds, shown) in [
        (4, POLL, 4, 30, r#"{"n":4,"state":"done"}"#),
        (1, POLL, 1, 0, r#"{"n":1,"state":"done"}"#),
        (99, POLL, 6, 50, r#"{"n":6,"state":"busy"}"#),
        (99, &declared, 3, 20, r#"{"n":3,"state":"busy"}"#),
    ] {
        let (tools, count) = status(done_at);
        let mut session = session(text);
        let begun = Instant::now();
        let report = run(Runner::new(Says::boxed([reply(&[("status", "{}")])]), Box::new(tools)), &mut session).await;
        assert_eq!(count.load(Ordering::Relaxed), calls);
        assert_eq!(begun.elapsed(), Duration::from_secs(seconds));
        assert_eq!(report.summary.tools["status"].run, 1, "one call, one step");
        assert_eq!(answers(&session), [shown]);
    }
}

#[tokio::test(start_paused = true)]
async fn polling_can_be_cancelled() {
    let (tools, count) = status(99);
    let mut session = session(POLL);
    let cancel = Cancel::new();
    let runner = Runner::new(Says::boxed([reply(&[("status", "{}")])]), Box::new(tools)).cancel(cancel.clone());
    let (report, ()) = tokio::join!(run(runner, &mut session), async {
        sleep(Duration::from_secs(25)).await;
        cancel.cancel();
    });
    assert_eq!(report.summary.outcome, Some(Outcome::Cancelled));
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_outlast_the_time_of_the_run() {
    let text = format!("{TABLE}limits: {{ max_time: 3s }}\n");
    let (tools, mut session) = (Tools::default(), session(&text));
    let begun = Instant::now();
    let report = run(runner([reply(&[("look", "{}"), ("slow", r#"{"s":20}"#)])], &tools), &mut session).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(tools.log(), ">look <look >slow20 xslow20 closed");
    assert_eq!(report.summary.outcome, Some(Outcome::Exhausted));
    assert_eq!(report.summary.limit.map(|l| l.kind), Some(LimitKind::Time));
    assert_eq!(report.summary.text, "Done.", "the closing request is still made");
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_whatever_is_waited_for() {
    let model = || -> Box<dyn Model> { Box::new(Silent) };
    let says = |tool: &str| -> Box<dyn Model> { Says::boxed([reply(&[("look", "{}"), (tool, "{}"), ("put", "{}")])]) };
    for (model, log) in
        [(model(), "closed"), (says("hang"), ">look <look >hang xhang closed"), (says("ask"), ">look <look closed")]
    {
        let (tools, mut session) = (Tools::default(), session(TABLE));
        let cancel = Cancel::new();
        let runner = Runner::new(model, Box::new(tools.clone()))
            .asker(Box::new(Person::who([(1000, Some(true))])))
            .cancel(cancel.clone());
        let (report, ()) = tokio::join!(run(runner, &mut session), async {
            sleep(Duration::from_secs(2)).await;
            cancel.cancel();
        });
        assert_eq!(report.summary.outcome, Some(Outcome::Cancelled), "{log}");
        assert_eq!(tools.log(), log);
        answers(&session);
        assert!(!report.summary.not_undone.iter().any(|w| w.tool == "put"), "it never began: {log}");
    }
}

/// A sink that cancels when the n-th record comes.
struct CancelsAt(usize, usize, Cancel, MemorySink);

impl TraceSink for CancelsAt {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        self.1 += 1;
        if self.1 == self.0 {
            self.2.cancel();
        }
        self.3.write(record)
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_at_any_record_leaves_a_whole_run_behind() {
    let replies = || {
        [
            reply(&[("look", "{}"), ("slow", r#"{"s":1}"#), ("rm", "{}"), ("put", r#"{"s":1}"#)]),
            reply(&[("ask", "{}"), ("shell", r#"{"s":2}"#), ("boom", "{}")]),
            Reply::text("On."),
        ]
    };
    let mut cancelled = 0;
    for n in 1..100 {
        let (tools, mut session) = (Tools::default(), session(TABLE));
        let (cancel, kept) = (Cancel::new(), MemorySink::new());
        let sink = CancelsAt(n, 0, cancel.clone(), kept.clone());
        let asker = Box::new(Person::who([(3, Some(true))]));
        let report =
            run(runner(replies(), &tools).asker(asker).cancel(cancel.clone()).sink(Box::new(sink)), &mut session).await;
        answers(&session);
        assert_eq!(tools.closed(), 1, "{n}: {}", tools.log());
        assert!(tools.log().ends_with("closed"), "{n}: {}", tools.log());
        let begun = tools.log().matches('>').count();
        let ended = tools.log().matches('<').count() + tools.log().matches('x').count();
        assert_eq!(begun, ended, "{n}: {}", tools.log());
        let replayed = Session::replay(builder(TABLE), &kept.records()).unwrap_or_else(|e| panic!("{n}: {e}"));
        assert_eq!(replayed.summary(), report.summary, "the trace holds the whole run");
        if !cancel.is_cancelled() {
            assert_eq!(report.summary.outcome, Some(Outcome::Completed));
            break;
        }
        cancelled += 1;
        // What a cancelled run has not done, a later one goes on with.
        if report.summary.outcome == Some(Outcome::Cancelled) {
            let report = run(runner([], &tools), &mut session).await;
            assert_eq!(report.summary.outcome, Some(Outcome::Completed), "{n}");
        }
    }
    assert!(cancelled > 12, "{cancelled}");
}

#[tokio::test]
async fn a_resumed_run_does_not_do_a_write_twice() {
    let mut first = session(TABLE);
    let rulings = first.judge(reply(&[("look", "{}"), ("put", "{}"), ("slow", "{}")]));
    assert_eq!(rulings.len(), 3);
    // The process ends here; the records are fed to a new session.
    let mut session = Session::replay(builder(TABLE), &first.take_records()).unwrap();
    let tools = Tools::default();
    let report = run(runner([], &tools), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(tools.log(), ">look <look >slow <slow closed");
    let said = answers(&session);
    assert_eq!(said[1], "the run was interrupted here; nobody knows whether this call took effect");
}

#[tokio::test]
async fn a_model_and_tools_that_are_always_ready_do_not_starve_the_task_that_cancels() {
    let text = of_tools(&[("look", "read")], 100_000);
    let cancel = Cancel::new();
    /// Calls for ever.
    struct Flood(u64);
    impl Model for Flood {
        fn reply<'a>(&'a mut self, _: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
            self.0 += 1;
            Box::pin(std::future::ready(Ok(reply(&[("look", &format!("{{\"n\":{}}}", self.0))]))))
        }
    }
    let tools = FnTools::new().tool("look", |call| ToolResult::ok(call.arguments.as_str()));
    let mut session = builder(&text).record(false).start().unwrap();
    let runner = Runner::new(Box::new(Flood(0)), Box::new(tools)).cancel(cancel.clone());
    let (report, ()) = tokio::join!(run(runner, &mut session), async { cancel.cancel() });
    assert_eq!(report.summary.outcome, Some(Outcome::Cancelled));
    assert!(report.summary.steps < 10_000, "{}", report.summary.steps);
}

#[tokio::test]
async fn what_was_ended_is_not_run_again() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    run(runner([reply(&[("look", "{}")])], &tools), &mut session).await;
    let steps = session.summary().steps;
    let report = run(runner([reply(&[("look", "{}")])], &tools), &mut session).await;
    assert_eq!((report.summary.outcome, report.summary.steps), (Some(Outcome::Completed), steps));
}

#[tokio::test]
async fn the_control_tool_is_never_handed_to_the_host() {
    let (tools, mut session) = (Tools::default(), session(TABLE));
    let replies = [reply(&[("look", "{}"), ("advance", r#"{"summary": "Seen."}"#)])];
    let report = run(runner(replies, &tools), &mut session).await;
    assert_eq!(report.summary.outcome, Some(Outcome::Completed));
    assert_eq!(report.summary.steps, 2);
    assert_eq!(tools.log(), ">look <look closed");
}

#[tokio::test]
async fn a_command_that_a_cancelled_run_was_waiting_for_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let text = of_tools(&[("run_command", "write")], 3);
    let mut session = session(&text);
    let tools = stagekeeper::run::BuiltinTools::open(dir.path()).unwrap().commands(vec!["sh -c *".to_owned()]);
    let command = json!({"command": "sh -c 'echo $$ > pid.part; mv pid.part pid; sleep 60; true'"}).to_string();
    let cancel = Cancel::new();
    let model = Says::boxed([reply(&[("run_command", &command)])]);
    let runner = Runner::new(model, Box::new(tools)).cancel(cancel.clone());
    let pid = dir.path().join("pid");
    let begun = Instant::now();
    let (report, ()) = tokio::join!(run(runner, &mut session), async {
        while !pid.exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it did not begin");
            sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    assert_eq!(report.summary.outcome, Some(Outcome::Cancelled));
    assert_eq!(report.not_closed, Vec::<String>::new());
    let pid = std::fs::read_to_string(pid).unwrap();
    let alive = std::process::Command::new("kill").args(["-0", pid.trim()]).output().unwrap();
    assert!(!alive.status.success(), "it is gone when the run is over");
    assert_eq!(report.summary.not_undone.len(), 1, "nobody knows whether it took effect");
}
