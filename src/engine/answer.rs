//! From verdicts and results to answers: every id answered once, in the model's order.

use super::args::fingerprint;
use super::core::{Because, Context};
use super::event::{Event, Judged};
use super::frame::Frame;
use super::guard::{Done, Noted, Telling, Then};
use super::input::{CallNo, Status, ToolResult};
use super::life::Turn;
use super::mutant::{self, Mutant};
use super::outcome::Outcome;
use super::past::Ran;
use super::roster::Resolved;
use super::scene::{Names, ResultSeen, Scene, moment};
use super::slot::{Kept, State};
use super::speak::{DELIMITER, head_and_tail, shortened};
use super::summary::Standing;
use super::verdict::Check;
use crate::table::messages::Message as Say;
use crate::table::model::{Effect, Spend};
use std::sync::Arc;

/// Longest text of one result that is kept, in characters; the runner cuts earlier.
pub const MAX_RESULT: usize = 1 << 20;
/// Most writes listed in a summary.
pub(super) const MAX_STANDING: usize = 100;

/// A result as conditions see it.
pub(super) fn seen(result: &ToolResult) -> ResultSeen {
    ResultSeen { text: result.text.as_str().into(), error: result.status != Status::Ok }
}

impl Frame {
    pub(super) fn take_result(&mut self, no: CallNo, result: &ToolResult) {
        if let Some(slot) = self.slots.iter_mut().find(|s| s.no == no) {
            slot.state = State::Arrived(result.clone());
        }
        self.pump();
    }

    pub(super) fn take_approval(&mut self, no: CallNo, yes: bool) {
        self.events.push(Event::ApprovalGiven { call: no, yes });
        if self.core.life.outcome().is_some() {
            self.core.life.turn(Turn::Opened);
            self.events.push(Event::Resumed);
        }
        if yes {
            if !self.missing_now(no).is_empty() {
                // What it requires went while the person was asked.
                self.not_approved(no, Say::RefusedRequires);
            } else if let Some(slot) = self.slots.iter_mut().find(|s| s.no == no) {
                slot.state = if slot.nested { State::Nested } else { State::Running };
                if let Some(counts) = self.counts.get_mut(&slot.name) {
                    counts.run += 1;
                    counts.refused = counts.refused.saturating_sub(1);
                }
            }
        } else {
            self.not_approved(no, Say::RefusedApproval);
        }
        self.pump();
    }

    /// What the tool of an open call requires and is not known now.
    fn missing_now(&self, no: CallNo) -> Vec<usize> {
        let tool = self.slot(no).and_then(|slot| slot.tool);
        tool.map(|tool| self.core.missing_at_start(&self.roster.entry(&self.table, tool).requires)).unwrap_or_default()
    }

    /// A call that was to run and will not: what was counted for it is taken back.
    pub(super) fn not_approved(&mut self, no: CallNo, say: Say) {
        let Some(slot) = self.slot(no) else { return };
        let (name, proposed, stage) = (slot.name.clone(), slot.proposed, slot.stage);
        let why = match say {
            Say::RefusedGrant => Some((Check::Grant, Because::Grant(self.share.unwrap_or_default()))),
            Say::RefusedRequires => Some((Check::Requires, Because::Missing(self.missing_now(no)))),
            _ => None,
        };
        let text = match why {
            Some((check, because)) => {
                self.refusal(check, &because, &name, &Resolved::Unknown(Vec::new()), "", &Names::new).1
            }
            None => self.say(say, || vec![("tool", (&*name).into())]),
        };
        let entry = slot.tool.map(|tool| self.roster.entry(&self.table, tool));
        if entry.and_then(|e| e.nested.as_ref()).is_some_and(|n| n.spend == Spend::Parent) {
            self.core.reply.nested = self.core.reply.nested.saturating_sub(1);
        }
        if say == Say::RefusedRequires {
            // The yes stands in the events; that nothing ran has to stand there, too.
            self.events.push(Event::HintGiven { name: say.name().into(), text: text.clone() });
        }
        self.given_back.push(name.clone());
        self.core.not_approved(&proposed, stage, say == Say::RefusedApproval);
        let Some(slot) = self.slots.iter_mut().find(|s| s.no == no) else { return };
        if !matches!(slot.state, State::Asked)
            && let Some(counts) = self.counts.get_mut(&name)
        {
            counts.run = counts.run.saturating_sub(1);
            counts.refused += 1;
        }
        slot.state = State::Ready(text.into(), true);
        let args = slot.call.arguments.clone();
        let came_to = match say {
            Say::RefusedApproval => "a person said no",
            Say::Unanswered => "nobody said yes",
            _ => "not started",
        };
        self.note_brief(&name, &args, came_to.to_owned());
    }

    /// Answers what is still open: running calls with an unknown end, questions with a no that is nobody's.
    pub(super) fn close_open_calls(&mut self, say: Say) {
        if self.front >= self.slots.len() {
            return;
        }
        self.answer_open_calls(say, true);
        if self.core.life.outcome() == Some(Outcome::AwaitingApproval) {
            self.core.life.turn(Turn::Opened);
        }
        self.pump();
    }

