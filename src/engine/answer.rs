//! From a reply to its answers: every call judged in the model's order, every id answered once, in order.

use super::args::{fingerprint, identity};
use super::core::{Because, Core, Judgement, Proposed, ReplyFacts, Target};
use super::event::{Event, Judged};
use super::explain::{Explained, Notebook};
use super::frame::Frame;
use super::guard::{Done, Identities, Noted, Telling, Then};
use super::input::{CallNo, Finish, ProposedCall, Reply, Status, ToolResult};
use super::life::Turn;
use super::mutant::{self, Mutant};
use super::nest::Under;
use super::outcome::Outcome;
use super::past::Ran;
use super::roster::{ADVANCE, Resolved};
use super::scene::{Names, ResultSeen, Scene, moment};
use super::slot::{Brief, Kept, Slot, State};
use super::speak::{DELIMITER, head_and_tail, shortened};
use super::summary::Standing;
use super::verdict::Check;
use crate::table::Name;
use crate::table::messages::Message as Say;
use crate::table::model::{Batch, Effect, Spend};
use std::sync::Arc;

/// Made-up tool names counted apart; further ones count as `(other)`.
pub const MAX_MADE_UP: usize = 64;
/// Longest text of one result that is kept, in characters; the runner cuts earlier.
pub const MAX_RESULT: usize = 1 << 20;
/// Longest text of a reply shown in events, in characters.
const MAX_SHOWN: usize = 500;
/// Most writes listed in a summary.
const MAX_STANDING: usize = 100;

/// A call with all that is looked up before judging.
struct Looked {
    call: ProposedCall,
    proposed: Proposed,
    resolved: Resolved,
    name: Name,
    why_malformed: String,
}

impl Looked {
    fn moment(&self) -> Names {
        moment(Some((&self.name, &self.call.arguments)), None, None)
    }
}

/// A result as conditions see it.
pub(super) fn seen(result: &ToolResult) -> ResultSeen {
    ResultSeen { text: result.text.as_str().into(), error: result.status != Status::Ok }
}

impl Frame {
    pub(super) fn take_reply(&mut self, reply: &Reply, above: &mut [Self]) {
        self.close_open_calls(Say::NoResult);
        if self.core.life.outcome().is_some_and(|o| !matches!(o, Outcome::Cancelled | Outcome::ProviderError)) {
            return self.refuse_all(reply);
        }
        if self.core.life.outcome().is_some() {
            self.core.resume();
            self.events.push(Event::Resumed);
        }
        let facts = self.reply_facts(reply);
        self.product = reply.text.trim().to_owned();
        self.charge(reply, facts);
        let looked = self.look_up(reply);
        let calls = looked.iter().map(|l| l.call.clone()).collect();
        self.transcript.assistant(reply.text.clone(), calls);
        if self.table.batch == Batch::Atomic && looked.len() > 1 {
            self.core.reply.withhold = !self.all_would_run(&looked, above);
        }
        self.slots.clear();
        self.front = 0;
        self.share = None;
        for call in looked {
            self.judge_one(call, above);
        }
        self.core.life.turn(Turn::Opened);
        self.pump();
    }

    /// A reply that came when the run could not take it any more: nothing of it is run or charged.
    fn refuse_all(&mut self, reply: &Reply) {
        self.slots.clear();
        for looked in self.look_up(reply) {
            let (_, hint) =
                self.refusal(Check::Ended, &Because::Itself, &looked.name, &looked.resolved, "", &Names::new);
            let judged = Judged::Refuse { check: Check::Ended, violation: false, by: None, hint: hint.clone() };
            let state = State::Answered(hint.into(), true);
            self.slots.push(Slot {
                no: looked.proposed.no,
                call: looked.call,
                proposed: looked.proposed,
                name: looked.name,
                tool: None,
                stage: self.core.stage,
                seen: None,
                judged,
                nested: false,
                state,
                hints: Vec::new(),
            });
        }
        self.front = self.slots.len();
    }

    fn reply_facts(&mut self, reply: &Reply) -> ReplyFacts {
        let text = !reply.text.trim().is_empty();
        if text && reply.calls.is_empty() {
            self.last_texts.push_back(reply.text.clone());
        }
        let marker = if reply.calls.is_empty() && text { self.marker() } else { None };
        ReplyFacts {
            text,
            calls: !reply.calls.is_empty(),
            cut: reply.finish == Finish::Length,
            declined: reply.finish == Finish::Refusal,
            marker,
            ..ReplyFacts::default()
        }
        .costing(reply.usage)
    }

