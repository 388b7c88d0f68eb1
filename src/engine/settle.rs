//! What a reply leads to once its last call is answered (design §3.1.7), and how stages are left and entered.
//!
//! The first that applies: a used-up run limit; an `end` rule or finish marker; the first `goto`; a guard's consequence;
//! leaving by the model; a spent budget; otherwise the run stays. A cancel pauses what is left of it.

use super::core::{Closing, Context, Core, stage_of};
use super::guard::{Guard, Identities, Then, violations};
use super::life::Turn;
use super::mutant::{self, Mutant};
use super::outcome::{LimitKind, Outcome};
use crate::table::model::{Mode, Next, OnExhausted};
use crate::table::{RuleId, StageId};

/// How a stage comes to be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The run began.
    Start,
    /// A text without calls.
    Answer,
    /// The control tool.
    Advance,
    /// A call.
    Call,
    /// A rule.
    Rule(RuleId),
    /// A spent budget.
    Exhausted,
    /// A guard.
    Guard(Guard),
    /// The run is closing.
    Closing,
    /// A person's no at the stage before.
    Denied,
    /// Steps that a person granted.
    Grant,
}

/// What the session has to carry out, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// A stage was left; `true` = the reply's text is its product.
    Left(StageId, bool),
    /// A stage was entered.
    Entered(StageId, By),
    /// Back to the checkpoint.
    RolledBack(Guard, StageId),
    /// The view becomes the checkpoint and the last result.
    Fresh,
    /// All but the last results leave the view.
    Forget(u32, RuleId),
    /// The next request is for the answer alone.
    ClosingAsked,
    /// Something is said.
    Say(Saying),
    /// The run waits.
    Paused(Outcome),
    /// The run ended.
    Ended(Outcome),
}

/// What is said when nothing moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    /// An empty reply.
    Silent,
    /// Nothing has been looked at yet.
    NothingYet,
    /// These requirements of the stage are missing.
    Missing(Vec<usize>),
    /// A text does not leave this stage.
    TextDoesNotLeave,
    /// The reply was cut short.
    Cut,
}

/// Where a path leads.
enum Path {
    To(StageId),
    End,
}

impl<W: Identities> Core<W> {
    /// Enters the first stage.
    pub fn begin(&mut self, cx: Context<'_>) -> Vec<Move> {
        let mut moves = Vec::new();
        self.enter(cx, StageId(0), By::Start, &mut moves);
        moves
    }

    /// Settles the reply whose last call is answered.
    pub fn settle(&mut self, cx: Context<'_>) -> Vec<Move> {
        self.life.turn(Turn::Answered);
        // The results are in: the facts say what holds.
        self.reply.unsure.clear();
        self.past.reply_done();
        self.streak.reply_done();
        let mut moves = Vec::new();
        self.consequences(cx, &mut moves);
        if moves.iter().any(|m| matches!(m, Move::Entered(..) | Move::Ended(_))) {
            // What would be said about the stage that was left is said no more.
            moves.retain(|m| !matches!(m, Move::Say(_)));
        }
        if let Some((keep, rule)) = self.reply.forget.take() {
            moves.insert(0, Move::Forget(keep, rule));
        }
        if std::mem::take(&mut self.cancelled) && !self.life.is_ended() && self.life.outcome().is_none() {
            self.pause(Outcome::Cancelled, &mut moves);
        }
        moves
    }

    fn consequences(&mut self, cx: Context<'_>, moves: &mut Vec<Move>) {
        let reply = self.reply.clone();
        let facts = reply.facts;
        if facts.declined {
            return self.end(Outcome::Declined, moves);
        }
        if reply.closing {
            let outcome = self.closing_outcome(cx, facts.text && !facts.calls, facts.marker);
            return self.end(outcome, moves);
        }
        let marked = self.marked(cx, facts.marker);
        if !self.completes(cx)
            && marked.is_none()
            && let Some((kind, used, of)) = self.used_limit(cx)
        {
            return self.close(cx, Outcome::Exhausted, Some((kind, used, of)), moves);
        }
        if let Some(completed) = reply.end.map(|(_, completed)| completed).or(marked) {
            return self.end(if completed { Outcome::Completed } else { Outcome::Failed }, moves);
        }
        if let Some((stage, rule)) = reply.goto {
            moves.push(Move::Left(self.stage, false));
            return self.enter(cx, stage, By::Rule(rule), moves);
        }
        let (then, guard) = self.wanted(cx);
        match (then, guard) {
            (Then::Close, guard) => {
                let outcome = if guard == Guard::Violations { Outcome::Violations } else { Outcome::Looped };
                return self.close(cx, outcome, None, moves);
            }
            (Then::Leave, guard) => return self.spend(cx, By::Guard(guard), moves),
            (Then::RollBack, guard) => self.roll_back(guard, moves),
            (Then::Nothing, _) => {
                if self.leave(cx, moves) {
                    return;
                }
            }
        }
        self.look_at_budget(cx, moves);
    }

