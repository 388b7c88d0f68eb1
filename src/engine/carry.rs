//! Carries out what was decided: stages left and entered, rollbacks, what is said, pauses and the end.

use super::event::{EnteredBy, Event};
use super::frame::Frame;
use super::guard::{Guard, Identities};
use super::input::CallNo;
use super::outcome::{LimitKind, Outcome};
use super::scene::{Names, Scene};
use super::settle::{By, Move, Saying};
use crate::table::messages::Message as Say;
use crate::table::model::{At, Expose, FactFrom};
use crate::table::{RuleId, StageId};
use std::sync::Arc;

/// Characters a result keeps when the view is shortened because it did not fit.
const SHORTENED: usize = 400;
/// Longest product kept, in characters.
const MAX_PRODUCT: usize = 16 * 1024;
/// Writes named after a rollback.
const MAX_NAMED: usize = 10;
/// Below this many steps left the number is said, unless the table's `conservative.below` says otherwise.
const FEW: u32 = 3;

impl Frame {
    pub(super) fn settle(&mut self) {
        if self.core.reply.moved {
            self.enter_text();
        }
        let moves = self.with_core(|core, cx| core.settle(cx));
        self.say_after();
        self.carry_out(moves);
        self.before_step();
    }

    /// Says what waited for the last answer, as one message.
    fn say_after(&mut self) {
        if !self.after.is_empty() {
            let said = std::mem::take(&mut self.after).join("\n");
            self.transcript.user(said);
        }
    }

    /// Before the model is asked: the rules of `step`, and how many steps are left when they are few.
    pub(super) fn before_step(&mut self) {
        if self.core.life.outcome().is_some() {
            return;
        }
        if self.core.closing.is_none() {
            let Self { table, roster, core, task, assume, observe, .. } = self;
            let cx = super::core::Context { table, roster, observe: *observe };
            let mut scene = Scene::new(cx, task, assume);
            core.ask_rules(cx, At::Step, None, &mut scene);
            let hints = self.tell_notes(None, &Names::new);
            self.after.extend(hints);
            if let Some((keep, rule)) = self.core.reply.forget.take() {
                self.forget(keep, rule);
            }
        }
        self.say_after();
        if self.core.closing.is_some() {
            return;
        }
        if self.core.is_closing_request(&self.table) {
            let text = self.say(Say::Closing, || vec![("reason", "".into())]);
            return self.transcript.user(text);
        }
        let left = self.core.left(&self.table, self.core.stage);
        let stage = self.table.stages.get(self.core.stage.index());
        let below = stage.map_or(FEW, |s| {
            let guard = &s.guards.conservative;
            if guard.mode == crate::table::model::Mode::Off { FEW } else { guard.below }
        });
        // The entering message has just said the number.
        if left >= below || stage.is_some_and(|_| self.core.spent_in(self.core.stage) == 0) {
            return;
        }
        let say = if left == 1 { Say::LastStep } else { Say::StepsLeft };
        let text = self.say(say, || vec![("left", left.into())]);
        self.transcript.user(text);
    }

    pub(super) fn carry_out(&mut self, moves: Vec<Move>) {
        for step in moves {
            match step {
                Move::Left(stage, product) => self.leave_stage(stage, product),
                Move::Entered(stage, by) => self.entered(stage, by),
                Move::RolledBack(guard, stage) => self.rolled_back(guard, stage),
                Move::Fresh => self.fresh(),
                Move::Forget(keep, rule) => self.forget(keep, rule),
                Move::ClosingAsked => {
                    let reason = self.closing_reason();
                    let text = self.say(Say::Closing, || vec![("reason", reason.into())]);
                    self.transcript.user(text);
                }
                Move::Say(saying) => self.say_saying(&saying),
                Move::Paused(outcome) => self.paused(outcome),
                Move::Ended(outcome) => self.ended(outcome),
            }
        }
    }

    fn leave_stage(&mut self, stage: StageId, product: bool) {
        let product = if product { super::speak::shortened(&self.product, MAX_PRODUCT) } else { String::new() };
        if !product.is_empty() {
            self.products.retain(|(s, _)| *s != stage);
            self.products.push((stage, product.clone()));
        }
        self.events.push(Event::StageLeft { stage: self.stage_name(stage), product });
    }

    fn entered(&mut self, stage: StageId, by: By) {
        let event = self.stage_entered(stage, self.entered_by(by));
        self.events.push(event);
        self.passed.clear();
        self.enter_text();
    }

    fn stage_entered(&self, stage: StageId, by: EnteredBy) -> Event {
        Event::StageEntered {
            stage: self.stage_name(stage),
            number: stage.index() + 1,
            of: self.table.stages.len(),
            left: self.core.left(&self.table, stage),
            by,
        }
    }

