//! The edges within a reply: its calls, judged one at a time.

use super::check::Broken;
use super::edges::Emit;
use super::oracle::{Explored, Say, Tape};
use super::plan::{MANY, Plan};
use super::state::{CameTo, How, Pending, Person, State, What};
use crate::engine::args::Identity;
use crate::engine::core::{Core, Judgement, Proposed, Target};
use crate::engine::guard::Then;
use crate::engine::input::CallNo;
use crate::engine::roster::ToolIdx;
use crate::table::StageId;
use crate::table::model::Mode;
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

    pub(super) fn errors_leave(&self, stage: StageId) -> bool {
        self.fails && self.table.stages.get(stage.index()).is_some_and(|s| s.guards.errors.mode == Mode::On)
    }

    /// Whether an answer of the oracle is tried. A refusal with a consequence is one, whichever it is: the consequence
    /// is chosen when the reply is settled.
    fn says_more(&self, say: Say) -> bool {
        self.precision.unmerged || say != Say::RollBack
    }

    pub(super) fn person(&self, pending: &Pending, tape: &mut Tape<'_>) -> Option<Person> {
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
}