    /// What the guards want, the violations' row counted.
    fn wanted(&mut self, cx: Context<'_>) -> (Then, Guard) {
        let stage_guard = self.stage_in(cx).map(|s| s.guards.violations);
        let mut then = self.reply.then;
        let mut by = self.reply.then_by.unwrap_or(Guard::Violations);
        let most = stage_guard.map_or(0, |g| g.max_rollbacks);
        if then == Then::RollBack && self.rollbacks >= most {
            then = Then::Leave;
        }
        if let Some(guard) = stage_guard {
            let row =
                violations::reply_done(&mut self.violations_in_a_row, self.reply.violation, self.rollbacks, guard);
            if row > then {
                if guard.mode == Mode::On && !cx.observe {
                    (then, by) = (row, Guard::Violations);
                } else {
                    let answer = if row == Then::Close { "close" } else { "roll_back" };
                    self.notes.push(super::core::Note::GuardFired(Guard::Violations, answer, true));
                }
            }
        }
        (then, by)
    }

    /// Leaving by the model, and what is said when it does not leave; `true` = the reply is settled.
    fn leave(&mut self, cx: Context<'_>, moves: &mut Vec<Move>) -> bool {
        let facts = self.reply.facts;
        let Some(stage) = self.stage_in(cx) else { return false };
        let silent = !facts.text && !facts.calls;
        let silent_before = std::mem::replace(&mut self.silent, silent);
        if self.reply.advance {
            // What a call of the same reply came to may have closed the gate again.
            let missing = self.missing(&stage.requires);
            if missing.is_empty() || cx.observe {
                self.go_on(cx, By::Advance, moves);
                return true;
            }
            moves.push(Move::Say(Saying::Missing(missing)));
            return false;
        }
        if facts.calls || self.reply.moved {
            return false;
        }
        if silent {
            if facts.cut {
                moves.push(Move::Say(Saying::Cut));
            } else if silent_before {
                self.silent = false;
                self.spend(cx, By::Exhausted, moves);
                return true;
            } else {
                moves.push(Move::Say(Saying::Silent));
            }
            return false;
        }
        let missing = self.missing(&stage.requires);
        let saying = if facts.cut {
            Saying::Cut
        } else if !missing.is_empty() {
            Saying::Missing(missing)
        } else if !stage.text_leaves() {
            Saying::TextDoesNotLeave
        } else if !stage.conversation && !stage.is_final() && !stage.allowed.is_none() && !self.ran_here && !self.nudged
        {
            self.nudged = true;
            Saying::NothingYet
        } else {
            self.go_on(cx, By::Answer, moves);
            return true;
        };
        if stage.conversation && saying != Saying::Cut {
            self.look_at_budget(cx, moves);
            if self.life.outcome().is_none() && self.closing.is_none() {
                self.pause(Outcome::AwaitingUser, moves);
            }
            return true;
        }
        moves.push(Move::Say(saying));
        false
    }

    /// Whether this reply completes the run by itself.
    fn completes(&self, cx: Context<'_>) -> bool {
        let facts = self.reply.facts;
        self.stage_in(cx).is_some_and(|s| {
            s.is_final()
                && self.missing(&s.requires).is_empty()
                && self.reply.then == Then::Nothing
                && (self.reply.advance || (facts.text && !facts.calls && !facts.cut && s.text_leaves()))
        })
    }

    /// What a finish marker says; success needs the stage's requirements.
    fn marked(&self, cx: Context<'_>, marker: Option<bool>) -> Option<bool> {
        let met = self.stage_in(cx).is_some_and(|s| self.missing(&s.requires).is_empty());
        marker.filter(|success| !success || met)
    }

    /// The outcome of the reply to a closing request.
    fn closing_outcome(&mut self, cx: Context<'_>, text: bool, marker: Option<bool>) -> Outcome {
        if let Some(closing) = &self.closing {
            return closing.outcome;
        }
        match self.marked(cx, marker) {
            Some(true) => return Outcome::Completed,
            Some(false) => return Outcome::Failed,
            None => {}
        }
        let met = self.stage_in(cx).is_some_and(|s| self.missing(&s.requires).is_empty());
        if text && met {
            return Outcome::Completed;
        }
        let (used, of) = (self.spent_in(self.stage), self.budget(cx.table, self.stage));
        let limit = match self.bound.as_ref().and_then(|b| b.steps) {
            Some(grant) if used < of => (LimitKind::Run, self.stage, self.steps.into(), grant.into()),
            _ => (LimitKind::Stage, self.stage, used.into(), of.into()),
        };
        self.closing = Some(Closing { outcome: Outcome::Exhausted, limit: Some(limit) });
        Outcome::Exhausted
    }