    fn marker(&mut self) -> Option<bool> {
        let finish = self.table.finish.as_ref()?;
        while self.last_texts.len() > finish.window {
            self.last_texts.pop_front();
        }
        let stands = |marker: &String| self.last_texts.iter().any(|t| super::finish::stands(marker, t));
        if finish.failure.iter().any(stands) {
            return Some(false);
        }
        (!finish.success.is_empty() && finish.success.iter().all(stands)).then_some(true)
    }

    fn charge(&mut self, reply: &Reply, facts: ReplyFacts) {
        let stage = self.core.stage;
        let Self { table, roster, core, task, assume, observe, .. } = self;
        let cx = super::core::Context { table, roster, observe: *observe };
        let mut scene = Scene::new(cx, task, assume);
        scene.reply = Some((&reply.text, reply.calls.len()));
        core.begin_reply(cx, facts, &mut scene);
        self.events.push(Event::StepCharged {
            step: self.core.steps,
            stage: self.stage_name(stage),
            stage_step: self.core.spent_in(stage),
            budget: self.core.budget(&self.table, stage),
        });
        if facts.text {
            self.events.push(Event::TextSaid { text: shortened(reply.text.trim(), MAX_SHOWN) });
        }
        let hints = self.tell_notes(None, &|| moment(None, None, Some((&reply.text, reply.calls.len()))));
        self.after.extend(hints);
    }

    /// Gives each call its number, its id, its meaning and its identity.
    fn look_up(&mut self, reply: &Reply) -> Vec<Looked> {
        self.proposed += reply.calls.len();
        let mut ids: std::collections::HashSet<String> = std::collections::HashSet::new();
        let cut = reply.finish == Finish::Length;
        reply
            .calls
            .iter()
            .map(|call| {
                let no = CallNo(self.next_call);
                self.next_call += 1;
                let mut call = call.clone();
                if call.id.is_empty() || ids.contains(&call.id) {
                    call.id = format!("{}call_{}", call.id, no.0);
                }
                ids.insert(call.id.clone());
                let resolved = self.roster.resolve(&self.table, &call.tool);
                let (what, name) = match &resolved {
                    Resolved::Tool(tool) => (Some(Target::Tool(*tool)), self.roster.name(*tool)),
                    Resolved::Advance => (Some(Target::Advance), ADVANCE.into()),
                    Resolved::Unknown(_) => (None, shortened(&call.tool, crate::table::limits::NAME).into()),
                };
                let ignored = match what {
                    Some(Target::Tool(tool)) => &self.roster.entry(&self.table, tool).ignore_args[..],
                    _ => &[],
                };
                let (identity, why_malformed) = match identity(&name, &call.arguments, ignored) {
                    _ if cut => (None, String::new()),
                    Ok(identity) => (Some(identity), String::new()),
                    Err(why) => (None, why),
                };
                Looked { call, proposed: Proposed { no, what, identity }, resolved, name, why_malformed }
            })
            .collect()
    }

    fn all_would_run(&self, looked: &[Looked], above: &[Self]) -> bool {
        let (mut core, mut above) = (self.core.clone(), above.to_vec());
        looked.iter().all(|l| !matches!(self.judge_with(&mut core, l, &mut above), Judgement::Refuse(..)))
    }

    fn judge_with(&self, core: &mut Core, looked: &Looked, above: &mut [Self]) -> Judgement {
        let cx = self.cx();
        let mut scene = Scene::new(cx, &self.task, &self.assume);
        scene.call = Some((&looked.name, &looked.call.arguments));
        judge(core, cx, looked, scene, above).0
    }

