//! The edges at the end of a reply: its results, and how it is settled.

use super::check::{Broken, note};
use super::edges::Emit;
use super::oracle::{Explored, Say, Tape};
use super::plan::Plan;
use super::property::Property;
use super::state::{CameTo, How, Late, Mays, Pending, Person, Phase, State, What};
use crate::engine::args::Identity;
use crate::engine::core::{Proposed, Target};
use crate::engine::guard::{Done, Guard, Seen, Then};
use crate::engine::input::CallNo;
use crate::engine::past::Ran;
use crate::engine::roster::ToolIdx;
use crate::table::FactId;
use crate::table::model::Mode;
use serde_json::Value;

impl Plan {
    /// Gives a call its result, or an earlier one.
    pub(super) fn answer<W: Explored>(
        &self,
        to: &mut State<W>,
        pending: &Pending,
        tape: &mut Tape<'_>,
    ) -> Option<CameTo> {
        let from_memory = pending.how == How::Memory;
        let mut came_to =
            if from_memory { CameTo { from_memory, ..CameTo::default() } } else { self.result(to, pending.tool, tape) };
        if W::EXACT && !from_memory {
            came_to.print = u8::from(tape.choose(2) == 1);
        }
        let mut then = Then::Nothing;
        if self.is_lazy::<W>() {
            let aim = self.table.stages.get(to.aim.index());
            let speaks = aim.is_some_and(|s| s.guards.no_progress.mode == Mode::On);
            // A tool of the same patterns may have failed as often as it takes.
            let fails_on = came_to.failed && self.is_sample(pending.tool) && self.errors_leave(to.aim);
            to.may.leave |= speaks || fails_on;
            to.may.close |= speaks;
        } else {
            then = *W::THENS.get(tape.choose(u32::try_from(W::THENS.len()).ok()?) as usize)?;
            came_to.fired = then != Then::Nothing;
        }
        let mut core = to.core.clone();
        if let Some(late) = &to.late {
            late.lay_over(&mut core);
        }
        core.stage = to.aim;
        core.watch.prepare(Say::Pass, then);
        let done = Done {
            failed: came_to.failed,
            unknown: came_to.unknown,
            result: u64::from(came_to.print) << 1 | u64::from(came_to.failed),
            from_memory,
        };
        let seen: Seen = pending.seen;
        if from_memory {
            core.note(self.cx(), &seen, &done);
        } else {
            let lost = came_to.lost.iter().map(|f| (*f, None));
            let learned = came_to.learned.iter().map(|f| (*f, Some(Value::Bool(true)))).chain(lost).collect();
            let ran = Ran { tool: self.roster.name(pending.tool), args: Value::Null, succeeded: !came_to.failed };
            core.finish(self.cx(), (&seen, pending.tool), &done, learned, self.past.then_some(ran), tape);
        }
        if core.watch.asked().void {
            return None;
        }
        if self.precision.unmerged {
            // Results come after all verdicts here, in their order: nothing has to be kept apart.
            to.core = core;
            return Some(came_to);
        }
        to.core.reply.then = core.reply.then;
        to.core.reply.then_by = core.reply.then_by;
        to.core.reply.goto = core.reply.goto;
        to.core.reply.end = core.reply.end;
        to.late = Some(Box::new(Late::of(&core)));
        Some(came_to)
    }

    /// What a result can be, as far as anything reads it.
    fn result<W: Explored>(&self, to: &State<W>, tool: ToolIdx, tape: &mut Tape<'_>) -> CameTo {
        let none = (Vec::new(), false);
        let (sets, clears) = self.learns.get(tool.index()).unwrap_or(&none);
        let read_here = |f: &FactId| self.reads_fact(to.core.stage, *f) || to.aim != to.core.stage;
        let learns: Vec<FactId> = sets.iter().copied().filter(read_here).collect();
        let clears = *clears;
        let all = W::EXACT || self.precision.unmerged;
        let read = self.fails || self.past || clears || self.succeeded.get(tool.index()).copied().unwrap_or(false);
        let kinds = match (read || all || !learns.is_empty(), clears || all) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        let kind = tape.choose(kinds);
        let (failed, unknown) = (kind > 0, kind > 1);
        let (mut learned, mut lost) = (Vec::new(), Vec::new());
        for fact in learns.into_iter().filter(|_| !failed) {
            match tape.choose(if self.may_be_false(fact) { 3 } else { 2 }) {
                0 => learned.push(fact),
                1 => {}
                _ => lost.push(fact),
            }
        }
        if self.roster.entry(&self.table, tool).nested.is_some() {
            // What runs in a nested run unsets facts here too.
            let cleared = self.table.facts.iter().zip(0..).filter(|(fact, _)| !fact.cleared_by.is_empty());
            lost.extend(cleared.map(|(_, id)| FactId(id)).filter(|f| read_here(f) && tape.choose(2) == 1));
        }
        CameTo { failed, unknown, learned, lost, ..CameTo::default() }
    }

