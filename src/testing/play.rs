//! Plays a script over a [`Session`], synchronously, and checks what holds for every run.

use super::expect::Expect;
use super::scenario::Scenario;
use super::script::{Answer, Entry, HostEntry, Script, ScriptedModel, ScriptedTools, Turn};
use crate::engine::event::Event;
use crate::engine::input::{CallNo, Input, ProposedCall, Reply, ToolResult};
use crate::engine::outcome::Outcome;
use crate::engine::session::{Record, Session, SessionBuilder, StartError};
use crate::engine::summary::Summary;
use crate::engine::verdict::{Ask, Ticket, Verdict};
use crate::engine::view::Message;
use crate::render::story::story;
use crate::table::StageTable;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// Turns beside those of the script and the ceiling before a run counts as one that does not end.
const SPARE_TURNS: usize = 100;
/// Turns of a run whose nested runs have no bound that could be reached.
const MOST_TURNS: usize = 1_000_000;
/// Most messages that are kept for `sees`.
const MAX_SHOWN: usize = 100_000;

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Played {
    /// The end of the run, or where it stands.
    pub summary: Summary,
    /// Everything that went in, and what was decided.
    pub records: Vec<Record>,
    /// What must hold for every run and did not: empty, or the engine is broken.
    pub broken: Vec<String>,
    /// Where the script did not fit the run (an approval that nobody asked for).
    pub unfitting: Vec<String>,
    /// Texts of all messages the model was shown.
    pub(super) shown: IndexSet<String>,
    /// Texts of the messages of the last view.
    pub(super) last_view: Vec<String>,
}

impl Played {
    /// The run as lines that a person reads: what snapshots hold.
    ///
    /// ```
    /// use stagekeeper::testing::{Script, play};
    ///
    /// let table = stagekeeper::StageTable::guards_only(5);
    /// let script = Script::new().call("ls", r#"{"dir":"src"}"#).text("one file").tool("ls", ["main.rs"]);
    /// let played = play(&table, "How many files are there?", script);
    /// // In a test of yours: `insta::assert_snapshot!(played.story())`.
    /// assert!(played.story().ends_with("== completed\n"));
    /// ```
    #[must_use]
    pub fn story(&self) -> String {
        story(&self.records)
    }

    /// The decisions alone.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().flat_map(|r| &r.events)
    }

    /// The line of `test --format json`, without `snapshot`.
    #[must_use]
    pub fn line(&self, scenario: &str) -> Line {
        let by = |count: fn(&crate::engine::summary::ToolCounts) -> u32| {
            let counts = self.summary.tools.iter().map(|(tool, counts)| (tool.clone(), count(counts)));
            counts.filter(|(_, n)| *n > 0).collect()
        };
        Line {
            scenario: scenario.to_owned(),
            outcome: self.summary.outcome,
            stage: self.summary.stage.clone(),
            steps: self.summary.steps,
            proposed: by(|t| t.proposed),
            run: by(|t| t.run),
            reused: by(|t| t.reused),
            refused: by(|t| t.refused),
            violations: self.summary.violations,
            rollbacks: self.summary.rollbacks,
            text: self.summary.text.clone(),
            snapshot: None,
            failures: Vec::new(),
        }
    }
}

/// One object of `test --format json` (design §10, §12); tools without a count are left out.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The scenario's sentence.
    pub scenario: String,
    /// How the run ended.
    pub outcome: Option<Outcome>,
    /// Its last stage.
    pub stage: String,
    /// Steps charged.
    pub steps: u32,
    /// Calls proposed, by tool.
    pub proposed: IndexMap<String, u32>,
    /// Calls run, by tool.
    pub run: IndexMap<String, u32>,
    /// Calls answered from memory, by tool.
    pub reused: IndexMap<String, u32>,
    /// Calls refused, by tool.
    pub refused: IndexMap<String, u32>,
    /// Violations, in calls.
    pub violations: u32,
    /// Rollbacks.
    pub rollbacks: u32,
    /// The answer.
    pub text: String,
    /// How the story compares with the stored one.
    pub snapshot: Option<super::snapshot::State>,
    /// What was expected and did not come.
    pub failures: Vec<String>,
}

/// Plays a script on a table.
///
/// ```
/// use stagekeeper::testing::{Script, play};
///
/// let table = stagekeeper::StageTable::parse(
///     "stagekeeper: 1\n\
///      workflow: look\n\
///      stages:\n  look: { goal: Look., allowed_tools: [ls], max_steps: 4 }\n",
/// )?;
/// let script = Script::new().call("rm", "{}").call("ls", "{}").text("nothing here").tool("ls", [""]);
/// let played = play(&table, "Look around.", script);
///
/// assert!(played.broken.is_empty()); // what holds for every run was checked on the way
/// assert_eq!(played.summary.violations, 1);
/// assert_eq!(played.summary.tools["ls"].run, 1);
/// # Ok::<(), stagekeeper::TableError>(())
/// ```
#[must_use]
pub fn play(table: &StageTable, task: &str, script: impl Into<Arc<Script>>) -> Played {
    let session = Session::start(table, task);
    let mut player = Player::new(session, script.into());
    player.play();
    player.end(Session::builder(table, task))
}

