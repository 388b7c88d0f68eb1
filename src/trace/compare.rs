//! A recorded run against the engine as it is now: does it give the same events, and what would another table do?

use super::reader::Trace;
use crate::engine::event::{Event, Judged};
use crate::engine::input::{CallNo, Input, ToolResult};
use crate::engine::outcome::Outcome;
use crate::engine::session::{Record, Session, StartError};
use crate::table::StageTable;

/// Differing verdicts that are kept; the rest is counted.
pub const MOST_KEPT: usize = 1_000;

/// The first place where a replay does not give what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The record, from 1.
    pub record: usize,
    /// What was recorded, `None` when nothing more was.
    pub recorded: Option<Event>,
    /// What the engine says now, `None` when it says nothing more.
    pub now: Option<Event>,
    /// Why the input does not fit any more, when it does not.
    pub unfitting: Option<String>,
}

/// Feeds the recorded inputs to the recorded table again and finds the first event that differs.
///
/// # Errors
/// When the run cannot even start.
pub fn replay(trace: &Trace, table: &StageTable) -> Result<Option<Difference>, StartError> {
    let mut session = trace.header.session(table).start()?;
    let mut opening: Vec<Event> = session.take_records().into_iter().flat_map(|record| record.events).collect();
    for (at, stamped) in trace.records.iter().enumerate() {
        let record = at + 1;
        let recorded = &stamped.record.events;
        let now = match &stamped.record.input {
            Input::Start => Ok(std::mem::take(&mut opening)),
            input => session.apply(input.clone()),
        };
        let now = match now {
            Ok(events) => events,
            Err(e) => {
                let recorded = recorded.first().cloned();
                return Ok(Some(Difference { record, recorded, now: None, unfitting: Some(e.to_string()) }));
            }
        };
        if let Some(n) = (0..recorded.len().max(now.len())).find(|n| recorded.get(*n) != now.get(*n)) {
            let (recorded, now) = (recorded.get(n).cloned(), now.get(n).cloned());
            return Ok(Some(Difference { record, recorded, now, unfitting: None }));
        }
    }
    Ok(None)
}

/// A recorded run, ready to go on.
#[derive(Debug)]
pub struct GoesOn {
    /// The run where the records end.
    pub session: Session,
    /// Its records with the events of the table it goes on under.
    pub records: Vec<Record>,
    /// How often each model was asked: the main one as `None`, those of stages by alias.
    pub asked: Vec<(Option<String>, usize)>,
}

/// Brings a recorded run to where its records end, to go on from there under `table`: the recorded one, which must give
/// the recorded events, or another, which must decide alike. Budgets and texts may be other ones.
///
/// # Errors
/// The first difference.
pub fn go_on(trace: &Trace, table: &StageTable) -> Result<GoesOn, Box<Difference>> {
    let same_table = super::header::table_hash(&table.source.text, &table.source.included) == trace.header.table_hash;
    let wrong = |record, why: String| Box::new(Difference { record, recorded: None, now: None, unfitting: Some(why) });
    let mut session = trace.header.session(table).start().map_err(|e| wrong(1, e.to_string()))?;
    if trace.records.is_empty() {
        // Interrupted before anything was kept: the session's opening record is still to be written.
        return Ok(GoesOn { session, records: Vec::new(), asked: Vec::new() });
    }
    let mut opening = session.take_records().into_iter().flat_map(|record| record.events).collect::<Vec<_>>();
    let (mut records, mut asked) = (Vec::new(), Vec::<(Option<String>, usize)>::new());
    for (at, stamped) in trace.records.iter().enumerate() {
        let Record { input, events: recorded } = &stamped.record;
        if matches!(input, Input::Reply(_) | Input::ProviderFailed { .. }) {
            let model = session.view().model.map(str::to_owned);
            match asked.iter_mut().find(|(known, _)| *known == model) {
                Some((_, times)) => *times += 1,
                None => asked.push((model, 1)),
            }
        }
        let now = match input {
            Input::Start => std::mem::take(&mut opening),
            input => session.apply(input.clone()).map_err(|e| wrong(at + 1, e.to_string()))?,
        };
        let differs = if same_table { first_other(recorded, &now) } else { first_unlike(recorded, &now) };
        if let Some((recorded, now)) = differs {
            return Err(Box::new(Difference { record: at + 1, recorded, now, unfitting: None }));
        }
        records.push(Record { input: input.clone(), events: now });
    }
    session.take_records();
    Ok(GoesOn { session, records, asked })
}