    fn judge_one(&mut self, looked: Looked, above: &mut [Self]) {
        let Self { table, roster, core, task, assume, observe, .. } = self;
        let cx = super::core::Context { table, roster, observe: *observe };
        let mut scene = Scene::new(cx, task, assume);
        scene.call = Some((&looked.name, &looked.call.arguments));
        if self.explained.is_some() {
            scene.notebook = Some(Notebook::of(looked.proposed, &looked.why_malformed));
        }
        let (judgement, notebook) = judge(core, cx, &looked, scene, above);
        let no = looked.proposed.no;
        if let (Some(explained), Some(notebook)) = (&mut self.explained, notebook) {
            let stage = table.stages.get(core.stage.index()).map_or_else(String::new, |s| s.name.to_string());
            let file = table.source.file.clone();
            explained.push(Explained { call: no, file, stage, checks: notebook.asked });
        }
        if let Some(identity) = looked.proposed.identity {
            self.dup_tool_count += u32::from(self.core.watch.has_run(identity));
        }
        if judgement == Judgement::Advance {
            self.product = summary_of(&looked.call.arguments).unwrap_or_default();
        }
        self.tell_move();
        let counted = self.count_name(&looked);
        let (judged, state) = self.word(&judgement, &looked);
        self.count(&counted, &judged);
        self.judged_event(no, &looked, counted, &judged, &judgement);
        let hints = self.tell_notes(Some(no), &|| looked.moment());
        let (tool, seen) = match (looked.proposed.what, looked.proposed.identity) {
            (Some(Target::Tool(tool)), Some(id)) => (Some(tool), Some(self.core.seen(self.cx(), no, id, tool))),
            _ => (None, None),
        };
        let nested = tool.is_some_and(|t| self.roster.entry(&self.table, t).nested.is_some());
        if !matches!(judged, Judged::Run | Judged::Ask { .. }) {
            self.brief(&looked.name, &looked.call.arguments, &judged);
        }
        self.slots.push(Slot {
            no,
            call: looked.call,
            proposed: looked.proposed,
            name: looked.name,
            tool,
            stage: self.core.stage,
            seen,
            judged,
            nested,
            state,
            hints,
        });
    }

    fn judged_event(&mut self, no: CallNo, looked: &Looked, tool: Name, judged: &Judged, judgement: &Judgement) {
        let resolved = (tool != looked.name || *looked.call.tool != *looked.name).then(|| looked.name.clone());
        let written = if looked.proposed.what.is_some() {
            shortened(&looked.call.tool, crate::table::limits::NAME).into()
        } else {
            tool
        };
        let resolved = resolved.filter(|_| looked.proposed.what.is_some());
        self.events.push(Event::CallJudged { call: no, tool: written, resolved, judged: judged.clone() });
        let fired = match judgement {
            Judgement::Reuse { .. } => Some(("duplicate", "reuse")),
            Judgement::Refuse(_, Because::Guard(guard, _, then)) => Some((guard.as_str(), answer_name(*then))),
            Judgement::Refuse(Check::SameTool, _) => Some(("same_tool", "refuse")),
            Judgement::Refuse(Check::Conservative, _) => Some(("conservative", "refuse")),
            _ => None,
        };
        if let Some((guard, answer)) = fired {
            self.events.push(Event::GuardFired {
                guard: guard.into(),
                call: Some(no),
                answer: answer.into(),
                observed: false,
            });
        }
    }

    /// The verdict in words, and how far the call is with it.
    fn word(&self, judgement: &Judgement, looked: &Looked) -> (Judged, State) {
        match judgement {
            Judgement::Run if self.is_nested(looked) => (Judged::Run, State::Nested),
            Judgement::Run => (Judged::Run, State::Running),
            Judgement::Advance => (Judged::Run, State::Ready(self.say(Say::Advancing, Vec::new).into(), false)),
            Judgement::Reuse { of, telling } => {
                (Judged::Reuse { of: *of, check: Check::Duplicate }, State::Memory(*of, *telling))
            }
            Judgement::Share(of) => (Judged::Reuse { of: *of, check: Check::Duplicate }, State::Shared(*of)),
            Judgement::Refuse(check, because) => {
                let (by, hint) =
                    self.refusal(*check, because, &looked.name, &looked.resolved, &looked.why_malformed, &|| {
                        looked.moment()
                    });
                let leaving = looked.proposed.what == Some(Target::Advance) && *check == Check::Requires;
                let violation = check.is_violation() && !leaving;
                let state = State::Ready(hint.as_str().into(), true);
                (Judged::Refuse { check: *check, violation, by, hint }, state)
            }
            Judgement::Ask(because) => {
                let (by, question) = match because {
                    Because::Rule(rule) => {
                        let text = match self.table.rules.get(rule.index()).map(|r| &r.action) {
                            Some(crate::table::model::Action::Ask(text)) => self.rule_text(text, &|| looked.moment()),
                            _ => String::new(),
                        };
                        (self.rule_name(*rule).to_string(), text)
                    }
                    Because::Above { by, reason, .. } => (by.clone(), reason.clone()),
                    _ => ("approval".to_owned(), format!("May `{}` be called?", looked.name)),
                };
                (Judged::Ask { by, question }, State::Asked)
            }
        }
    }