    /// The entering message, and the checkpoint behind it.
    fn enter_text(&mut self) {
        if self.table.expose == Expose::Stage {
            let here = self.table.stages.get(self.core.stage.index());
            let offered = self.roster.offered().iter();
            let fits = |name: &str| {
                here.is_some_and(|s| s.allowed.allows(name) || (name == super::roster::ADVANCE && s.leave_by.advance))
            };
            self.narrowed = offered.filter(|t| fits(&t.name)).cloned().collect();
        }
        let text = match self.prefix() {
            Some(prefix) => format!("{prefix}\n\n{}", self.stage_text()),
            None => self.stage_text(),
        };
        self.transcript.user(text);
        self.transcript.set_checkpoint(CallNo(self.next_call));
    }

    /// A call moved the run: the events come at once, the message after the reply's results.
    pub(super) fn moved(&mut self, from: StageId, passed: Vec<StageId>, to: StageId) {
        self.events.push(Event::StageLeft { stage: self.stage_name(from), product: String::new() });
        for stage in &passed {
            let entered = self.stage_entered(*stage, EnteredBy::Call);
            self.events.push(entered);
            self.events.push(Event::StageLeft { stage: self.stage_name(*stage), product: String::new() });
        }
        let entered = self.stage_entered(to, EnteredBy::Call);
        self.events.push(entered);
        self.passed = passed;
    }

    /// The reply may have led on already: what is said is about the stage that was rolled back.
    fn rolled_back(&mut self, guard: Guard, at: StageId) {
        let (dropped, from) = self.transcript.roll_back();
        self.core.watch.view_cut(&|no| no >= from);
        let stage = self.stage_name(at);
        self.events.push(Event::RolledBack { stage: stage.clone(), by: guard.as_str().into(), dropped });
        let say = if guard == Guard::Violations { Say::ReasonViolations } else { Say::ReasonLoop };
        let reason = self.say(say, Vec::new);
        let named = self.writes.iter().rev().take(MAX_NAMED).rev();
        let writes: Vec<String> =
            named.map(|w| format!("{} {}", w.tool, super::speak::shortened(&w.args, 120))).collect();
        let left = self.core.left(&self.table, at);
        let step = self.core.spent_in(at);
        let here =
            minijinja::Value::from_pairs([("name", (&*stage).into()), ("step", step.into()), ("left", left.into())]
                as [(_, minijinja::Value); 3]);
        let text = self.say(Say::RolledBack, || {
            vec![
                ("stage", here),
                ("reason", reason.into()),
                ("left", left.into()),
                ("writes", writes.join("; ").into()),
            ]
        });
        self.transcript.user(text);
    }

    fn fresh(&mut self) {
        let result = self.transcript.last_result();
        let results = self.transcript.results_here();
        let (_, from) = self.transcript.roll_back();
        self.core.watch.view_cut(&|no| no >= from);
        self.events.push(Event::ViewCut { by: "retry_fresh".into(), results });
        let result = result.as_deref().unwrap_or_default();
        let text = self.say(Say::Fresh, || vec![("result", result.into())]);
        self.transcript.user(text);
    }

    fn forget(&mut self, keep: u32, rule: RuleId) {
        let instead: Arc<str> = self.say(Say::Forgotten, Vec::new).into();
        let gone = self.transcript.forget(keep as usize, &instead);
        if gone.is_empty() {
            return;
        }
        self.core.watch.view_cut(&|no| gone.contains(&no));
        self.events.push(Event::ViewCut { by: self.rule_name(rule), results: gone.len() });
    }

    /// Why the run is closing, for the model.
    fn closing_reason(&self) -> String {
        let Some(closing) = &self.core.closing else { return String::new() };
        match (closing.outcome, closing.limit) {
            (Outcome::Looped, _) => self.say(Say::ReasonLoop, Vec::new),
            (Outcome::Violations, _) => self.say(Say::ReasonViolations, Vec::new),
            (_, Some((LimitKind::Stage | LimitKind::Run, ..)) | None) => self.say(Say::ReasonSteps, Vec::new),
            (_, Some((kind, ..))) => {
                let kind = serde_json::to_value(kind).ok();
                let kind = kind.as_ref().and_then(|k| k.as_str()).unwrap_or_default().replace('_', " ");
                self.say(Say::ReasonLimit, || vec![("limit", kind.into())])
            }
        }
    }