    /// The run limit that is used up, its use and its size.
    pub(super) fn used_limit(&self, cx: Context<'_>) -> Option<(LimitKind, u64, u64)> {
        let (limits, above) = (&cx.table.limits, self.bound.as_deref());
        if self.reply.out_of_calls {
            // A nested run may be out of calls by a limit of a run above.
            return Some((LimitKind::Calls, self.calls.into(), limits.max_calls.unwrap_or(self.calls).into()));
        }
        let over = |kind, used: u64, own: Option<u64>, above: Option<u64>| {
            super::bound::least(own, above).filter(|of| used >= *of).map(|of| (kind, used, of))
        };
        let tokens = self.tokens.0.saturating_add(self.tokens.1);
        over(LimitKind::Tokens, tokens, limits.max_tokens, above.and_then(|b| b.tokens))
            .or_else(|| {
                let most = above.and_then(|b| b.cost_micros);
                over(LimitKind::Cost, self.cost_micros, limits.max_cost_micros, most)
            })
            .or_else(|| over(LimitKind::Time, self.time_ms, limits.max_time_ms, above.and_then(|b| b.time_ms)))
            .or_else(|| self.used_grant(cx))
    }

    /// Milliseconds left of the narrowest limit of time.
    #[must_use]
    pub fn time_left_ms(&self, cx: Context<'_>) -> Option<u64> {
        let above = self.bound.as_ref().and_then(|b| b.time_ms);
        Some(super::bound::least(cx.table.limits.max_time_ms, above)?.saturating_sub(self.time_ms))
    }

    /// Time went by. Closes the run at once when it waits for a reply and its time is used up.
    pub fn time_passed(&mut self, cx: Context<'_>, ms: u64, waiting: bool) -> Vec<Move> {
        let mut moves = Vec::new();
        let waiting_counts = cx.table.limits.waiting_counts || self.bound.as_ref().is_some_and(|b| b.waiting_counts);
        if !waiting || waiting_counts {
            self.time_ms = self.time_ms.saturating_add(ms);
        }
        let idle = self.life.outcome().is_none() && !self.life.has_open_calls() && self.closing.is_none();
        if idle && let Some((LimitKind::Time, used, of)) = self.used_limit(cx) {
            self.close(cx, Outcome::Exhausted, Some((LimitKind::Time, used, of)), &mut moves);
        }
        moves
    }

    /// The caller wants no more.
    pub fn cancel(&mut self, moves: &mut Vec<Move>) {
        if self.life.has_open_calls() {
            self.cancelled = true;
        } else if !self.life.is_ended() {
            self.pause(Outcome::Cancelled, moves);
        }
    }

    /// The user said something; `false` = the user spoke too often and the run closes.
    pub fn user_spoke(&mut self, cx: Context<'_>, moves: &mut Vec<Move>) -> bool {
        let of = self.most_user_turns(cx);
        if self.user_turns >= of {
            self.close(cx, Outcome::Exhausted, Some((LimitKind::UserTurns, self.user_turns.into(), of.into())), moves);
            return false;
        }
        self.user_turns += 1;
        true
    }

    /// Whether the request for the answer is given up when the model cannot be reached. A run whose very first request it
    /// is has nothing to tell: it waits.
    pub(crate) fn closes_without_model(&self, cx: Context<'_>) -> bool {
        let first = self.stage == StageId(0) && self.budget(cx.table, self.stage) <= 1;
        self.closing.is_some() || (self.is_closing_request(cx.table) && !first)
    }

    /// The model gave no reply. The first overflow asks for a shorter view, the second ends the run.
    pub fn provider_failed(&mut self, cx: Context<'_>, overflow: bool, moves: &mut Vec<Move>) -> bool {
        if !overflow && self.closes_without_model(cx) {
            // The request for the answer cannot be made: the digest is the answer.
            let outcome = self.closing_outcome(cx, false, None);
            self.end(outcome, moves);
            return false;
        }
        if !overflow {
            self.pause(Outcome::ProviderError, moves);
            return false;
        }
        if std::mem::replace(&mut self.shortened, true) {
            self.end(Outcome::ContextOverflow, moves);
            return false;
        }
        true
    }

