//! Every budget, every width of replies, every way to end: never more steps than the budget, and no dangling call id.

use stagekeeper::run::{
    Answer, Cancel, FnTools, MemorySink, Model, ModelError, ModelErrorKind, Report, Runner, ToolHost,
};
use stagekeeper::{Message, Outcome, ProposedCall, Reply, Session, StageTable, ToolChoice, ToolResult, ToolSpec, View};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a run is brought to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The model answers when it is asked for the answer.
    Done,
    /// It calls for ever.
    Limit,
    /// It calls for ever, and every tool fails.
    Error,
    /// The caller cancels half-way.
    Cancel,
    /// And goes on afterwards.
    Resume,
}

const ENDS: [End; 5] = [End::Done, End::Limit, End::Error, End::Cancel, End::Resume];

/// One stage of `n` steps; `dig` is a nested run.
fn table(n: u32) -> Result<StageTable, stagekeeper::TableError> {
    let main = format!(
        "stagekeeper: 1\nworkflow: m\ntools:\n  dig: {{ effect: read, workflow: dig.yaml }}\n  look: {{ effect: read }}\nstages:\n  work: {{ goal: W., allowed_tools: [dig, look], max_steps: {n} }}\n"
    );
    let dig = "stagekeeper: 1\nworkflow: dig\ntools:\n  look: { effect: read }\nstages:\n  down: { goal: D., allowed_tools: [look], max_steps: 9 }\n  up: { goal: U., allowed_tools: [], max_steps: 1 }\n";
    StageTable::parse_with("m.yaml", &main, &mut |_| Ok(dig.to_owned()))
}

/// As strict as a provider that answers 400; calls with `width` calls a reply, or answers.
struct Strict {
    end: End,
    width: usize,
    nested: bool,
    asked: usize,
    cancel: Option<(usize, Cancel)>,
    broken: Arc<AtomicBool>,
}

impl Strict {
    fn says(&mut self, view: &View<'_>) -> Result<Reply, String> {
        strict(view.messages)?;
        self.asked += 1;
        let answers = !matches!(self.end, End::Limit | End::Error);
        if answers && view.tool_choice == ToolChoice::None {
            return Ok(Reply::text("that is it"));
        }
        let call = |n: usize| {
            let tool = if self.nested && n == 0 && view.tools.iter().any(|t| t.name == "dig") { "dig" } else { "look" };
            // Ids come again in every reply, as they do with real providers.
            ProposedCall::new(format!("call_{n}"), tool, format!("{{\"n\":\"{}-{n}\"}}", view.messages.len()))
        };
        Ok(Reply::calls((0..self.width).map(call).collect()))
    }
}

impl Model for Strict {
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let said = self.says(&view);
        if let Some((at, cancel)) = &self.cancel
            && self.asked == *at
        {
            cancel.cancel();
            return Box::pin(std::future::pending());
        }
        if said.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        let said = said.map_err(|message| ModelError { kind: ModelErrorKind::BadReply, message });
        Box::pin(std::future::ready(said))
    }
}

fn strict(messages: &[Message]) -> Result<(), String> {
    let mut open: VecDeque<&str> = VecDeque::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } if open.front() == Some(&id.as_str()) => {
                open.pop_front();
            }
            Message::Tool { id, .. } => return Err(format!("400: nobody called `{id}` here")),
            _ if !open.is_empty() => return Err(format!("400: {open:?} must be answered first")),
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|c| c.id.as_str())),
            Message::User { .. } => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("400: {open:?} are not answered")) }
}

fn tools(fail: bool) -> Box<dyn ToolHost> {
    Box::new(FnTools::new().tool("look", move |call| {
        if fail {
            ToolResult::error(format!("no {}", call.arguments))
        } else {
            ToolResult::ok(format!("found {}", call.arguments))
        }
    }))
}

async fn run(session: &mut Session, model: Strict, cancel: Cancel, sink: &MemorySink) -> Report {
    let fails = model.end == End::Error;
    let runner = Runner::new(Box::new(model), tools(fails)).cancel(cancel).sink(Box::new(sink.clone()));
    runner.run(session).await.unwrap()
}

async fn one(n: u32, width: usize, nested: bool, end: End) -> Outcome {
    let what = format!("{n} steps, {width} calls, nested: {nested}, {end:?}");
    let table = table(n).unwrap();
    let specs = || vec![ToolSpec::named("look")];
    let mut session = Session::builder(&table, "go").tools(specs()).start().unwrap();
    let (sink, cancel, broken) = (MemorySink::new(), Cancel::new(), Arc::new(AtomicBool::new(false)));
    let half_way = usize::try_from(n / 2 + 1).unwrap();
    let stops = matches!(end, End::Cancel | End::Resume).then(|| (half_way, cancel.clone()));
    let model = |cancel| Strict { end, width, nested, asked: 0, cancel, broken: broken.clone() };
    let mut report = run(&mut session, model(stops), cancel.clone(), &sink).await;
    if end == End::Resume {
        assert_eq!(report.summary.outcome, Some(Outcome::Cancelled), "{what}");
        // From the records alone, as after a crash.
        let mut resumed = Session::replay(Session::builder(&table, "go").tools(specs()), &sink.records())
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        report = run(&mut resumed, model(None), Cancel::new(), &MemorySink::new()).await;
        session = resumed;
    }
    assert!(!broken.load(Ordering::Relaxed), "{what}: a history that a provider refuses");
    strict(session.view().messages).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(report.summary.steps <= n && report.summary.tree.steps <= u64::from(n), "{what}: {:?}", report.summary);
    let outcome = report.summary.outcome.unwrap();
    assert!(outcome.is_pause() || !report.summary.text.trim().is_empty(), "{what}: it ends in empty text");
    outcome
}

/// What kind of an end it is.
fn kind(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        o if o.is_pause() => "paused",
        _ => "stopped",
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_n_steps_and_the_same_kind_of_outcome_for_every_budget_width_and_end() {
    let none = table(0).unwrap_err();
    assert!(none.problems.iter().any(|p| p.code == "bad-number"), "no budget is no table: {none}");
    for end in ENDS {
        let wanted = match end {
            End::Done | End::Resume => "completed",
            End::Limit | End::Error => "stopped",
            End::Cancel => "paused",
        };
        for width in [1, 3, 8] {
            for nested in [false, true] {
                for n in 1..=8 {
                    let outcome = one(n, width, nested, end).await;
                    assert_eq!(kind(outcome), wanted, "{n} steps, {width} calls, nested: {nested}, {end:?}: {outcome}");
                }
            }
        }
    }
}