    fn is_nested(&self, looked: &Looked) -> bool {
        match looked.proposed.what {
            Some(Target::Tool(tool)) => self.roster.entry(&self.table, tool).nested.is_some(),
            _ => false,
        }
    }

    fn count_name(&mut self, looked: &Looked) -> Name {
        if looked.proposed.what.is_some() || self.counts.contains_key(&looked.name) {
            return looked.name.clone();
        }
        self.made_up += 1;
        if self.made_up > MAX_MADE_UP { "(other)".into() } else { looked.name.clone() }
    }

    fn count(&mut self, tool: &Name, judged: &Judged) {
        let counts = self.counts.entry(tool.clone()).or_default();
        counts.proposed += 1;
        match judged {
            Judged::Run => counts.run += 1,
            Judged::Reuse { .. } => counts.reused += 1,
            // A call that waits for a person has not run; a yes changes that.
            Judged::Refuse { .. } | Judged::Ask { .. } => counts.refused += 1,
        }
    }

    fn brief(&mut self, tool: &Name, args: &str, judged: &Judged) {
        let came_to = match judged {
            Judged::Refuse { check, .. } => format!("refused ({})", check.as_str()),
            Judged::Reuse { of, .. } => format!("answered with the result of call {}", of.0),
            Judged::Run | Judged::Ask { .. } => "done".to_owned(),
        };
        self.note_brief(tool, args, came_to);
    }

    pub(super) fn note_brief(&mut self, tool: &Name, args: &str, came_to: String) {
        if self.briefs.len() >= super::digest::MAX_BRIEFS {
            self.briefs.pop_front();
        }
        let one_line: String = args.split_whitespace().collect::<Vec<_>>().join(" ");
        self.briefs.push_back(Brief { tool: tool.clone(), args: shortened(&one_line, 80), came_to });
    }

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
            if let Some(slot) = self.slots.iter_mut().find(|s| s.no == no) {
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

    /// A call that was to run and will not: what was counted for it is taken back.
    pub(super) fn not_approved(&mut self, no: CallNo, say: Say) {
        let Some(slot) = self.slot(no) else { return };
        let (name, proposed, stage) = (slot.name.clone(), slot.proposed, slot.stage);
        let text = if say == Say::RefusedGrant {
            let grant = Because::Grant(self.share.unwrap_or_default());
            self.refusal(Check::Grant, &grant, &name, &Resolved::Unknown(Vec::new()), "", &Names::new).1
        } else {
            self.say(say, || vec![("tool", (&*name).into())])
        };
        let entry = slot.tool.map(|tool| self.roster.entry(&self.table, tool));
        if entry.and_then(|e| e.nested.as_ref()).is_some_and(|n| n.spend == Spend::Parent) {
            self.core.reply.nested = self.core.reply.nested.saturating_sub(1);
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
        let cx = super::core::Context { table, roster, observe: *observe };
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
        let unknown = result.status == Status::Unknown;
        let done = Done { failed, unknown, result: print, from_memory: false };
        let ran = self.uses_past.then(|| Ran {
            tool: name.clone(),
            args: serde_json::from_str(&args).unwrap_or_default(),
            succeeded: !failed,
        });
        let noted = core.finish(cx, (&seen, tool), &done, learned, ran, &mut scene);
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

/// Judges a call, the runs above asked where there are some.
fn judge(
    core: &mut Core,
    cx: super::core::Context<'_>,
    looked: &Looked,
    mut scene: Scene<'_>,
    above: &mut [Frame],
) -> (Judgement, Option<Notebook>) {
    if above.is_empty() {
        let judgement = core.judge(cx, &looked.proposed, &mut scene);
        return (judgement, scene.notebook);
    }
    let mut under = Under { scene, above, args: &looked.call.arguments };
    let judgement = core.judge(cx, &looked.proposed, &mut under);
    let notebook = under.scene.notebook.take();
    if matches!(judgement, Judgement::Run | Judgement::Ask(_)) {
        above.iter_mut().for_each(|f| f.count_below(&looked.name, true));
    }
    (judgement, notebook)
}

fn answer_name(then: Then) -> &'static str {
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

/// The summary a model gives to `advance`.
fn summary_of(arguments: &str) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    Some(arguments.get("summary")?.as_str()?.trim().to_owned())
}