    /// A person admits the run to the stage it waits before, or does not: then it goes on with that stage's `next`.
    pub fn admitted(&mut self, cx: Context<'_>, yes: bool) -> Vec<Move> {
        let mut moves = Vec::new();
        let Some((stage, by)) = self.admission.take() else { return moves };
        self.life.turn(Turn::Resumed);
        if yes {
            self.enter_now(cx, stage, by, &mut moves);
            return moves;
        }
        let next = stage_of(cx.table, stage).map_or(Next::End, |s| s.next);
        match self.follow(cx, stage, next) {
            Path::To(to) => self.enter(cx, to, By::Denied, &mut moves),
            Path::End => self.close(cx, Outcome::Exhausted, None, &mut moves),
        }
        moves
    }

    /// A person gives a stage more steps. A run that a spent budget closed goes on in that stage; `true` = it does.
    pub fn granted(&mut self, cx: Context<'_>, stage: StageId, steps: u32, moves: &mut Vec<Move>) -> bool {
        if let Some(widened) = self.widened.get_mut(stage.index()) {
            *widened = widened.saturating_add(steps);
        }
        self.granted = self.granted.saturating_add(steps);
        if !self.life.is_ended() {
            return false;
        }
        let closed = self.closed_in();
        self.life = super::life::Life::begin();
        self.closing = None;
        self.reply = super::core::ReplyState::default();
        if stage == closed {
            self.enter_now(cx, stage, By::Grant, moves);
        } else {
            self.enter(cx, stage, By::Grant, moves);
        }
        true
    }

    /// Resumes a paused run.
    pub fn resume(&mut self) {
        self.life.turn(Turn::Resumed);
    }

    fn pause(&mut self, outcome: Outcome, moves: &mut Vec<Move>) {
        self.life.turn(Turn::Paused(outcome));
        moves.push(Move::Paused(outcome));
    }

    fn end(&mut self, outcome: Outcome, moves: &mut Vec<Move>) {
        self.life.turn(Turn::Ended(outcome));
        moves.push(Move::Ended(outcome));
    }

    /// On to `next`, or to the end of the run when the stage is final.
    fn go_on(&mut self, cx: Context<'_>, by: By, moves: &mut Vec<Move>) {
        let next = self.stage_in(cx).map_or(Next::End, |s| s.next);
        moves.push(Move::Left(self.stage, true));
        if next == Next::End {
            return self.end(Outcome::Completed, moves);
        }
        match self.follow(cx, self.stage, next) {
            Path::To(stage) => self.enter(cx, stage, by, moves),
            Path::End => self.close(cx, Outcome::Exhausted, None, moves),
        }
    }

    /// The stage's budget counts as spent.
    fn spend(&mut self, cx: Context<'_>, by: By, moves: &mut Vec<Move>) {
        let outcome = if matches!(by, By::Guard(_)) { Outcome::Looped } else { Outcome::Exhausted };
        let Some(stage) = self.stage_in(cx) else { return self.end(outcome, moves) };
        let limit = (LimitKind::Stage, u64::from(self.spent_in(self.stage)), self.budget(cx.table, self.stage).into());
        let limit = (outcome == Outcome::Exhausted).then_some(limit);
        let unmet = !self.missing(&stage.requires).is_empty();
        // A gate opens by waiting only where the table says `next` in so many words, and never by a guard.
        let gated = unmet && (matches!(by, By::Guard(_)) || stage.on_exhausted == OnExhausted::RetryFresh);
        let to = match stage.on_exhausted {
            OnExhausted::Stage(to) if self.left(cx.table, to) > 0 && to != self.stage => Path::To(to),
            OnExhausted::End if mutant::on(Mutant::RequiresIgnoredOnExhaustion) => {
                self.follow(cx, self.stage, stage.next)
            }
            OnExhausted::End | OnExhausted::Stage(_) => Path::End,
            OnExhausted::Next | OnExhausted::RetryFresh if gated || stage.is_final() => Path::End,
            OnExhausted::Next | OnExhausted::RetryFresh => self.follow(cx, self.stage, stage.next),
        };
        match to {
            Path::To(to) => {
                moves.push(Move::Left(self.stage, false));
                self.enter(cx, to, by, moves);
            }
            Path::End => self.close(cx, outcome, limit, moves),
        }
    }

