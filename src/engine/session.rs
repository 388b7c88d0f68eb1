//! One run, without an async runtime: your loop asks, the session decides.
//!
//! A session holds the run and the nested runs under way, each a frame: one is active, the others wait for it above.

use super::args::MAX_DEPTH;
use super::event::Event;
use super::explain::Explained;
use super::frame::Frame;
use super::input::{CallNo, Input, Reply, ToolResult};
use super::outcome::Outcome;
use super::scene::Scene;
use super::slot::{Slot, State};
pub use super::start::{SessionBuilder, StartError};
use super::start::{from_host, is_shallow};
use super::summary::{Summary, Tree};
use super::verdict::{Ask, Ruling, Ticket};
use super::view::{ToolSpec, View};
use crate::table::StageTable;
use crate::table::model::{FactFrom, ToolEntry};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// One input and what was decided on it: the unit of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What went in.
    #[serde(flatten)]
    pub input: Input,
    /// What was decided.
    pub events: Vec<Event>,
}

/// An input that does not fit where the run stands; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfitting(pub String);

/// One run of a table.
///
/// ```
/// use stagekeeper::{ProposedCall, Reply, Session, StageTable, ToolResult, Verdict};
///
/// let table = StageTable::parse(
///     "stagekeeper: 1\nworkflow: look\nstages:\n  look: { goal: Look around., allowed_tools: [ls], max_steps: 3 }\n",
/// )?;
/// let mut session = Session::start(&table, "What is here?");
/// for ruling in session.judge(Reply::calls(vec![ProposedCall::new("1", "ls", "{}"), ProposedCall::new("2", "rm", "{}")])) {
///     match ruling.verdict {
///         Verdict::Run(ticket) => session.finish(ticket, ToolResult::ok("a.txt")),
///         Verdict::Refuse { hint, .. } => assert!(hint.contains("there is no tool rm")),
///         _ => unreachable!(),
///     }
/// }
/// session.judge(Reply::text("There is a.txt."));
/// assert_eq!(session.outcome(), Some(stagekeeper::Outcome::Completed));
/// # Ok::<(), stagekeeper::TableError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    /// The run that acts: the outermost, or the innermost nested one.
    pub(super) top: Frame,
    /// The runs that wait for it, the outermost first.
    pub(super) above: Vec<Frame>,
    /// The host's tools, for nested runs.
    pub(super) tools: Option<Vec<ToolSpec>>,
    /// What the host has set, for nested runs.
    pub(super) host_facts: IndexMap<String, Option<serde_json::Value>>,
    pub(super) assume: Vec<(String, bool)>,
    /// Replies charged in the whole tree.
    pub(super) tree_steps: u64,
    tree_ceiling: u64,
    run: String,
    pub(super) events: Vec<Event>,
    /// What was asked of each call, when somebody wants to know.
    pub(super) explained: Option<Vec<Explained>>,
    records: Option<Vec<Record>>,
}

impl Session {
    /// Starts a run with the tools that catalogue and stages name.
    #[must_use]
    pub fn start(table: &StageTable, task: impl Into<String>) -> Self {
        Self::begin(Self::builder(table, task))
    }

    /// Starts a run with more said.
    pub fn builder(table: &StageTable, task: impl Into<String>) -> SessionBuilder {
        SessionBuilder {
            table: table.clone(),
            task: task.into(),
            tools: None,
            facts: Vec::new(),
            run: String::new(),
            observe: false,
            record: true,
            assume: Vec::new(),
        }
    }

    pub(super) fn begin(made: SessionBuilder) -> Self {
        let ceiling = made.table.ceiling();
        let mut session = Self {
            top: made.frame(),
            above: Vec::new(),
            host_facts: made.facts.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect(),
            tools: made.tools,
            assume: made.assume,
            tree_steps: 0,
            tree_ceiling: super::tree::ceiling(&made.table),
            run: made.run,
            events: vec![Event::RunStarted { workflow: made.table.workflow.clone(), ceiling }],
            explained: None,
            records: made.record.then(Vec::new),
        };
        session.top.open(made.facts);
        session.progress();
        session.keep_record(Input::Start);
        session
    }

    fn keep_record(&mut self, input: Input) -> Vec<Event> {
        let events = std::mem::take(&mut self.events);
        if let Some(records) = &mut self.records {
            records.push(Record { input, events: events.clone() });
        }
        events
    }