    fn say_saying(&mut self, saying: &Saying) {
        let with_tools = || vec![("allowed", self.allowed().into()), ("leave", self.leave_text().into())];
        let text = match saying {
            Saying::Silent => self.say(Say::NudgeSilent, with_tools),
            Saying::NothingYet => self.say(Say::NudgeNothingYet, with_tools),
            Saying::TextDoesNotLeave => self.say(Say::NudgeText, with_tools),
            Saying::Cut => self.say(Say::NudgeCut, Vec::new),
            Saying::Missing(missing) => {
                let reasons = self.stage_reasons(missing);
                self.say(Say::NudgeMissing, || vec![("reasons", reasons.into()), ("allowed", self.allowed().into())])
            }
        };
        let name = match saying {
            Saying::Silent => Say::NudgeSilent,
            Saying::NothingYet => Say::NudgeNothingYet,
            Saying::TextDoesNotLeave => Say::NudgeText,
            Saying::Cut => Say::NudgeCut,
            Saying::Missing(_) => Say::NudgeMissing,
        };
        self.events.push(Event::HintGiven { name: name.name().into(), text: text.clone() });
        self.transcript.user(text);
    }

    fn paused(&mut self, outcome: Outcome) {
        let question = match (outcome, self.core.admission) {
            (Outcome::AwaitingApproval, Some((stage, _))) => {
                format!("May the run enter stage `{}`?", self.stage_name(stage))
            }
            (Outcome::AwaitingUser, _) => self.product.clone(),
            _ => String::new(),
        };
        self.events.push(Event::Paused { outcome, question });
    }

    fn ended(&mut self, outcome: Outcome) {
        if self.product.is_empty() {
            let why = match self.core.reply.end {
                Some((rule, _)) => self.say(Say::ReasonRule, || vec![("rule", (&*self.rule_name(rule)).into())]),
                None => self.closing_reason(),
            };
            self.answer = self.answer_without_model(if why.is_empty() { outcome.as_str() } else { &why });
        } else {
            self.answer.clone_from(&self.product);
        }
        if self.inside.is_some() {
            // The session tells the end of a nested run.
            return;
        }
        let limit = self.limit();
        self.events.push(Event::RunEnded { outcome, limit, text: self.answer.clone() });
    }

    pub(super) fn take_admission(&mut self, yes: bool) {
        self.events.push(Event::Resumed);
        let moves = self.with_core(|core, cx| core.admitted(cx, yes));
        self.carry_out(moves);
        self.before_step();
    }

    pub(super) fn take_user_message(&mut self, text: &str) {
        let mut moves = Vec::new();
        if self.core.life.outcome().is_some() {
            self.core.resume();
            self.events.push(Event::Resumed);
        }
        if self.with_core(|core, cx| core.user_spoke(cx, &mut moves)) {
            self.learn_from(text, |from| matches!(from, FactFrom::User));
            self.transcript.user(text.to_owned());
        }
        self.carry_out(moves);
    }

    pub(super) fn take_cancel(&mut self) {
        let mut moves = Vec::new();
        if self.front < self.slots.len() && self.core.life.outcome() == Some(Outcome::AwaitingApproval) {
            // The reply is not settled yet: its consequences come before the pause.
            self.core.life.turn(super::life::Turn::Opened);
        }
        self.core.cancel(&mut moves);
        self.close_open_calls(Say::Cancelled);
        self.carry_out(moves);
    }

    pub(super) fn take_failure(&mut self, overflow: bool) {
        let mut moves = Vec::new();
        if self.with_core(|core, cx| core.provider_failed(cx, overflow, &mut moves)) {
            let mut transcript = std::mem::take(&mut self.transcript);
            let results = transcript.shorten(SHORTENED, |text| self.cut(text, SHORTENED));
            self.transcript = transcript;
            self.core.watch.view_cut(&|_| true);
            self.events.push(Event::ViewCut { by: "context_overflow".into(), results });
        }
        self.carry_out(moves);
    }

    /// What the facts of a kind learn from a text.
    pub(super) fn learn_from(&mut self, text: &str, of: impl Fn(&FactFrom) -> bool) {
        let Self { table, roster, core, root_task: task, assume, observe, .. } = self;
        let cx = super::core::Context { table, roster, observe: *observe };
        // In a nested run the task was written by a model: its facts read the root's.
        let scene = Scene::new(cx, task, assume);
        let learned: Vec<_> = super::scene::facts(cx)
            .filter(|(_, fact)| of(&fact.from))
            .flat_map(|(id, fact)| scene.learn(core, fact, text).into_iter().map(move |v| (id, v)))
            .collect();
        for (fact, value) in learned {
            core.set_fact(cx, fact, Some(value));
        }
        self.tell_notes(None, &Names::new);
    }

    pub(super) fn host_fact(&mut self, name: &str, value: Option<serde_json::Value>) {
        let found = super::scene::facts(self.cx()).find(|(_, f)| *f.name == *name).map(|(id, _)| id);
        if let Some(fact) = found {
            self.with_core(|core, cx| core.set_fact(cx, fact, value));
        }
    }
}