type Pair = (Option<Event>, Option<Event>);

fn first_other(recorded: &[Event], now: &[Event]) -> Option<Pair> {
    let n = (0..recorded.len().max(now.len())).find(|n| recorded.get(*n) != now.get(*n))?;
    Some((recorded.get(n).cloned(), now.get(n).cloned()))
}

/// The first event in which the run would have gone another way.
fn first_unlike(recorded: &[Event], now: &[Event]) -> Option<Pair> {
    let (mut recorded, mut now) = (recorded.iter().filter(|e| decides(e)), now.iter().filter(|e| decides(e)));
    loop {
        match (recorded.next(), now.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if alike(a, b) => {}
            (a, b) => return Some((a.cloned(), b.cloned())),
        }
    }
}

/// Whether an event is about the way of the run, and not about budgets, texts or what was noted beside.
fn decides(event: &Event) -> bool {
    !matches!(
        event,
        Event::RunStarted { .. }
            | Event::TextSaid { .. }
            | Event::HintGiven { .. }
            | Event::GuardFired { .. }
            | Event::RuleFired { .. }
            | Event::RuleNoted { .. }
            | Event::FactSet { .. }
            | Event::FactCleared { .. }
            | Event::BudgetExtended { .. }
    )
}

fn alike(a: &Event, b: &Event) -> bool {
    match (a, b) {
        (Event::StepCharged { step, stage, .. }, Event::StepCharged { step: step2, stage: stage2, .. }) => {
            step == step2 && stage == stage2
        }
        (Event::CallJudged { call, judged, .. }, Event::CallJudged { call: call2, judged: judged2, .. }) => {
            call == call2 && same_kind(judged, judged2)
        }
        (Event::StageEntered { stage, .. }, Event::StageEntered { stage: stage2, .. })
        | (Event::StageLeft { stage, .. }, Event::StageLeft { stage: stage2, .. })
        | (Event::RolledBack { stage, .. }, Event::RolledBack { stage: stage2, .. }) => stage == stage2,
        (Event::CallFinished { call, failed, .. }, Event::CallFinished { call: call2, failed: failed2, .. }) => {
            call == call2 && failed == failed2
        }
        (Event::RunEnded { outcome, .. }, Event::RunEnded { outcome: outcome2, .. })
        | (Event::Paused { outcome, .. }, Event::Paused { outcome: outcome2, .. }) => outcome == outcome2,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// A call that another table judges otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otherwise {
    /// The engine's number of the call.
    pub call: CallNo,
    /// The step of the run it stands in.
    pub step: u32,
    /// The tool.
    pub tool: String,
    /// What was decided when it was recorded.
    pub recorded: Judged,
    /// What the other table decides.
    pub now: Judged,
}

/// Where two runs stand at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The step of the run, from 1.
    pub step: u32,
    /// The stage of the recorded run; empty when it had ended.
    pub recorded: String,
    /// The stage with the other table; empty when it has ended.
    pub now: String,
}

/// What another table would have done with the same replies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Calls judged otherwise, the first [`MOST_KEPT`].
    pub otherwise: Vec<Otherwise>,
    /// How many there are in all.
    pub differing: usize,
    /// Calls judged by both.
    pub compared: usize,
    /// The first step that is charged to another stage. What the model was recorded to say from there on answers to
    /// another view.
    pub parting: Option<Parting>,
    /// How the recorded run ended.
    pub recorded: Option<Outcome>,
    /// How it ends with the other table, with the replies there are.
    pub now: Option<Outcome>,
    /// Recorded replies that the other table has no use for, since the run has ended.
    pub unused_replies: usize,
}

/// Feeds the recorded replies and results to another table.
///
/// A call that the other table runs and the recorded one did not has no result; it is answered as one whose end nobody
/// knows. A call that waits for a person there gets the answer it had, or yes if it ran.
///
/// # Errors
/// When the run cannot start with the other table.
pub fn compare(trace: &Trace, other: &StageTable) -> Result<Comparison, StartError> {
    let mut session = trace.header.session(other).start()?;
    let mut comparison = Comparison::default();
    let records: Vec<&Record> = trace.records.iter().map(|stamped| &stamped.record).collect();
    for (at, record) in records.iter().enumerate() {
        if let Some(outcome) = ended(&record.events) {
            comparison.recorded = Some(outcome);
        }
        match &record.input {
            Input::Reply(_) if has_ended(&session) => comparison.unused_replies += 1,
            Input::Reply(_) => {
                let later = records.get(at + 1..).unwrap_or_default();
                comparison.reply(&mut session, record, later);
            }
            // The run has started; results and approvals went in with their reply.
            Input::Start | Input::Result { .. } | Input::Approval { .. } => {}
            input => {
                // What does not fit where this run stands would not have happened in it.
                let _ = session.apply(input.clone());
            }
        }
    }
    comparison.now = session.outcome();
    Ok(comparison)
}