    /// The one entry: everything else wraps it.
    ///
    /// # Errors
    /// When the input does not fit where the run stands; nothing was changed then.
    pub fn apply(&mut self, input: Input) -> Result<Vec<Event>, Unfitting> {
        self.fits(&input)?;
        self.take(&input);
        self.progress();
        Ok(self.keep_record(input))
    }

    fn take(&mut self, input: &Input) {
        match input {
            Input::Start => {}
            Input::Reply(reply) => self.take_reply(reply),
            Input::Result { call, result } => {
                if let Some(frame) = self.of_call(*call) {
                    frame.take_result(*call, result);
                }
            }
            Input::Approval { call, yes } => {
                if let Some(frame) = self.of_call(*call) {
                    frame.take_approval(*call, *yes);
                }
            }
            Input::Admission { yes } => self.top.take_admission(*yes),
            Input::UserMessage { text } => {
                // What a person says is heard by every run that waits for this one.
                self.above.iter_mut().for_each(|f| f.learn_from(text, |from| matches!(from, FactFrom::User)));
                self.top.take_user_message(text);
            }
            Input::Fact { name, value } => {
                self.host_facts.insert(name.clone(), value.clone());
                self.frames_mut().for_each(|f| f.host_fact(name, value.clone()));
            }
            Input::Time { ms, waiting } => self.frames_mut().for_each(|frame| {
                let moves = frame.with_core(|core, cx| core.time_passed(cx, *ms, *waiting));
                frame.carry_out(moves);
            }),
            Input::Grant { stage, steps, by } => self.take_grant(stage, *steps, by),
            Input::Cancel => self.take_cancel(),
            Input::ProviderFailed { overflow, .. } => self.top.take_failure(*overflow),
        }
    }

    fn take_reply(&mut self, reply: &Reply) {
        let before = self.top.core.steps;
        self.top.take_reply(reply, &mut self.above);
        self.tree_steps += u64::from(self.top.core.steps - before);
    }

    fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.above.iter().chain([&self.top])
    }

    pub(super) fn frames_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.above.iter_mut().chain([&mut self.top])
    }

    /// The outermost run.
    pub(super) fn root(&self) -> &Frame {
        self.above.first().unwrap_or(&self.top)
    }

    fn of_call(&mut self, call: CallNo) -> Option<&mut Frame> {
        self.frames_mut().find(|f| f.slot(call).is_some())
    }

    fn slot(&self, call: CallNo) -> Option<&Slot> {
        self.frames().find_map(|f| f.slot(call))
    }

    fn fits(&self, input: &Input) -> Result<(), Unfitting> {
        let no = |why: &str| Err(Unfitting(why.to_owned()));
        if let Input::Grant { stage, steps, .. } = input {
            return self.grant_fits(stage, *steps);
        }
        if self.top.core.life.is_ended() && !matches!(input, Input::Time { .. } | Input::Cancel) {
            return no("the run has ended");
        }
        let outcome = self.top.core.life.outcome();
        match input {
            Input::Start => no("the run has started"),
            Input::Reply(_) if self.top.core.admission.is_some() => no("the run waits for a person's yes or no"),
            Input::Reply(_) => match outcome {
                Some(Outcome::AwaitingApproval) => no("the run waits for a person's yes or no"),
                Some(Outcome::AwaitingUser) => no("the run waits for the user"),
                _ => Ok(()),
            },
            Input::Result { call, .. } => match self.slot(*call).map(|s| &s.state) {
                Some(State::Running) => Ok(()),
                _ => no("that call is not running"),
            },
            Input::Approval { call, .. } => match self.slot(*call).map(|s| &s.state) {
                Some(State::Asked) => Ok(()),
                _ => no("nobody was asked about that call"),
            },
            Input::Admission { .. } if self.top.core.admission.is_none() => no("the run waits before no stage"),
            Input::UserMessage { .. } | Input::ProviderFailed { .. } if self.top.front < self.top.slots.len() => {
                no("calls are open")
            }
            Input::UserMessage { .. } | Input::ProviderFailed { .. } if self.top.core.admission.is_some() => {
                no("the run waits for a person's yes or no")
            }
            Input::Fact { value: Some(value), .. } if !is_shallow(value, MAX_DEPTH) => {
                Err(Unfitting(format!("the fact is nested deeper than {MAX_DEPTH}")))
            }
            Input::Fact { name, .. } => match from_host(&self.root().table, name) {
                Some(true) => Ok(()),
                Some(false) => no("that fact does not come from the host"),
                None => no("the table declares no such fact"),
            },
            _ => Ok(()),
        }
    }

    /// Judges a reply. Calls of an earlier reply that were never finished are answered `no result` first.
    ///
    /// Returns a ruling for every call, in the model's order; none when the reply does not fit (the run has ended or
    /// waits for a person).
    pub fn judge(&mut self, reply: Reply) -> Vec<Ruling> {
        let input = Input::Reply(reply);
        if self.fits(&input).is_err() {
            return Vec::new();
        }
        self.take(&input);
        // A nested run opens or ends only now, so these are the calls of this reply.
        let rulings = self.top.slots.iter().map(Slot::ruling).collect();
        self.progress();
        self.keep_record(input);
        rulings
    }

    /// Hands in what a call came to. The ticket is spent.
    pub fn finish(&mut self, ticket: Ticket, result: ToolResult) {
        // A ticket of a call that was closed meanwhile (a cancel, a later reply) has nothing left to finish.
        let _ = self.apply(Input::Result { call: ticket.0, result });
    }

    /// A person's answer about one exact call; `yes` gives its ticket, unless the call is a nested run.
    pub fn answer(&mut self, ask: Ask, yes: bool) -> Option<Ticket> {
        let nested = self.slot(ask.call).is_some_and(|s| s.nested);
        self.apply(Input::Approval { call: ask.call, yes }).ok()?;
        (yes && !nested).then_some(Ticket(ask.call))
    }

    /// A person admits the run to the stage it waits before (`approval: always` on a stage), or does not.
    ///
    /// # Errors
    /// When the run waits before no stage.
    pub fn admit(&mut self, yes: bool) -> Result<(), Unfitting> {
        self.apply(Input::Admission { yes }).map(|_| ())
    }

    /// The stage that a person has to admit the run to.
    #[must_use]
    pub fn awaiting_admission(&self) -> Option<String> {
        let (stage, _) = self.top.core.admission?;
        Some(self.top.stage_name(stage).to_string())
    }

    /// The user says something. It costs no step.
    ///
    /// # Errors
    /// When calls are open or the run has ended.
    pub fn user_says(&mut self, text: impl Into<String>) -> Result<(), Unfitting> {
        self.apply(Input::UserMessage { text: text.into() }).map(|_| ())
    }

    /// The host sets a fact that is declared `from: host`; `None` unsets it.
    ///
    /// # Errors
    /// When there is no such fact, or its value is nested too deep.
    pub fn set_fact(&mut self, name: &str, value: Option<serde_json::Value>) -> Result<(), Unfitting> {
        self.apply(Input::Fact { name: name.to_owned(), value }).map(|_| ())
    }

    /// Time went by, in milliseconds since the last tick; `waiting` when a person was waited for.
    pub fn tick(&mut self, ms: u64, waiting: bool) {
        if ms > 0 {
            let _ = self.apply(Input::Time { ms, waiting });
        }
    }

    /// The caller wants no more: open calls are answered so, and the run pauses as `cancelled`.
    pub fn cancel(&mut self) {
        let _ = self.apply(Input::Cancel);
    }

    /// The model gave no reply: the run pauses, or its view is shortened once when it did not fit.
    pub fn provider_failed(&mut self, overflow: bool, message: impl Into<String>) {
        let _ = self.apply(Input::ProviderFailed { overflow, message: message.into() });
    }

    /// `None` while the run goes on; a pause or an end otherwise.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.top.core.life.outcome()
    }

    /// What to ask the model next.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.top.view()
    }

    /// Calls that are judged *run* and not finished, with tickets again: for after a resume.
    pub fn open_calls(&mut self) -> Vec<Ruling> {
        self.rulings(|state| matches!(state, State::Running))
    }

    /// Calls that wait for a person, with their questions again.
    pub fn open_asks(&mut self) -> Vec<Ruling> {
        self.rulings(|state| matches!(state, State::Asked))
    }

    fn rulings(&self, of: impl Fn(&State) -> bool) -> Vec<Ruling> {
        let mut found: Vec<Ruling> =
            self.frames().flat_map(|f| &f.slots).filter(|s| of(&s.state)).map(Slot::ruling).collect();
        found.sort_by_key(|ruling| ruling.no);
        found
    }

    /// Whether a call was judged *run* and has not come back.
    #[cfg(feature = "audit")]
    pub(crate) fn is_running(&self, call: CallNo) -> bool {
        self.slot(call).is_some_and(|slot| matches!(slot.state, State::Running))
    }

    /// Records since the last call of this: write them before you act on them.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes down from now on what each check sees of each call, for [`Session::take_explained`].
    pub fn explain(&mut self) {
        self.explained.get_or_insert_default();
        self.frames_mut().for_each(|frame| {
            frame.explained.get_or_insert_default();
        });
    }

    /// The checks made since the last call of this, when [`Session::explain`] was called.
    pub fn take_explained(&mut self) -> Vec<Explained> {
        self.explained.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the table says of a tool; the defaults when it says nothing.
    #[must_use]
    pub fn tool_entry(&self, tool: &str) -> &ToolEntry {
        self.top.roster.entry_by_name(&self.top.table, tool)
    }

    /// What the table of the run that made a call says of its tool.
    #[must_use]
    pub fn entry_of(&self, call: CallNo, tool: &str) -> &ToolEntry {
        let frame = self.frames().find(|f| f.slot(call).is_some()).unwrap_or(&self.top);
        frame.roster.entry_by_name(&frame.table, tool)
    }

    /// Whether a `poll` tool's `until` holds for this result; `None` when the tool declares none.
    #[must_use]
    pub fn poll_is_done(&self, call: CallNo, result: &ToolResult) -> Option<bool> {
        let frame = self.frames().find(|f| f.slot(call).is_some())?;
        let slot = frame.slot(call)?;
        let until = frame.roster.entry_by_name(&frame.table, &slot.name).until.as_ref()?;
        let mut scene = Scene::new(frame.cx(), &frame.task, &frame.assume);
        scene.call = Some((&slot.name, &slot.call.arguments));
        scene.result = Some(super::answer::seen(result));
        Some(scene.is_so(&frame.core, until))
    }

    /// What decides; for proofs.
    #[cfg(test)]
    pub(crate) fn core(&self) -> &super::core::Core<super::guard::Watch> {
        &self.root().core
    }

    /// The table of the run; of the outermost, where runs are nested.
    #[must_use]
    pub fn table(&self) -> &StageTable {
        &self.root().table
    }

    /// The run's id; empty when the host gave none.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// Milliseconds left until the run's `max_time` is used up; `None` without such a limit, or once it is used up (the
    /// closing request takes the time it takes).
    #[must_use]
    pub fn time_left_ms(&self) -> Option<u64> {
        let left = self.top.core.time_left_ms(self.top.cx())?;
        (left > 0).then_some(left)
    }

    /// The task; of the outermost run, where runs are nested.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.root().task
    }

    /// What the stages so far ended with, in the order they were left; those of runs that wait come first.
    pub fn products(&self) -> impl Iterator<Item = (&str, &str)> {
        self.frames().flat_map(Frame::products)
    }

    /// Feeds recorded inputs through the engine; the events must be the recorded ones.
    ///
    /// # Errors
    /// The first record that does not fit or was decided otherwise, by its number from 1.
    pub fn replay(builder: SessionBuilder, records: &[Record]) -> Result<Self, Unfitting> {
        let mut session = builder.start().map_err(|e| Unfitting(e.0))?;
        let mut opening = session.take_records();
        for (n, record) in records.iter().enumerate() {
            let events = match record.input {
                Input::Start => opening.pop().map(|r| r.events).unwrap_or_default(),
                _ => session.apply(record.input.clone()).map_err(|e| Unfitting(format!("record {}: {e}", n + 1)))?,
            };
            if events != record.events {
                return Err(Unfitting(format!("record {} was decided otherwise", n + 1)));
            }
        }
        session.take_records();
        Ok(session)
    }

    /// Steps of the run so far, for logs.
    #[must_use]
    pub fn loop_index(&self) -> u32 {
        self.top.core.steps
    }

    /// Calls so far whose identity had already run, for logs.
    #[must_use]
    pub fn dup_tool_count(&self) -> u32 {
        self.top.dup_tool_count
    }

    /// Where the run stands, or how it ended.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let root = self.root();
        let mut summary = root.summary(self.run.clone(), self.outcome());
        // Nested runs that are still open have spent tokens already, and what they wrote stands.
        for open in self.frames().skip(1) {
            summary.tokens.input = summary.tokens.input.saturating_add(open.core.tokens.0);
            summary.tokens.output = summary.tokens.output.saturating_add(open.core.tokens.1);
            summary.not_undone.extend(open.writes.iter().cloned());
        }
        // What ran in nested runs counts in the runs above.
        summary.tree = Tree {
            steps: self.tree_steps,
            ceiling: self.tree_ceiling.saturating_add(u64::from(root.core.granted)),
            calls: root.core.calls,
        };
        summary
    }
}