impl Scenario {
    /// Plays it on its table, which the caller has read.
    ///
    /// # Errors
    /// When the run cannot start: a fact or an assumed rule that the table does not have.
    pub fn play(&self, table: &StageTable) -> Result<Played, StartError> {
        let builder = self.session(table);
        let mut player = Player::new(builder.clone().start()?, Arc::new(self.script.clone()));
        player.play();
        Ok(player.end(builder))
    }

    /// What came otherwise than this scenario expects; empty when it passes.
    #[must_use]
    pub fn failures(&self, played: &Played) -> Vec<String> {
        let mut failures = played.broken.clone();
        failures.extend(played.unfitting.iter().cloned());
        failures.extend(Expect::check(&self.expect, played));
        failures
    }

    /// The session it plays in, not started.
    pub fn session(&self, table: &StageTable) -> SessionBuilder {
        let mut builder = Session::builder(table, self.task.as_str()).observe(self.observe);
        for (name, value) in &self.facts {
            builder = builder.fact(name, value.clone());
        }
        for (rule, holds) in &self.assume {
            builder = builder.assume(rule, *holds);
        }
        builder
    }
}

/// A call that waits for a person.
struct Asked {
    ask: Ask,
    tool: Arc<str>,
    own: Option<Answer>,
}

struct Player {
    session: Session,
    model: ScriptedModel,
    tools: ScriptedTools,
    turns_left: usize,
    asked: VecDeque<Asked>,
    proposed: usize,
    played: Played,
}

impl Player {
    fn new(session: Session, script: Arc<Script>) -> Self {
        let ceiling = usize::try_from(session.summary().tree.ceiling).unwrap_or(usize::MAX);
        let turns_left = ceiling.min(MOST_TURNS).saturating_add(script.entries.len()).saturating_add(SPARE_TURNS);
        let played = Played {
            summary: session.summary(),
            records: Vec::new(),
            broken: Vec::new(),
            unfitting: Vec::new(),
            shown: IndexSet::new(),
            last_view: Vec::new(),
        };
        Self {
            session,
            model: ScriptedModel::new(Arc::clone(&script)),
            tools: ScriptedTools::new(script),
            turns_left,
            asked: VecDeque::new(),
            proposed: 0,
            played,
        }
    }

    fn play(&mut self) {
        self.look();
        while self.goes_on() {
            self.turns_left -= 1;
            match self.model.next_turn() {
                Turn::Reply { reply, answers } => self.reply(reply, answers),
                Turn::Fails(failure) => {
                    let overflow = failure == super::script::Failure::Overflow;
                    self.session.provider_failed(overflow, failure.to_string());
                }
                Turn::Host(host) => self.host(host),
            }
            self.look();
        }
    }

    /// Whether another turn is due; a pause ends the play when the script has nothing that would end the pause.
    fn goes_on(&mut self) -> bool {
        let outcome = self.session.outcome();
        if outcome.is_some_and(|o| !o.is_pause()) {
            return false;
        }
        let next = self.model.peek();
        if self.turns_left == 0 {
            if !matches!(next, Some(Entry::Fails(_))) {
                self.played.broken.push("the run does not end within its ceiling".to_owned());
            }
            return false;
        }
        let waits_for = match outcome {
            None => return true,
            Some(_) if next.is_none() => return false,
            Some(Outcome::AwaitingApproval) => "`approve: yes` or `approve: no`",
            Some(Outcome::AwaitingUser) => "`user: TEXT`",
            Some(_) => return true,
        };
        if matches!(next, Some(Entry::Reply(_) | Entry::Fails(_))) {
            let said = format!("the run waits for a person: the script needs {waits_for} before the next reply");
            self.played.unfitting.push(said);
            return false;
        }
        true
    }

    fn reply(&mut self, reply: Reply, answers: Vec<Option<Answer>>) {
        let count = reply.calls.len();
        self.proposed += count;
        let rulings = self.session.judge(reply);
        if rulings.len() != count {
            self.played.broken.push(format!("a reply of {count} calls got {} verdicts", rulings.len()));
        }
        for (ruling, own) in rulings.into_iter().zip(answers) {
            match ruling.verdict {
                Verdict::Run(ticket) => self.run(ticket, &ruling.tool, own),
                Verdict::Ask(ask) => self.asked.push_back(Asked { ask, tool: ruling.tool, own }),
                Verdict::Reuse { .. } | Verdict::Refuse { .. } | Verdict::Advance | Verdict::Nested => {}
            }
        }
    }

    fn run(&mut self, ticket: Ticket, tool: &str, own: Option<Answer>) {
        let result = match own {
            Some(answer) => answer.result(),
            None => self.answer_of(ticket.call(), tool),
        };
        self.session.finish(ticket, result);
    }

