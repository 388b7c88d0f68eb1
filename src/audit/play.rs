//! One recorded run, played through the engine: its calls as replies, its results for the calls that would run.

use super::counts::Fired;
use super::recording::{RecordedCall, Recording, Turn};
use crate::engine::args::{Identity, fingerprint, identity};
use crate::engine::event::{Event, Judged};
use crate::engine::input::{CallNo, Input, ProposedCall, Reply, ToolResult};
use crate::engine::outcome::Outcome;
use crate::engine::session::{Record, Session, StartError, Unfitting};
use crate::engine::verdict::Check;
use crate::engine::view::ToolChoice;
use crate::table::{Name, StageTable};
use std::borrow::Cow;
use std::collections::HashSet;

/// Said for a call whose result the recording does not hold.
const NOT_RECORDED: &str = "(no result was recorded)";

/// What would have become of a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It would have run.
    Run,
    /// It would have been answered from memory.
    Reused,
    /// It would have been refused by this check.
    Refused(Check),
    /// It stands after the point where the stage would have been left and the run closed.
    After,
}

impl Fate {
    /// Whether the call would not have brought its own result.
    #[must_use]
    pub fn is_withheld(self) -> bool {
        self != Self::Run
    }

    /// One word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reused => "reused",
            Self::Refused(_) => "refused",
            Self::After => "after",
        }
    }
}

/// What playing a run showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// By call, in the order of the recording.
    pub fates: Vec<Fate>,
    /// Withheld calls whose recorded result was one that their identity had not given before.
    pub new_withheld: u64,
    /// How often each guard spoke.
    pub fired: Fired,
    /// How the run would have ended before its recording does.
    pub ended: Option<Outcome>,
    /// The last step charged to each stage, the one charged last at the end.
    pub charged: Vec<Charged>,
}

/// The last step that was charged to a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The stage.
    pub stage: Name,
    /// Step of the stage, from 1.
    pub step: u32,
    /// The stage's steps, extensions included.
    pub budget: u32,
    /// Step of the run, from 1.
    pub of_run: u32,
    /// Whether the reply held calls.
    pub calling: bool,
}

impl Played {
    /// Calls that would not have run.
    #[must_use]
    pub fn withheld(&self) -> u64 {
        self.fates.iter().filter(|fate| fate.is_withheld()).count() as u64
    }
}

/// Why a run cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotPlay {
    /// The table cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The engine did not take an input: a fault of ours.
    #[error("the engine did not take an input: {0}")]
    Unfitting(#[from] Unfitting),
}

/// Plays a run.
///
/// # Errors
/// When the table cannot start without a host.
pub fn play(table: &StageTable, run: &Recording) -> Result<Played, CannotPlay> {
    Player::start(table, run, false)?.play(run).map(|(played, _)| played)
}

/// Plays a run and keeps what was decided, for a story.
///
/// # Errors
/// As [`play`].
pub fn play_and_record(table: &StageTable, run: &Recording) -> Result<(Played, Vec<Record>), CannotPlay> {
    Player::start(table, run, true)?.play(run)
}

struct Player {
    session: Session,
    played: Played,
    /// Results that identities gave so far, by the recording.
    given: HashSet<(Identity, u128)>,
    /// In the reply under way, the call at which a guard asked to leave or close.
    point: Option<CallNo>,
    /// Calls of nested runs, whose ends answer them, and how many are open.
    nested: HashSet<CallNo>,
    open: usize,
    /// Whether the reply under way holds calls.
    calling: bool,
}

impl Player {
    fn start(table: &StageTable, run: &Recording, record: bool) -> Result<Self, CannotPlay> {
        let builder = Session::builder(table, run.task.as_str()).run_id(&run.id).record(record);
        let session = run.facts.iter().fold(builder, |made, (name, value)| made.fact(name, value.clone())).start()?;
        let played = Played { fates: Vec::with_capacity(run.calls()), ..Played::default() };
        Ok(Self {
            session,
            played,
            given: HashSet::new(),
            point: None,
            nested: HashSet::new(),
            open: 0,
            calling: false,
        })
    }

    fn play(mut self, run: &Recording) -> Result<(Played, Vec<Record>), CannotPlay> {
        for turn in &run.turns {
            let from = self.played.fates.len();
            self.before(turn);
            if self.played.ended.is_some() {
                self.played.fates.extend(turn.calls.iter().map(|_| Fate::After));
            } else {
                self.reply(turn, from)?;
            }
            self.results(turn, from);
        }
        let records = self.session.take_records();
        Ok((self.played, records))
    }

    /// What the user, the host and the clock said before a reply. A grant of steps may open a run again that had ended.
    fn before(&mut self, turn: &Turn) {
        let Some(around) = &turn.around else { return };
        for input in &around.before {
            // Another table may not wait for what the recorded one waited for.
            let _ = self.apply(input.clone());
        }
        self.played.ended = self.ended();
    }