    /// Results that wait, and the end of the reply.
    pub(super) fn answering<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        if let Some(pending) = state.queue.first() {
            let pending = *pending;
            self.ways(state, emit, |tape| {
                let mut to = state.clone();
                to.phase = Phase::Answering;
                to.queue.remove(0);
                let mut broken = Broken::new();
                let person = self.person(&pending, tape);
                let came_to = if person.is_none_or(|p| p == Person::Yes) {
                    if person.is_some() {
                        self.check_start(&state.core, pending.stage, pending.tool, &mut to.monitor, &mut broken);
                    }
                    to.aim = to.core.stage;
                    self.answer(&mut to, &pending, tape)?
                } else {
                    to.core.not_approved(&pending.call, pending.stage, person == Some(Person::No));
                    CameTo::default()
                };
                self.check_steps(&state.core, &to.core, false, &mut broken);
                Some((What::Result { tool: pending.tool, came_to, person }, to, broken))
            });
        } else {
            self.ways(state, emit, |tape| {
                let mut to = state.clone();
                let mut broken = Broken::new();
                let violation = self.adds_violation(&to, tape);
                if violation {
                    let call = Proposed { no: CallNo(0), what: None, identity: Some(Identity(0)) };
                    to.core.judge(self.cx(), &call, tape);
                }
                self.settle(&mut to, tape, &mut broken)?;
                Some((What::Settle(violation), to, broken))
            });
        }
        if self.precision.unmerged && state.queue.is_empty() {
            return;
        }
        self.host(state, emit);
        self.time(state, emit);
    }

    /// Whether what is free is chosen as late as possible.
    pub(super) fn is_lazy<W: Explored>(&self) -> bool {
        W::FREE && !self.precision.unmerged
    }

    /// Whether the reply holds one more call, of a tool that does not exist. Where calls are told apart, that is an edge
    /// of its own.
    fn adds_violation<W: Explored>(&self, to: &State<W>, tape: &mut Tape<'_>) -> bool {
        let reply = &to.core.reply;
        let room = self.precision.calls.is_none_or(|most| to.calls < most);
        let free = !self.precision.unmerged && room && reply.facts.calls && !reply.closing && !reply.facts.declined;
        // A violation that is there already, or that nothing reads any more.
        let idle = reply.violation || to.refused || reply.end.is_some() || reply.goto.is_some();
        free && !idle && tape.choose(2) == 1
    }

    /// What the guards want of all they may want.
    fn wanted<W: Explored>(&self, to: &mut State<W>, tape: &mut Tape<'_>) {
        let Mays { roll_back, leave, close, nested: _ } = std::mem::take(&mut to.may);
        let reply = &mut to.core.reply;
        if reply.end.is_some() || reply.goto.is_some() {
            return;
        }
        let mut ways = vec![reply.then];
        ways.extend(
            [(roll_back, Then::RollBack), (leave, Then::Leave), (close, Then::Close)]
                .iter()
                .filter_map(|(may, then)| (*may && *then > reply.then).then_some(*then)),
        );
        let choice = if ways.len() > 1 { tape.choose(u32::try_from(ways.len()).unwrap_or(1)) as usize } else { 0 };
        if let Some(then) = ways.get(choice).filter(|then| **then > reply.then) {
            (reply.then, reply.then_by) = (*then, Some(Guard::NoProgress));
        }
    }

    /// Nested runs of the reply that share this run's steps have spent some of what they could be given, and all have
    /// used up some of its calls.
    fn nested_spent<W: Explored>(&self, to: &mut State<W>, tape: &mut Tape<'_>, broken: &mut Broken) {
        if let Some(most) = self.table.limits.max_calls.filter(|_| to.may.nested) {
            to.core.calls += tape.choose(most.saturating_sub(to.core.calls).saturating_add(1));
        }
        if to.core.reply.nested == 0 {
            return;
        }
        let steps = tape.choose(to.core.grant(self.cx(), 1).saturating_add(1));
        to.core.steps = to.core.steps.saturating_add(steps);
        if let Some(spent) = to.core.spent.get_mut(to.core.stage.index()) {
            *spent += steps;
        }
        let within = to.core.spent_in(to.core.stage) <= to.core.budget(&self.table, to.core.stage);
        note(broken, within, Property::Ceiling);
        self.check_within(&to.core, broken);
    }

    /// Settles the reply; `None` when the stage guessed for its results was wrong.
    pub(super) fn settle<W: Explored>(
        &self,
        to: &mut State<W>,
        tape: &mut Tape<'_>,
        broken: &mut Broken,
    ) -> Option<()> {
        if self.aims && !self.precision.unmerged && to.aim != to.core.stage {
            return None;
        }
        if let Some(late) = to.late.take() {
            late.lay_over(&mut to.core);
        }
        for (tool, stage) in std::mem::take(&mut to.given_back) {
            let call = Proposed { no: CallNo(0), what: Some(Target::Tool(tool)), identity: None };
            to.core.not_approved(&call, stage, false);
        }
        to.core.reply.violation |= std::mem::take(&mut to.refused);
        self.nested_spent(to, tape, broken);
        self.wanted(to, tape);
        to.phase = Phase::Idle;
        let before = to.core.clone();
        let moves = to.core.settle(self.cx());
        self.check_settled(&before, &to.core, &moves, broken);
        self.entered(&to.core, &moves, &mut to.monitor, broken);
        self.cut_views(to, &moves);
        self.before_step(&mut to.core, tape);
        self.check_steps(&before, &to.core, false, broken);
        if to.core.stage != before.stage {
            note(broken, self.is_ahead(before.stage, to.core.stage), Property::Ends);
        }
        Some(())
    }

    /// The session cuts the view after a rollback and a fresh start; the real guards are told.
    fn cut_views<W: Explored>(&self, to: &mut State<W>, moves: &[crate::engine::settle::Move]) {
        use crate::engine::settle::Move;
        if W::EXACT && moves.iter().any(|m| matches!(m, Move::RolledBack(..) | Move::Fresh)) {
            to.core.watch.view_cut(&|_| true);
        }
    }
}