    /// Gives running calls an unknown end, questions a no that is nobody's, and nested runs that did not open theirs
    /// (unless `nested` says that they wait for one that is open).
    pub(super) fn answer_open_calls(&mut self, say: Say, nested: bool) {
        let text = self.say(say, Vec::new);
        let mut will_not_run = Vec::new();
        for slot in &mut self.slots {
            match slot.state {
                State::Running => slot.state = State::Arrived(ToolResult::unknown(text.clone())),
                State::Asked => will_not_run.push((slot.no, Say::Unanswered)),
                State::Nested if nested => will_not_run.push((slot.no, Say::NotOpened)),
                _ => {}
            }
        }
        for (no, say) in will_not_run {
            self.not_approved(no, say);
        }
    }

    /// Answers the calls in the model's order as far as they are ready; settles the reply after the last.
    pub(super) fn pump(&mut self) {
        while let Some(slot) = self.slots.get(self.front) {
            let (text, error) = match &slot.state {
                State::Nested => return,
                State::Running | State::Asked => return self.wait_for_people(),
                State::Arrived(result) => {
                    let result = result.clone();
                    self.answer_with_result(self.front, &result)
                }
                State::Memory(of, telling) => {
                    let (of, telling) = (*of, *telling);
                    self.answer_from_memory(self.front, of, telling)
                }
                State::Shared(of) => self.answer_shared(*of),
                State::Ready(text, error) | State::Answered(text, error) => {
                    let text = match slot.hints.is_empty() {
                        true => Arc::clone(text),
                        false => format!("{text}{DELIMITER}{}", slot.hints.join("\n")).into(),
                    };
                    (text, *error)
                }
            };
            if let Some(slot) = self.slots.get_mut(self.front) {
                slot.state = State::Answered(Arc::clone(&text), error);
                let (no, id, tool) = (slot.no, slot.call.id.clone(), slot.call.tool.clone());
                if mutant::on(Mutant::DoubleAnswer) {
                    self.transcript.tool(no, id.clone(), tool.clone(), Arc::clone(&text), error);
                }
                self.transcript.tool(no, id, tool, text, error);
            }
            self.front += 1;
        }
        if self.core.life.has_open_calls() {
            self.settle();
        }
    }

    fn wait_for_people(&mut self) {
        let open = self.slots.get(self.front..).unwrap_or_default();
        if open.iter().any(|s| matches!(s.state, State::Running)) || !self.core.life.has_open_calls() {
            return;
        }
        let question = open.iter().find_map(|s| match (&s.judged, &s.state) {
            (Judged::Ask { question, .. }, State::Asked) => Some(question.clone()),
            _ => None,
        });
        if let Some(question) = question {
            self.core.life.turn(Turn::Paused(Outcome::AwaitingApproval));
            self.events.push(Event::Paused { outcome: Outcome::AwaitingApproval, question });
        }
    }

    fn answer_shared(&self, of: CallNo) -> (Arc<str>, bool) {
        match self.slot(of).map(|s| &s.state) {
            Some(State::Answered(text, error)) => (Arc::clone(text), *error),
            _ => (self.say(Say::NoResult, Vec::new).into(), true),
        }
    }

    fn kept(&self, no: CallNo) -> Option<&Kept> {
        self.kept.get(no.0 as usize)?.as_ref()
    }

    fn keep(&mut self, no: CallNo, kept: Kept) {
        let at = no.0 as usize;
        if self.kept.len() <= at {
            self.kept.resize(at + 1, None);
        }
        if let Some(place) = self.kept.get_mut(at) {
            *place = Some(kept);
        }
    }

    fn answer_from_memory(&mut self, at: usize, of: CallNo, telling: Telling) -> (Arc<str>, bool) {
        let Some((slot, kept)) = self.slots.get(at).zip(self.kept(of).cloned()) else {
            return (self.say(Say::NoResult, Vec::new).into(), true);
        };
        let (name, seen, mut hints) = (slot.name.clone(), slot.seen, slot.hints.clone());
        hints.push(self.telling(telling, &name, 0));
        if let Some(seen) = seen {
            let done = Done { failed: kept.failed, unknown: false, result: kept.print, from_memory: true };
            let noted = self.with_core(|core, cx| core.note(cx, &seen, &done));
            hints.extend(self.tell_fired(seen.no, &name, &noted, 0));
        }
        (format!("{}{DELIMITER}{}", kept.text, hints.join("\n")).into(), kept.failed)
    }

