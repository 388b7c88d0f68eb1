//! A reply is taken apart: every call looked up, judged in the model's order and counted.

use super::answer::answer_name;
use super::args::identity;
use super::core::{Because, Context, Core, Judgement, Proposed, ReplyFacts, Target};
use super::event::{Event, Judged};
use super::explain::{Explained, Notebook};
use super::frame::Frame;
use super::guard::Identities;
use super::input::{CallNo, Finish, ProposedCall, Reply};
use super::life::Turn;
use super::nest::Under;
use super::outcome::Outcome;
use super::roster::{ADVANCE, Resolved};
use super::scene::{Names, Scene, moment};
use super::slot::{Brief, Slot, State};
use super::speak::shortened;
use super::verdict::Check;
use crate::table::Name;
use crate::table::messages::Message as Say;
use crate::table::model::{Action, Batch};
use std::collections::HashSet;

/// Made-up tool names counted apart; further ones count as `(other)`.
pub const MAX_MADE_UP: usize = 64;
/// What a call without a name is called.
const NO_NAME: &str = "(no name)";
/// Longest text of a reply, or task of a nested run, shown in events, in characters.
pub(super) const MAX_SHOWN: usize = 500;

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
        let cx = Context { table, roster, observe: *observe };
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
        let mut ids: HashSet<String> = HashSet::new();
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
                    Resolved::Unknown(_) if call.tool.trim().is_empty() => (None, NO_NAME.into()),
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
        let cx = Context { table, roster, observe: *observe };
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
                            Some(Action::Ask(text)) => self.rule_text(text, &|| looked.moment()),
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
}

/// Judges a call, the runs above asked where there are some.
fn judge(
    core: &mut Core,
    cx: Context<'_>,
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

/// The summary a model gives to `advance`.
fn summary_of(arguments: &str) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    Some(arguments.get("summary")?.as_str()?.trim().to_owned())
}
