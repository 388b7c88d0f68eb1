//! One run, without an async runtime: your loop asks, the session decides.

use super::core::{Context, Core, Note};
use super::event::{EnteredBy, Event, Judged};
use super::explain::Explained;
use super::guard::Watch;
use super::input::{CallNo, Input, Reply, ToolResult};
use super::outcome::Outcome;
use super::roster::{ADVANCE, Roster};
use super::scene::{Names, Scene};
use super::settle::By;
use super::slot::{Brief, Kept, Slot, State};
use super::summary::{Standing, ToolCounts};
use super::transcript::Transcript;
use super::verdict::{Ask, Ruling, Ticket, Verdict};
use super::view::{ToolChoice, ToolSpec, View};
use crate::table::messages::Message as Say;
use crate::table::model::{Expose, FactFrom, ToolEntry};
use crate::table::{Name, RuleId, StageId, StageTable};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

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

/// Why a run cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// The optional settings of a run.
#[derive(Clone, Debug)]
#[must_use = "a run begins with `start`"]
pub struct SessionBuilder {
    table: StageTable,
    task: String,
    tools: Option<Vec<ToolSpec>>,
    facts: Vec<(String, serde_json::Value)>,
    run: String,
    observe: bool,
    record: bool,
    assume: Vec<(String, bool)>,
}

impl SessionBuilder {
    /// The host's tools. Without, the tools are those of catalogue and stages.
    pub fn tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// A `from: host` fact known from the start.
    pub fn fact(mut self, name: &str, value: serde_json::Value) -> Self {
        self.facts.push((name.to_owned(), value));
        self
    }

    /// The run's id, for the summary and the trace.
    pub fn run_id(mut self, id: &str) -> Self {
        self.run = id.to_owned();
        self
    }

    /// Judge and record everything, refuse nothing: no rollback, no guard's consequence. Stages and their budgets go on
    /// as declared, so the run still ends at its ceiling.
    pub fn observe(mut self, on: bool) -> Self {
        self.observe = on;
        self
    }

    /// Whether records are kept for [`Session::take_records`] (they are, unless switched off).
    pub fn record(mut self, on: bool) -> Self {
        self.record = on;
        self
    }

    /// Fixes the condition of a rule, as scenarios do.
    pub fn assume(mut self, rule: &str, holds: bool) -> Self {
        self.assume.push((rule.to_owned(), holds));
        self
    }

    /// Starts the run.
    ///
    /// # Errors
    /// When a stage's tool is offered by no host, a host's tool has a reserved name, a fact is not declared
    /// `from: host`, or an assumed rule does not exist.
    pub fn start(self) -> Result<Session, StartError> {
        self.check_tools()?;
        let mut assume = Vec::new();
        for (name, holds) in &self.assume {
            let mut found = false;
            for (i, _) in self.table.rules.iter().enumerate().filter(|(_, r)| *r.name == **name) {
                assume.push((RuleId(u16::try_from(i).unwrap_or(u16::MAX)), *holds));
                found = true;
            }
            if !found {
                return Err(StartError(format!("there is no rule `{name}` to assume anything of")));
            }
        }
        for (name, _) in &self.facts {
            self.host_fact(name)?;
        }
        Ok(Session::begin(self, assume))
    }

    fn host_fact(&self, name: &str) -> Result<(), StartError> {
        let declared = self.table.facts.iter().find(|f| *f.name == *name);
        match declared.map(|f| &f.from) {
            Some(FactFrom::Host) => Ok(()),
            Some(_) => Err(StartError(format!("the fact `{name}` does not come `from: host`"))),
            None => Err(StartError(format!("the table declares no fact `{name}`"))),
        }
    }