    fn ended(&self) -> Option<Outcome> {
        self.session.outcome().filter(|outcome| !outcome.is_pause())
    }

    /// One reply, its approvals and its results, and what follows.
    fn reply(&mut self, turn: &Turn, from: usize) -> Result<(), CannotPlay> {
        self.point = None;
        let mut reply = Reply::default();
        if let Some(around) = &turn.around {
            reply = around.reply.clone();
        }
        if self.session.outcome() == Some(Outcome::AwaitingUser) {
            self.apply(Input::UserMessage { text: String::new() })?;
        }
        reply.calls = turn.calls.iter().map(|c| ProposedCall::new(&*c.id, &*c.tool, &*c.arguments)).collect();
        self.calling = !reply.calls.is_empty();
        let events = self.apply(Input::Reply(reply))?;
        let mut judged = Vec::with_capacity(turn.calls.len());
        for event in events {
            if let Event::CallJudged { call, judged: verdict, .. } = event {
                judged.push((call, verdict));
            }
        }
        let numbers: Vec<CallNo> = judged.iter().map(|(call, _)| *call).collect();
        for (recorded, (call, verdict)) in turn.calls.iter().zip(judged) {
            let fate = match verdict {
                Judged::Run if self.nested.contains(&call) => Fate::Run,
                Judged::Run => self.finish(call, recorded)?,
                Judged::Reuse { .. } => Fate::Reused,
                Judged::Refuse { check, .. } => Fate::Refused(check),
                // A recorded call has been admitted by whoever watched it.
                Judged::Ask { .. } => {
                    self.apply(Input::Approval { call, yes: true })?;
                    self.finish(call, recorded)?
                }
            };
            self.played.fates.push(fate);
        }
        // What the engine does not judge (the run ended while it was judged) is withheld as well.
        self.played.fates.resize(from + turn.calls.len(), Fate::Refused(Check::Ended));
        if self.session.awaiting_admission().is_some() {
            self.apply(Input::Admission { yes: true })?;
        }
        self.look_for_the_end(&numbers, from);
        Ok(())
    }

    fn finish(&mut self, call: CallNo, recorded: &RecordedCall) -> Result<Fate, CannotPlay> {
        // The engine answers its own control tool (`advance`), and has done so already.
        if !self.session.is_running(call) {
            return Ok(Fate::Run);
        }
        let result = match &recorded.result {
            Some(result) => ToolResult { text: result.text.clone(), status: result.status },
            None => ToolResult::unknown(NOT_RECORDED),
        };
        self.apply(Input::Result { call, result })?;
        Ok(Fate::Run)
    }

    fn apply(&mut self, input: Input) -> Result<Vec<Event>, CannotPlay> {
        let events = self.session.apply(input)?;
        for event in &events {
            self.see(event);
        }
        Ok(events)
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::GuardFired { guard, call, answer, observed } => {
                self.played.fired.count(guard);
                if !observed && matches!(&**answer, "leave" | "close") && self.point.is_none() {
                    self.point = *call;
                }
            }
            Event::ChildOpened { call, .. } => {
                self.open += 1;
                self.nested.insert(*call);
            }
            Event::ChildClosed { .. } => self.open = self.open.saturating_sub(1),
            Event::StepCharged { step, stage, stage_step, budget } if self.open == 0 => {
                self.played.charged.retain(|charged| charged.stage != *stage);
                let (stage, step, of_run) = (stage.clone(), *stage_step, *step);
                self.played.charged.push(Charged { stage, step, budget: *budget, of_run, calling: self.calling });
            }
            _ => {}
        }
    }

    /// A run that closes does so after its reply; the calls of that reply behind the point are counted as cut.
    fn look_for_the_end(&mut self, numbers: &[CallNo], from: usize) {
        let closing = self.session.view().tool_choice == ToolChoice::None;
        let ended = self.ended();
        if let Some(point) = self.point.filter(|_| closing || ended.is_some()) {
            let behind = self.played.fates.iter_mut().skip(from).zip(numbers).filter(|(_, call)| **call > point);
            behind.filter(|(fate, _)| **fate == Fate::Run).for_each(|(fate, _)| *fate = Fate::After);
        }
        self.played.ended = ended;
    }

    /// Notes what each call gave, and whether what is withheld would have been new.
    fn results(&mut self, turn: &Turn, from: usize) {
        let fates = self.played.fates.get(from..).unwrap_or_default().to_vec();
        for (call, fate) in turn.calls.iter().zip(fates) {
            let Some(result) = &call.result else { continue };
            let entry = self.session.tool_entry(&call.tool);
            let Ok(identity) = identity(&call.tool, &call.arguments, &entry.ignore_args) else { continue };
            let text = entry
                .mask
                .iter()
                .fold(Cow::Borrowed(&*result.text), |text, mask| Cow::Owned(mask.replace_all(&text, "").into_owned()));
            let is_new = self.given.insert((identity, fingerprint(&text)));
            self.played.new_withheld += u64::from(is_new && fate.is_withheld());
        }
    }
}