    /// What the tools answer; one with `every` and `until` is asked until it is done, as a runner does.
    fn answer_of(&mut self, call: CallNo, tool: &str) -> ToolResult {
        let entry = self.session.entry_of(call, tool);
        let most = if entry.every_ms.is_some() && entry.until.is_some() { entry.repeats } else { 1 };
        let mut result = self.tools.answer(tool).result();
        for _ in 1..most {
            if self.session.poll_is_done(call, &result).unwrap_or(true) {
                break;
            }
            result = self.tools.answer(tool).result();
        }
        result
    }

    fn host(&mut self, host: HostEntry) {
        let unfitting = match host {
            HostEntry::User(text) => self.session.user_says(text).err(),
            HostEntry::Approve(yes) => return self.approve(yes),
            HostEntry::Facts(facts) => {
                facts.into_iter().filter_map(|(name, value)| self.session.set_fact(&name, value).err()).next()
            }
            HostEntry::Wait { ms } => {
                let waiting = matches!(self.session.outcome(), Some(Outcome::AwaitingApproval | Outcome::AwaitingUser));
                self.session.tick(ms, waiting);
                None
            }
            HostEntry::Cancel => {
                self.session.cancel();
                self.asked.clear();
                None
            }
        };
        self.played.unfitting.extend(unfitting.map(|e| e.to_string()));
    }

    fn approve(&mut self, yes: bool) {
        if let Some(Asked { ask, tool, own }) = self.asked.pop_front() {
            if let Some(ticket) = self.session.answer(ask, yes) {
                self.run(ticket, &tool, own);
            }
        } else if self.session.awaiting_admission().is_none() {
            self.played.unfitting.push("`approve` stands in the script where nobody is asked".to_owned());
        } else if let Err(e) = self.session.admit(yes) {
            self.played.unfitting.push(e.to_string());
        }
    }

    /// Keeps the records and what the model is shown, and checks the view.
    fn look(&mut self) {
        self.played.records.extend(self.session.take_records());
        let view = self.session.view();
        self.played.last_view = view.messages.iter().map(|m| text_of(m).to_owned()).collect();
        for text in &self.played.last_view {
            if self.played.shown.len() < MAX_SHOWN && !self.played.shown.contains(text) {
                self.played.shown.insert(text.clone());
            }
        }
        if let Some(wrong) = unanswered(view.messages, self.asked.is_empty())
            && !self.played.broken.contains(&wrong)
        {
            self.played.broken.push(wrong);
        }
    }

    fn end(mut self, builder: SessionBuilder) -> Played {
        let summary = self.session.summary();
        let played = &mut self.played;
        let mut broken = |holds: bool, what: String| {
            if !holds {
                played.broken.push(what);
            }
        };
        broken(summary.steps <= summary.ceiling, format!("{} steps of {}", summary.steps, summary.ceiling));
        let tree = summary.tree;
        broken(tree.steps <= tree.ceiling, format!("{} steps of {} with nested runs", tree.steps, tree.ceiling));
        let ended = summary.outcome.is_some_and(|o| !o.is_pause());
        broken(!ended || !summary.text.trim().is_empty(), "the run ended in an empty text".to_owned());
        for (tool, t) in &summary.tools {
            let adds_up = t.proposed == t.run + t.reused + t.refused;
            // Calls that still wait for a person have no verdict yet.
            broken(adds_up || !self.asked.is_empty(), format!("the counts of `{tool}` do not add up: {t:?}"));
        }
        let judged = played.records.iter().filter(|r| matches!(r.input, Input::Reply(_))).flat_map(|r| &r.events);
        let judged = judged.filter(|e| matches!(e, Event::CallJudged { .. })).count();
        if judged != self.proposed {
            played.broken.push(format!("{} calls were proposed and {judged} judged", self.proposed));
        }
        match Session::replay(builder, &played.records) {
            Ok(replayed) if replayed.summary() != summary => {
                played.broken.push("a replay of the records ends in another summary".to_owned());
            }
            Ok(_) => {}
            Err(e) => played.broken.push(format!("a replay of the records differs: {e}")),
        }
        self.played.summary = summary;
        self.played
    }
}

fn text_of(message: &Message) -> &str {
    match message {
        Message::User { text } | Message::Assistant { text, .. } => text,
        Message::Tool { text, .. } => text,
    }
}

/// Whether every call id is answered exactly once, in order, right behind its reply.
fn unanswered(messages: &[Message], all: bool) -> Option<String> {
    let mut open: VecDeque<&ProposedCall> = VecDeque::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } => match open.pop_front() {
                Some(call) if call.id == *id => {}
                Some(call) => return Some(format!("call `{}` was to be answered and `{id}` was", call.id)),
                None => return Some(format!("an answer to `{id}` that no call asked for")),
            },
            Message::User { .. } | Message::Assistant { .. } => {
                if let Some(call) = open.front() {
                    return Some(format!("call `{}` was not answered before the next message", call.id));
                }
                if let Message::Assistant { calls, .. } = message {
                    open.extend(calls);
                }
            }
        }
    }
    open.front().filter(|_| all).map(|call| format!("call `{}` was never answered", call.id))
}