    fn answer_with_result(&mut self, at: usize, result: &ToolResult) -> (Arc<str>, bool) {
        let Some(slot) = self.slots.get(at) else { return ("".into(), true) };
        let (no, name, mut hints) = (slot.no, slot.name.clone(), slot.hints.clone());
        let args = slot.call.arguments.clone();
        let (Some(tool), Some(seen)) = (slot.tool, slot.seen) else {
            return (result.text.as_str().into(), result.status != Status::Ok);
        };
        let Self { table, roster, core, task, assume, observe, .. } = self;
        let cx = Context { table, roster, observe: *observe };
        let entry = roster.entry(table, tool);
        let mut scene = Scene::new(cx, task, assume);
        scene.call = Some((&name, &args));
        let mut as_seen = self::seen(result);
        if !as_seen.error && entry.failed_when.is_some() {
            scene.result = Some(as_seen.clone());
            as_seen.error = entry.failed_when.as_ref().is_some_and(|c| scene.is_so(core, c));
            scene = Scene::new(cx, task, assume);
            scene.call = Some((&name, &args));
        }
        let failed = as_seen.error;
        let print = print_of(&as_seen.text, &entry.mask, result.status, failed);
        scene.result = Some(as_seen.clone());
        let learned = if failed { Vec::new() } else { scene.learn_from_result(core, &name) };
        // The rules see the facts as they are with this result.
        let mut scene = Scene::new(cx, task, assume);
        scene.call = Some((&name, &args));
        scene.result = Some(as_seen.clone());
        let unknown = result.status == Status::Unknown;
        let done = Done { failed, unknown, result: print, from_memory: false };
        let ran = self.uses_past.then(|| Ran {
            tool: name.clone(),
            args: serde_json::from_str(&args).unwrap_or_default(),
            succeeded: !failed,
        });
        let noted = core.finish(cx, (&seen, tool), &done, learned, ran, &mut scene);
        if !failed || unknown {
            self.cleared_above.push(name.clone());
        }
        let (max_chars, effect) = (entry.max_chars, entry.effect);
        let shown = self.shown(&result.text, max_chars);
        let chars = result.text.chars().count();
        self.events.push(Event::CallFinished {
            call: no,
            tool: name.clone(),
            failed,
            chars,
            cut_to: (chars > max_chars.unwrap_or(MAX_RESULT)).then_some(max_chars.unwrap_or(MAX_RESULT)),
            same: noted.same,
        });
        if let Some(counts) = self.counts.get_mut(&name) {
            counts.failed += u32::from(failed);
        }
        let fails = self.core.tool(tool).fails;
        let told = self.tell_fired(no, &name, &noted, fails);
        hints.extend(self.tell_notes(Some(no), &|| moment(Some((&name, &args)), Some(&as_seen), None)));
        hints.extend(told);
        self.keep(no, Kept { text: Arc::clone(&shown), print, failed });
        if effect == Effect::Write && (!failed || unknown) && self.writes.len() < MAX_STANDING {
            self.writes.push(Standing { tool: name.to_string(), args: args.clone() });
        }
        let head: String = result.text.split_whitespace().take(20).collect::<Vec<_>>().join(" ");
        let came_to = format!("{}{}", if failed { "failed: " } else { "" }, shortened(&head, 120));
        self.note_brief(&name, &args, came_to);
        if hints.is_empty() {
            return (shown, failed);
        }
        (format!("{shown}{DELIMITER}{}", hints.join("\n")).into(), failed)
    }

    /// The text the model sees: an empty one says so, a long one is cut and says so.
    fn shown(&self, text: &str, max_chars: Option<usize>) -> Arc<str> {
        if text.trim().is_empty() {
            return self.say(Say::ResultEmpty, Vec::new).into();
        }
        self.cut(text, max_chars.unwrap_or(MAX_RESULT)).into()
    }

    pub(super) fn cut(&self, text: &str, most: usize) -> String {
        if text.len() <= most {
            return text.to_owned();
        }
        head_and_tail(text, most, |cut, chars| {
            self.say(Say::ResultCut, || vec![("cut", cut.into()), ("chars", chars.into())])
        })
    }

    /// Makes events of the guards that spoke at a result; returns what is said with it.
    fn tell_fired(&mut self, no: CallNo, tool: &str, noted: &Noted, fails: u32) -> Vec<String> {
        let mut said = Vec::new();
        for fired in &noted.fired {
            self.events.push(Event::GuardFired {
                guard: fired.guard.as_str().into(),
                call: Some(no),
                answer: if fired.then == Then::Nothing { "hint" } else { answer_name(fired.then) }.into(),
                observed: fired.observed,
            });
            if let Some(telling) = fired.telling.filter(|_| !fired.observed) {
                let text = self.telling(telling, tool, fails);
                if !said.contains(&text) {
                    said.push(text);
                }
            }
        }
        said
    }
}

pub(super) fn answer_name(then: Then) -> &'static str {
    match then {
        Then::Nothing => "refuse",
        Then::RollBack => "roll_back",
        Then::Leave => "leave",
        Then::Close => "close",
    }
}

/// The fingerprint two results are compared by: masked text and status.
fn print_of(text: &str, mask: &[regex::Regex], status: Status, failed: bool) -> u64 {
    let mut masked = std::borrow::Cow::Borrowed(text);
    for regex in mask {
        masked = std::borrow::Cow::Owned(regex.replace_all(&masked, "").into_owned());
    }
    let print = fingerprint(&masked);
    let status = (status as u64) << 1 | u64::from(failed);
    #[expect(clippy::cast_possible_truncation, reason = "half of a fingerprint is a fingerprint")]
    let half = print as u64;
    half ^ status.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