    fn check_tools(&self) -> Result<(), StartError> {
        let Some(tools) = &self.tools else { return Ok(()) };
        if let Some(bad) = tools.iter().find(|t| t.name == ADVANCE || t.name.starts_with("stagekeeper_")) {
            return Err(StartError(format!("the host's tool `{}` has a reserved name", bad.name)));
        }
        let mut missing: Vec<&str> = Vec::new();
        for stage in &self.table.stages {
            let crate::table::model::Allowed::These { list, .. } = &stage.allowed else { continue };
            for pattern in list {
                if !tools.iter().any(|t| pattern.matches(&t.name)) && !missing.contains(&pattern.as_str()) {
                    missing.push(pattern.as_str());
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let offered: Vec<&str> = tools.iter().map(|t| t.name.as_str()).collect();
        Err(StartError(format!(
            "no host provides `{}`; provided are: {}",
            missing.join("`, `"),
            if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
        )))
    }
}

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
    pub(super) table: StageTable,
    pub(super) roster: Roster,
    pub(super) core: Core<Watch>,
    pub(super) task: String,
    pub(super) run: String,
    pub(super) observe: bool,
    pub(super) assume: Vec<(RuleId, bool)>,
    pub(super) transcript: Transcript,
    pub(super) system: String,
    /// The tools of the current stage (`expose: stage`).
    pub(super) narrowed: Vec<ToolSpec>,
    pub(super) slots: Vec<Slot>,
    /// Slots that are answered.
    pub(super) front: usize,
    pub(super) next_call: u32,
    pub(super) kept: Vec<Option<Kept>>,
    pub(super) products: Vec<(StageId, String)>,
    pub(super) product: String,
    /// Stages passed through by the last move of a call.
    pub(super) passed: Vec<StageId>,
    /// What is said once the reply's calls are answered.
    pub(super) after: Vec<String>,
    pub(super) last_texts: VecDeque<String>,
    pub(super) briefs: VecDeque<Brief>,
    pub(super) writes: Vec<Standing>,
    pub(super) counts: IndexMap<Name, ToolCounts>,
    pub(super) made_up: usize,
    pub(super) answer: String,
    pub(super) dup_tool_count: u32,
    pub(super) uses_past: bool,
    pub(super) events: Vec<Event>,
    /// What was asked of each call, when somebody wants to know.
    pub(super) explained: Option<Vec<Explained>>,
    records: Option<Vec<Record>>,
}

impl Session {
    /// Starts a run with the tools that catalogue and stages name.
    #[must_use]
    pub fn start(table: &StageTable, task: impl Into<String>) -> Self {
        Self::begin(Self::builder(table, task), Vec::new())
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

    fn begin(made: SessionBuilder, assume: Vec<(RuleId, bool)>) -> Self {
        let table = made.table;
        let text = |say: Say| table.messages.get(say as usize).map_or("", |t| t.source()).to_owned();
        let advance = ToolSpec {
            name: ADVANCE.into(),
            description: text(Say::AdvanceTool),
            parameters: serde_json::json!({
                "type": "object",
                "properties": { "summary": { "type": "string", "description": text(Say::AdvanceSummary) } },
                "required": ["summary"],
            }),
        };
        let roster = Roster::new(&table, made.tools, advance);
        let core = Core::new(&table, Watch::default());
        let uses_past = uses_past(&table);
        let mut session = Self {
            roster,
            core,
            task: made.task,
            run: made.run,
            observe: made.observe,
            assume,
            transcript: Transcript::default(),
            system: String::new(),
            narrowed: Vec::new(),
            slots: Vec::new(),
            front: 0,
            next_call: 1,
            kept: Vec::new(),
            products: Vec::new(),
            product: String::new(),
            passed: Vec::new(),
            after: Vec::new(),
            last_texts: VecDeque::new(),
            briefs: VecDeque::new(),
            writes: Vec::new(),
            counts: IndexMap::new(),
            made_up: 0,
            answer: String::new(),
            dup_tool_count: 0,
            uses_past,
            events: Vec::new(),
            explained: None,
            records: made.record.then(Vec::new),
            table,
        };
        session.open(made.facts);
        session
    }

    fn open(&mut self, facts: Vec<(String, serde_json::Value)>) {
        let ceiling = self.table.ceiling();
        self.events.push(Event::RunStarted { workflow: self.table.workflow.clone(), ceiling });
        let task = self.task.clone();
        self.learn_from(&task, |from| matches!(from, FactFrom::Task));
        for (name, value) in facts {
            self.host_fact(&name, Some(value));
        }
        self.system = self.system_prompt();
        self.transcript.user(task);
        let table = self.table.clone();
        let moves = self.core.begin(Context { table: &table, roster: &self.roster, observe: self.observe });
        self.carry_out(moves);
        self.before_step();
        self.keep_record(Input::Start);
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
        match &input {
            Input::Start => {}
            Input::Reply(reply) => self.take_reply(reply),
            Input::Result { call, result } => self.take_result(*call, result),
            Input::Approval { call, yes } => self.take_approval(*call, *yes),
            Input::Admission { yes } => self.take_admission(*yes),
            Input::UserMessage { text } => self.take_user_message(text),
            Input::Fact { name, value } => self.host_fact(name, value.clone()),
            Input::Time { ms, waiting } => {
                let moves = self.with_core(|core, cx| core.time_passed(cx, *ms, *waiting));
                self.carry_out(moves);
            }
            Input::Cancel => self.take_cancel(),
            Input::ProviderFailed { overflow, .. } => self.take_failure(*overflow),
        }
        Ok(self.keep_record(input))
    }

    fn fits(&self, input: &Input) -> Result<(), Unfitting> {
        let no = |why: &str| Err(Unfitting(why.to_owned()));
        if self.core.life.is_ended() && !matches!(input, Input::Time { .. } | Input::Cancel) {
            return no("the run has ended");
        }
        let outcome = self.core.life.outcome();
        match input {
            Input::Start => no("the run has started"),
            Input::Reply(_) if self.core.admission.is_some() => no("the run waits for a person's yes or no"),
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
            Input::Admission { .. } if self.core.admission.is_none() => no("the run waits before no stage"),
            Input::UserMessage { .. } | Input::ProviderFailed { .. } if self.front < self.slots.len() => {
                no("calls are open")
            }
            Input::UserMessage { .. } | Input::ProviderFailed { .. } if self.core.admission.is_some() => {
                no("the run waits for a person's yes or no")
            }
            Input::Fact { name, .. } => {
                let declared = self.table.facts.iter().find(|f| *f.name == **name);
                match declared.map(|f| &f.from) {
                    Some(FactFrom::Host) => Ok(()),
                    Some(_) => no("that fact does not come from the host"),
                    None => no("the table declares no such fact"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Judges a reply. Calls of an earlier reply that were never finished are answered `no result` first.
    ///
    /// Returns a ruling for every call, in the model's order; none when the reply does not fit (the run has ended or
    /// waits for a person).
    pub fn judge(&mut self, reply: Reply) -> Vec<Ruling> {
        match self.apply(Input::Reply(reply)) {
            Ok(_) => self.slots.iter().map(Slot::ruling).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Hands in what a call came to. The ticket is spent.
    pub fn finish(&mut self, ticket: Ticket, result: ToolResult) {
        // A ticket of a call that was closed meanwhile (a cancel, a later reply) has nothing left to finish.
        let _ = self.apply(Input::Result { call: ticket.0, result });
    }

    /// A person's answer about one exact call; `yes` gives its ticket.
    pub fn answer(&mut self, ask: Ask, yes: bool) -> Option<Ticket> {
        self.apply(Input::Approval { call: ask.call, yes }).ok()?;
        yes.then_some(Ticket(ask.call))
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
        let (stage, _) = self.core.admission?;
        self.table.stages.get(stage.index()).map(|s| s.name.to_string())
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
    /// When there is no such fact.
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
        self.core.life.outcome()
    }

    /// What to ask the model next.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let stage = self.table.stages.get(self.core.stage.index());
        View {
            system: &self.system,
            messages: self.transcript.messages(),
            tools: match self.table.expose {
                Expose::All => self.roster.offered(),
                Expose::Stage => &self.narrowed,
            },
            tool_choice: if self.core.is_closing_request(&self.table) { ToolChoice::None } else { ToolChoice::Auto },
            stage: stage.map_or("", |s| &s.name),
            steps_left: self.core.left(&self.table, self.core.stage),
            model: stage.and_then(|s| s.model.as_deref()),
        }
    }

    /// Calls that are judged *run* and not finished, with tickets again: for after a resume.
    pub fn open_calls(&mut self) -> Vec<Ruling> {
        self.slots.iter().filter(|s| matches!(s.state, State::Running)).map(Slot::ruling).collect()
    }

    /// Calls that wait for a person, with their questions again.
    pub fn open_asks(&mut self) -> Vec<Ruling> {
        self.slots.iter().filter(|s| matches!(s.state, State::Asked)).map(Slot::ruling).collect()
    }

    /// Records since the last call of this: write them before you act on them.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes down from now on what each check sees of each call, for [`Session::take_explained`].
    pub fn explain(&mut self) {
        self.explained.get_or_insert_default();
    }

    /// The checks made since the last call of this, when [`Session::explain`] was called.
    pub fn take_explained(&mut self) -> Vec<Explained> {
        self.explained.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the table says of a tool; the defaults when it says nothing.
    #[must_use]
    pub fn tool_entry(&self, tool: &str) -> &ToolEntry {
        self.roster.entry_by_name(&self.table, tool)
    }

    /// Whether a `poll` tool's `until` holds for this result; `None` when the tool declares none.
    #[must_use]
    pub fn poll_is_done(&self, call: CallNo, result: &ToolResult) -> Option<bool> {
        let slot = self.slot(call)?;
        let until = self.tool_entry(&slot.name).until.as_ref()?;
        let mut scene = Scene::new(self.cx(), &self.task, &self.assume);
        scene.call = Some((&slot.name, &slot.call.arguments));
        scene.result = Some(super::answer::seen(result));
        Some(scene.is_so(&self.core, until))
    }

    /// The table of the run.
    #[must_use]
    pub fn table(&self) -> &StageTable {
        &self.table
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
        let left = self.table.limits.max_time_ms?.saturating_sub(self.core.time_ms);
        (left > 0).then_some(left)
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }

    /// What the stages so far ended with, in the order they were left.
    pub fn products(&self) -> impl Iterator<Item = (&str, &str)> {
        let name = |stage: StageId| self.table.stages.get(stage.index()).map_or("", |s| &*s.name);
        self.products.iter().map(move |(stage, text)| (name(*stage), text.as_str()))
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
        self.core.steps
    }

    /// Calls so far whose identity had already run, for logs.
    #[must_use]
    pub fn dup_tool_count(&self) -> u32 {
        self.dup_tool_count
    }

    pub(super) fn cx(&self) -> Context<'_> {
        Context { table: &self.table, roster: &self.roster, observe: self.observe }
    }

    /// Lets the core decide with table and tools at hand, then makes events of its notes.
    pub(super) fn with_core<T>(&mut self, decide: impl FnOnce(&mut Core<Watch>, Context<'_>) -> T) -> T {
        let cx = Context { table: &self.table, roster: &self.roster, observe: self.observe };
        let decided = decide(&mut self.core, cx);
        let hints = self.tell_notes(None, &Names::new);
        self.after.extend(hints);
        decided
    }

    pub(super) fn slot(&self, no: CallNo) -> Option<&Slot> {
        // The numbers of one reply's calls follow one another.
        let first = self.slots.first()?.no.0;
        self.slots.get(no.0.checked_sub(first)? as usize)
    }

    pub(super) fn stage_name(&self, stage: StageId) -> Name {
        self.table.stages.get(stage.index()).map_or_else(|| "".into(), |s| s.name.clone())
    }

    pub(super) fn rule_name(&self, rule: RuleId) -> Name {
        self.table.rules.get(rule.index()).map_or_else(|| "".into(), |r| r.name.clone())
    }

    pub(super) fn entered_by(&self, by: By) -> EnteredBy {
        match by {
            By::Start => EnteredBy::Start,
            By::Answer => EnteredBy::Answer,
            By::Advance => EnteredBy::Advance,
            By::Call => EnteredBy::Call,
            By::Rule(rule) => EnteredBy::Rule(self.rule_name(rule)),
            By::Exhausted => EnteredBy::Exhausted,
            By::Guard(guard) => EnteredBy::Guard(guard.as_str().into()),
            By::Closing => EnteredBy::Closing,
            By::Denied => EnteredBy::Denied,
        }
    }

    /// Makes events of what the core noted; returns the hints of the rules that fired.
    pub(super) fn tell_notes(&mut self, call: Option<CallNo>, moment: &dyn Fn() -> Names) -> Vec<String> {
        let mut hints = Vec::new();
        for note in std::mem::take(&mut self.core.notes) {
            match note {
                Note::RuleFired(rule) => {
                    let name = self.rule_name(rule);
                    let action = self.table.rules.get(rule.index()).map_or("", |r| r.action.name());
                    self.events.push(Event::RuleFired { rule: name.clone(), action: action.into() });
                    if let Some(hint) = self.rule_hint(rule, moment) {
                        self.events.push(Event::HintGiven { name, text: hint.clone() });
                        hints.push(hint);
                    }
                }
                Note::RuleNoted(rule, note) => {
                    self.events.push(Event::RuleNoted { rule: self.rule_name(rule), note: note.into() });
                }
                Note::Extended(rule) => {
                    if let Some(crate::table::model::Action::Extend(stage, steps)) =
                        self.table.rules.get(rule.index()).map(|r| &r.action)
                    {
                        let (stage, steps) = (self.stage_name(*stage), *steps);
                        self.events.push(Event::BudgetExtended { stage, steps, rule: self.rule_name(rule) });
                    }
                }
                Note::FactSet(fact) => {
                    let name = self.table.facts.get(fact.index()).map_or_else(|| "".into(), |f| f.name.clone());
                    let value = self.core.facts.get(fact.index()).and_then(Option::as_ref);
                    let value = super::speak::shortened(&value.map(ToString::to_string).unwrap_or_default(), 200);
                    self.events.push(Event::FactSet { fact: name, value });
                }
                Note::FactCleared(fact) => {
                    let name = self.table.facts.get(fact.index()).map_or_else(|| "".into(), |f| f.name.clone());
                    self.events.push(Event::FactCleared { fact: name });
                }
                Note::GuardFired(guard, answer, observed) => {
                    let guard = guard.as_str().into();
                    self.events.push(Event::GuardFired { guard, call, answer: answer.into(), observed });
                }
                Note::Moved { from, passed, to } => self.moved(from, passed, to),
            }
        }
        hints
    }

    /// Tells a move by a call before the call itself, which is judged in the stage entered.
    pub(super) fn tell_move(&mut self) {
        let is_move = |note: &Note| matches!(note, Note::Moved { .. });
        if let Some(at) = self.core.notes.iter().position(is_move)
            && let Note::Moved { from, passed, to } = self.core.notes.remove(at)
        {
            self.moved(from, passed, to);
        }
    }
}

impl Slot {
    fn ruling(&self) -> Ruling {
        let verdict = match (&self.judged, &self.state) {
            (Judged::Ask { question, .. }, State::Asked) => {
                Verdict::Ask(Ask { call: self.no, question: question.clone() })
            }
            (Judged::Run | Judged::Ask { .. }, _) => Verdict::Run(Ticket(self.no)),
            (Judged::Reuse { of, .. }, _) => Verdict::Reuse { of: *of },
            (Judged::Refuse { check, hint, .. }, _) => Verdict::Refuse { check: *check, hint: hint.clone() },
        };
        Ruling { no: self.no, call: self.call.clone(), tool: Arc::clone(&self.name), verdict }
    }
}

fn uses_past(table: &StageTable) -> bool {
    let asks = |source: &str| ["called(", "succeeded(", "times("].iter().any(|f| source.contains(f));
    table.rules.iter().any(|r| {
        r.when.as_ref().is_some_and(|w| asks(w.source()))
            || matches!(&r.action, crate::table::model::Action::Set(set) if set.iter().any(|(_, e)| asks(e.source())))
    })
}