    fn look_at_budget(&mut self, cx: Context<'_>, moves: &mut Vec<Move>) {
        let Some(stage) = self.stage_in(cx) else { return };
        let left = self.left(cx.table, self.stage);
        if left == 0 && !mutant::on(Mutant::OffByOneBudget) {
            return self.spend(cx, By::Exhausted, moves);
        }
        if left > 1 {
            return;
        }
        match stage.on_exhausted {
            OnExhausted::Stage(to) if stage.is_final() && self.left(cx.table, to) > 0 => {
                self.spend(cx, By::Exhausted, moves);
            }
            OnExhausted::RetryFresh if !self.retried.contains(&self.stage) => {
                self.retried.push(self.stage);
                moves.push(Move::Fresh);
            }
            _ => {}
        }
    }

    fn roll_back(&mut self, guard: Guard, moves: &mut Vec<Move>) {
        self.rollbacks += 1;
        if mutant::on(Mutant::RefundingRollback)
            && let Some(spent) = self.spent.get_mut(self.stage.index())
        {
            *spent -= 1;
        }
        self.violations_in_a_row = 0;
        moves.push(Move::RolledBack(guard, self.stage));
    }

    /// Closes the run: the final stage that `next` leads to is entered for one request, if it has a step left.
    fn close(
        &mut self,
        cx: Context<'_>,
        outcome: Outcome,
        limit: Option<(LimitKind, u64, u64)>,
        moves: &mut Vec<Move>,
    ) {
        let limit = limit.map(|(kind, used, of)| (kind, self.stage, used, of));
        self.closing = Some(Closing { outcome, limit });
        let Some(last) = self.final_stage(cx).filter(|s| self.left(cx.table, *s) > 0) else {
            return self.end(outcome, moves);
        };
        if last != self.stage {
            moves.push(Move::Left(self.stage, false));
            self.enter_now(cx, last, By::Closing, moves);
        }
        moves.push(Move::ClosingAsked);
    }

    fn final_stage(&self, cx: Context<'_>) -> Option<StageId> {
        let mut at = self.stage;
        for _ in 0..=cx.table.stages.len() {
            let stage = stage_of(cx.table, at)?;
            at = match stage.next {
                Next::End => return Some(at),
                Next::Stage(next) => next,
                Next::Back => self.origin(at)?,
            };
        }
        None
    }

    /// Follows `next` past stages with no steps left. A spent gate that did not open ends the path.
    fn follow(&self, cx: Context<'_>, from: StageId, next: Next) -> Path {
        let (mut at, mut next) = (from, next);
        for _ in 0..=cx.table.stages.len() {
            let to = match next {
                Next::End => return Path::End,
                Next::Stage(to) => to,
                Next::Back => match self.origin(at) {
                    Some(origin) => origin,
                    None => return Path::End,
                },
            };
            if self.left(cx.table, to) > 0 {
                return Path::To(to);
            }
            let Some(stage) = stage_of(cx.table, to) else { return Path::End };
            let opens = stage.on_exhausted == OnExhausted::Next;
            if !opens && !self.missing(&stage.requires).is_empty() {
                return Path::End;
            }
            (at, next) = (to, stage.next);
        }
        Path::End
    }

    /// Where an aside was entered from.
    #[must_use]
    pub fn origin(&self, aside: StageId) -> Option<StageId> {
        self.came_from.iter().find(|(to, _)| *to == aside).map(|(_, from)| *from)
    }

    fn enter(&mut self, cx: Context<'_>, stage: StageId, by: By, moves: &mut Vec<Move>) {
        if stage_of(cx.table, stage).is_some_and(|s| s.approval) && !cx.observe {
            self.admission = Some((stage, by));
            return self.pause(Outcome::AwaitingApproval, moves);
        }
        self.enter_now(cx, stage, by, moves);
    }

    fn enter_now(&mut self, cx: Context<'_>, stage: StageId, by: By, moves: &mut Vec<Move>) {
        let from = self.stage;
        self.set_stage(cx, stage, from);
        moves.push(Move::Entered(stage, by));
    }

    pub(super) fn set_stage(&mut self, cx: Context<'_>, stage: StageId, from: StageId) {
        if stage_of(cx.table, stage).is_some_and(|s| s.next == Next::Back) {
            match self.came_from.iter_mut().find(|(to, _)| *to == stage) {
                Some(known) => known.1 = from,
                None => self.came_from.push((stage, from)),
            }
        }
        self.stage = stage;
        if let Some(entered) = self.entered.get_mut(stage.index()) {
            *entered += 1;
        }
        self.violations_in_a_row = 0;
        self.silent = false;
        self.nudged = false;
        // Back from an aside: what the stage had done before stands.
        self.ran_here = stage_of(cx.table, from).is_some_and(|s| s.next == Next::Back);
    }
}