impl Comparison {
    fn reply(&mut self, session: &mut Session, record: &Record, later: &[&Record]) {
        let Ok(events) = session.apply(record.input.clone()) else {
            self.unused_replies += 1;
            return;
        };
        self.stages(&record.events, &events);
        let step = charged(&events).map_or(0, |(step, _)| step);
        for ((call, tool, now), (_, _, recorded)) in judged(&events).zip(judged(&record.events)) {
            self.compared += 1;
            if same_kind(recorded, now) {
                continue;
            }
            self.differing += 1;
            if self.otherwise.len() < MOST_KEPT {
                let (recorded, now) = (recorded.clone(), now.clone());
                self.otherwise.push(Otherwise { call, step, tool: tool.to_owned(), recorded, now });
            }
        }
        for (call, _, verdict) in judged(&events) {
            answer(session, call, verdict, later);
        }
    }

    fn stages(&mut self, recorded: &[Event], now: &[Event]) {
        let (recorded, now) = (charged(recorded), charged(now));
        let stage = |charged: Option<(u32, &str)>| charged.map(|(_, stage)| stage.to_owned()).unwrap_or_default();
        if self.parting.is_none() && recorded.map(|r| r.1) != now.map(|n| n.1) {
            let step = now.or(recorded).map_or(0, |(step, _)| step);
            self.parting = Some(Parting { step, recorded: stage(recorded), now: stage(now) });
        }
    }
}

/// Answers one call of the reply as it was answered when it was recorded.
fn answer(session: &mut Session, call: CallNo, verdict: &Judged, later: &[&Record]) {
    let until_next = later.iter().take_while(|r| !matches!(r.input, Input::Reply(_)));
    let result = until_next.clone().find_map(|r| match &r.input {
        Input::Result { call: of, result } if *of == call => Some(result.clone()),
        _ => None,
    });
    let said = until_next.clone().find_map(|r| match &r.input {
        Input::Approval { call: of, yes } if *of == call => Some(*yes),
        _ => None,
    });
    let runs = match verdict {
        Judged::Run => true,
        Judged::Ask { .. } => {
            let yes = said.unwrap_or(result.is_some());
            session.apply(Input::Approval { call, yes }).is_ok() && yes
        }
        Judged::Reuse { .. } | Judged::Refuse { .. } => false,
    };
    if runs {
        let result = result.unwrap_or_else(|| ToolResult::unknown("(the recorded run did not make this call)"));
        // The run may have been closed by an earlier result of this reply; then the call is answered already.
        let _ = session.apply(Input::Result { call, result });
    }
}

fn has_ended(session: &Session) -> bool {
    session.outcome().is_some_and(|outcome| !outcome.is_pause())
}

fn ended(events: &[Event]) -> Option<Outcome> {
    events.iter().find_map(|event| match event {
        Event::RunEnded { outcome, .. } | Event::Paused { outcome, .. } => Some(*outcome),
        _ => None,
    })
}

/// The step that a reply was charged as, and its stage.
fn charged(events: &[Event]) -> Option<(u32, &str)> {
    events.iter().find_map(|event| match event {
        Event::StepCharged { step, stage, .. } => Some((*step, &**stage)),
        _ => None,
    })
}

fn judged(events: &[Event]) -> impl Iterator<Item = (CallNo, &str, &Judged)> {
    events.iter().filter_map(|event| match event {
        Event::CallJudged { call, tool, judged, .. } => Some((*call, &**tool, judged)),
        _ => None,
    })
}

/// Whether two verdicts do the same: the wording of a hint, or which rule said it, is no other verdict.
fn same_kind(a: &Judged, b: &Judged) -> bool {
    match (a, b) {
        (Judged::Refuse { check: a, .. }, Judged::Refuse { check: b, .. }) => a == b,
        (Judged::Reuse { of: a, .. }, Judged::Reuse { of: b, .. }) => a == b,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
