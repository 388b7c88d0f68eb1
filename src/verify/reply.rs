//! The edges within a reply: its calls judged one at a time, their results, its end.

use super::check::{Broken, note};
use super::edges::Emit;
use super::oracle::{Explored, Say, Tape};
use super::plan::{MANY, Plan};
use super::property::Property;
use super::state::{CameTo, How, Late, Mays, Pending, Person, Phase, State, What};
use crate::engine::args::Identity;
use crate::engine::core::{Core, Judgement, Proposed, Target};
use crate::engine::guard::{Done, Guard, Seen, Then};
use crate::engine::input::CallNo;
use crate::engine::past::Ran;
use crate::engine::roster::ToolIdx;
use crate::table::model::Mode;
use crate::table::{FactId, StageId};
use serde_json::Value;
use std::collections::HashSet;

/// A call that is about to be judged.
#[derive(Clone, Copy)]
struct Aimed {
    tool: Option<ToolIdx>,
    identity: u8,
    malformed: bool,
}

impl Plan {
    pub(super) fn judging<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        if self.precision.calls.is_some_and(|most| state.calls >= most) {
            return;
        }
        let identities = if W::EXACT { self.precision.identities } else { 1 };
        let merges = !self.precision.unmerged && !W::EXACT && self.precision.calls.is_none();
        let refused = if merges { self.refused(state) } else { HashSet::new() };
        for tool in &self.tools {
            if refused.contains(&Some(*tool)) {
                continue;
            }
            for identity in 0..identities {
                self.call(state, Aimed { tool: Some(*tool), identity, malformed: false }, emit);
            }
            // Malformed calls come first: they are noted while judging, before any result.
            if self.fails && state.late.is_none() && state.queue.is_empty() {
                self.call(state, Aimed { tool: Some(*tool), identity: 0, malformed: true }, emit);
            }
        }
        if !refused.contains(&None) {
            self.call(state, Aimed { tool: None, identity: 0, malformed: false }, emit);
        }
        if self.roster.has_advance() {
            self.advance(state, emit);
        }
    }

    /// The calls, and that of a tool that does not exist, that the engine refuses as the stage does not allow them, with
    /// nothing but a violation to come of it, which is had elsewhere: most calls of a reply are such, and need no states
    /// of their own.
    fn refused<W: Explored>(&self, state: &State<W>) -> HashSet<Option<ToolIdx>> {
        let at = state.core.stage.index();
        let (Some(stage), Some(allowed)) = (self.table.stages.get(at), self.allowed.get(at)) else {
            return HashSet::new();
        };
        if stage.leave_by.call {
            return HashSet::new();
        }
        let allows = |tool: &ToolIdx| allowed.get(tool.index()).copied().unwrap_or(false);
        let mut after = state.core.clone();
        let mut refuses = |tool: &Option<ToolIdx>| {
            let call = Proposed { no: CallNo(0), what: tool.map(Target::Tool), identity: Some(Identity(0)) };
            matches!(after.judge(self.cx(), &call, &mut Tape::new(self)), Judgement::Refuse(..))
        };
        // Like one reply that holds them all.
        let forbidden = self.tools.iter().filter(|t| !allows(t)).map(|t| Some(*t)).chain([None]);
        let refused = forbidden.filter(&mut refuses).collect();
        after.notes.clear();
        after.violations = state.core.violations;
        after.reply.violation = state.core.reply.violation;
        if after == state.core { refused } else { HashSet::new() }
    }

    fn advance<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        self.ways(state, emit, |tape| {
            let mut to = state.clone();
            to.calls = to.calls.saturating_add(1);
            let call = Proposed { no: CallNo(0), what: Some(Target::Advance), identity: Some(Identity(0)) };
            let judgement = to.core.judge(self.cx(), &call, tape);
            let mut broken = Broken::new();
            self.check_judged(&state.core, &to.core, &call, &judgement, &tape.asked, &mut broken);
            self.check_steps(&state.core, &to.core, false, &mut broken);
            Some((What::Advance, to, broken))
        });
    }

    fn call<W: Explored>(&self, state: &State<W>, aimed: Aimed, emit: Emit<'_, W>) {
        let mut looks = false;
        for say in W::SAYS {
            if *say != Say::Pass && !(looks && self.says_more(*say)) {
                continue;
            }
            self.ways(state, emit, |tape| {
                let Aimed { tool, identity, malformed } = aimed;
                let mut to = state.clone();
                to.calls = to.calls.saturating_add(1);
                if let Some(tool) = tool {
                    self.another_of_its_patterns(&mut to, tool, malformed, tape);
                }
                let number = if W::EXACT { identity } else { state.calls };
                let own = tool.map_or(0, |t| u128::from(t.0) + 1) << 8 | u128::from(number);
                let no = CallNo(u32::from(to.calls));
                let call =
                    Proposed { no, what: tool.map(Target::Tool), identity: (!malformed).then_some(Identity(own)) };
                to.core.watch.prepare(*say, Then::Nothing);
                let judgement = to.core.judge(self.cx(), &call, tape);
                let asked = to.core.watch.asked();
                looks |= asked.looked;
                if asked.void || (*say != Say::Pass && !asked.looked) {
                    return None;
                }
                let mut broken = Broken::new();
                self.check_judged(&state.core, &to.core, &call, &judgement, &tape.asked, &mut broken);
                self.check_steps(&state.core, &to.core, false, &mut broken);
                self.entered(&to.core, &[], &mut to.monitor, &mut broken);
                if let Some(tool) = tool {
                    self.stay_many(&state.core, &mut to.core, tool, tape);
                }
                let what = |came_to: Option<CameTo>, person: Option<Person>| What::Call {
                    tool,
                    identity,
                    malformed,
                    came_to,
                    person,
                    objected: *say != Say::Pass,
                };
                let how = match judgement {
                    Judgement::Run => How::Running,
                    Judgement::Ask(_) => How::Asked,
                    Judgement::Reuse { .. } => How::Memory,
                    Judgement::Refuse(..) | Judgement::Share(_) | Judgement::Advance => {
                        if self.is_lazy::<W>() && *say == Say::Leave {
                            (to.may.roll_back, to.may.leave) = (true, true);
                            to.core.reply.then = state.core.reply.then;
                            to.core.reply.then_by = state.core.reply.then_by;
                        }
                        to.core.notes.clear();
                        to.core.violations = state.core.violations;
                        if !self.precision.unmerged && !malformed {
                            // A violation can be had at any time, by a tool that does not exist: see `settle`.
                            to.core.reply.violation = state.core.reply.violation;
                        }
                        // The model might as well not have called.
                        if broken.is_empty()
                            && self.precision.calls.is_none()
                            && to.core == state.core
                            && to.may == state.may
                        {
                            return None;
                        }
                        return Some((what(None, None), to, broken));
                    }
                };
                let tool = tool?;
                let seen = to.core.seen(self.cx(), no, call.identity?, tool);
                let judged_in = to.core.stage;
                let pending = Pending { call, tool, stage: judged_in, seen, how };
                // A person may say no; what is then counted too often is coarse.
                to.may.nested |=
                    self.table.limits.max_calls.is_some() && self.roster.entry(&self.table, tool).nested.is_some();
                if how == How::Running {
                    self.check_start(&state.core, judged_in, tool, &mut to.monitor, &mut broken);
                }
                if self.precision.unmerged {
                    to.queue.push(pending);
                    return Some((what(None, None), to, broken));
                }
                let person = self.person(&pending, tape);
                if person.is_none_or(|p| p == Person::Yes) {
                    if person.is_some() {
                        self.check_start(&state.core, judged_in, tool, &mut to.monitor, &mut broken);
                    }
                    let came_to = self.answer(&mut to, &pending, tape)?;
                    return Some((what(Some(came_to), person), to, broken));
                }
                to.refused |= person == Some(Person::No);
                if self.is_counted(tool) {
                    to.given_back.push((tool, judged_in));
                }
                Some((what(None, person), to, broken))
            });
        }
    }

    /// A sample stands for any number of tools that the same patterns match. What is counted of one tool may be another's.
    fn another_of_its_patterns<W: Explored>(
        &self,
        to: &mut State<W>,
        tool: ToolIdx,
        malformed: bool,
        tape: &mut Tape<'_>,
    ) {
        if !self.is_lazy::<W>() || !self.is_sample(tool) {
            return;
        }
        if to.core.streak.tool == Some(tool) && tape.choose(2) == 1 {
            to.core.streak.forget();
        }
        to.may.leave |= malformed && self.errors_leave(to.core.stage);
    }

    fn errors_leave(&self, stage: StageId) -> bool {
        self.fails && self.table.stages.get(stage.index()).is_some_and(|s| s.guards.errors.mode == Mode::On)
    }

    /// Whether an answer of the oracle is tried. A refusal with a consequence is one, whichever it is: the consequence
    /// is chosen when the reply is settled.
    fn says_more(&self, say: Say) -> bool {
        self.precision.unmerged || say != Say::RollBack
    }

    fn person(&self, pending: &Pending, tape: &mut Tape<'_>) -> Option<Person> {
        (pending.how == How::Asked).then(|| match tape.choose(3) {
            0 => Person::Yes,
            1 => Person::No,
            _ => Person::Silent,
        })
    }

    /// "Many" calls left and one less may still be "many".
    fn stay_many<W: Explored>(&self, before: &Core<W>, core: &mut Core<W>, tool: ToolIdx, tape: &mut Tape<'_>) {
        let many = self.many_calls(tool);
        let (was, is) = (before.tool(tool).runs, core.tool(tool).runs);
        if many.is_some_and(|most| most.saturating_sub(was) >= MANY)
            && is > was
            && tape.choose(2) == 1
            && let Some(state) = core.tools.get_mut(tool.index())
        {
            state.runs = was;
        }
    }

    /// Whether the number of a tool's calls is read by anything.
    fn is_counted(&self, tool: ToolIdx) -> bool {
        self.runs.get(tool.index()).copied().flatten().is_some()
            || self.table.limits.max_calls.is_some()
            || self.table.stages.iter().any(|s| s.max_calls.is_some())
    }

    /// Gives a call its result, or an earlier one.
    fn answer<W: Explored>(&self, to: &mut State<W>, pending: &Pending, tape: &mut Tape<'_>) -> Option<CameTo> {
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
            let learned = came_to.learned.iter().map(|f| (*f, Some(Value::Bool(true)))).collect();
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
        let learned = if failed { Vec::new() } else { learns.into_iter().filter(|_| tape.choose(2) == 0).collect() };
        CameTo { failed, unknown, learned, ..CameTo::default() }
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
    fn is_lazy<W: Explored>(&self) -> bool {
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
