//! The edges that are no reply of the model: people, the host, the provider, the clock.

use super::check::{Broken, note};
use super::edges::Emit;
use super::oracle::Explored;
use super::plan::{GRANT, Plan};
use super::property::Property;
use super::state::{Late, Phase, State, What};
use crate::engine::outcome::Outcome;
use crate::table::StageId;
use crate::table::model::FactFrom;
use serde_json::Value;

impl Plan {
    pub(super) fn admissions<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        for yes in [true, false] {
            self.ways(state, emit, |tape| {
                let mut to = state.clone();
                to.monitor.waits += 1;
                let moves = to.core.admitted(self.cx(), yes);
                let mut broken = Broken::new();
                self.entered(&to.core, &moves, &mut to.monitor, &mut broken);
                self.before_step(&mut to.core, tape);
                // Each no leads one stage on; a run that could wait for ever would come round.
                let most = u32::try_from(self.table.stages.len()).unwrap_or(u32::MAX);
                note(&mut broken, to.monitor.waits <= most.saturating_add(1), Property::Ends);
                note(&mut broken, self.is_ahead(state.core.stage, to.core.stage), Property::Ends);
                self.check_steps(&state.core, &to.core, false, &mut broken);
                if to.core.life.outcome().is_none() {
                    to.monitor.waits = 0;
                }
                Some((What::Admit(yes), to, broken))
            });
        }
    }

    /// Whether a run, ended or not, may be given steps.
    pub(super) fn may_be_granted<W>(&self, state: &State<W>) -> bool {
        let core = &state.core;
        state.monitor.grants < self.precision.grants && (!core.life.is_ended() || core.may_be_granted())
    }

    pub(super) fn grants<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        if !self.may_be_granted(state) {
            return;
        }
        let stages = (0..self.table.stages.len()).filter_map(|s| u16::try_from(s).ok().map(StageId));
        let ended = state.core.life.is_ended();
        let stages = stages.filter(|stage| !ended || state.core.may_go_on_in(&self.table, *stage));
        for (stage, steps) in stages.flat_map(|stage| (1..=GRANT).map(move |steps| (stage, steps))) {
            self.ways(state, emit, |tape| {
                let mut to = state.clone();
                to.monitor.grants += 1;
                let mut moves = Vec::new();
                let goes_on = to.core.granted(self.cx(), stage, steps, &mut moves);
                let mut broken = Broken::new();
                self.check_steps(&state.core, &to.core, false, &mut broken);
                self.entered(&to.core, &moves, &mut to.monitor, &mut broken);
                if goes_on {
                    self.before_step(&mut to.core, tape);
                }
                Some((What::Grant(stage, steps), to, broken))
            });
        }
    }

    pub(super) fn user<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        let facts = self.facts_from(|from| matches!(from, FactFrom::User));
        for too_often in [false, true] {
            self.ways(state, emit, |tape| {
                let mut to = state.clone();
                let most = self.table.limits.user_turns;
                if too_often {
                    to.core.user_turns = most;
                }
                let turns = to.core.user_turns;
                if to.core.life.outcome().is_some() {
                    to.core.resume();
                }
                let mut moves = Vec::new();
                let mut learned = Vec::new();
                let mut broken = Broken::new();
                if to.core.user_spoke(self.cx(), &mut moves) {
                    note(&mut broken, to.core.user_turns == turns + 1 && turns < most, Property::Ends);
                    for fact in facts.iter().copied().filter(|f| self.reads_fact(state.core.stage, *f)) {
                        match tape.choose(if self.may_be_false(fact) { 3 } else { 2 }) {
                            0 => {
                                to.core.set_fact(self.cx(), fact, Some(Value::Bool(true)));
                                learned.push(fact);
                            }
                            1 => {}
                            _ => to.core.set_fact(self.cx(), fact, None),
                        }
                    }
                } else {
                    note(&mut broken, to.core.closing.is_some(), Property::Ends);
                }
                self.entered(&to.core, &moves, &mut to.monitor, &mut broken);
                self.check_steps(&state.core, &to.core, false, &mut broken);
                Some((What::User(learned, too_often), to, broken))
            });
        }
    }

    pub(super) fn provider<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        self.ways(state, emit, |_| {
            let mut to = state.clone();
            let mut broken = Broken::new();
            to.core.provider_failed(self.cx(), false, &mut Vec::new());
            // A request for the answer that cannot be made ends the run with its digest.
            let gives_up = state.core.closes_without_model(self.cx());
            let closing = state.core.closing.as_ref().map_or(Outcome::Exhausted, |c| c.outcome);
            let expected = if gives_up { closing } else { Outcome::ProviderError };
            note(&mut broken, to.core.life.outcome() == Some(expected), Property::Ends);
            self.check_steps(&state.core, &to.core, false, &mut broken);
            if !gives_up {
                to.core.resume();
            }
            Some((What::Fails, to, broken))
        });
        self.ways(state, emit, |_| {
            let mut to = state.clone();
            let mut broken = Broken::new();
            // The first one asks for a shorter view and changes nothing else; the second may come at any time.
            to.core.shortened = true;
            to.core.provider_failed(self.cx(), true, &mut Vec::new());
            note(&mut broken, to.core.life.outcome() == Some(Outcome::ContextOverflow), Property::Ends);
            Some((What::Overflow, to, broken))
        });
    }

    pub(super) fn host<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        // In a nested run the user may speak while its call is open.
        let heard = self.table.tools.iter().any(|tool| tool.nested.is_some());
        for fact in self.facts_from(|from| matches!(from, FactFrom::Host) || (heard && matches!(from, FactFrom::User)))
        {
            if !self.reads_fact(state.core.stage, fact) {
                continue;
            }
            for set in [true, false] {
                self.ways(state, emit, |_| {
                    let mut to = state.clone();
                    let value = set.then_some(Value::Bool(true));
                    if state.phase == Phase::Idle || self.precision.unmerged {
                        to.core.set_fact(self.cx(), fact, value);
                        if state.phase != Phase::Idle {
                            to.phase = Phase::Answering;
                        }
                    } else {
                        let mut core = to.core.clone();
                        if let Some(late) = &to.late {
                            late.lay_over(&mut core);
                        }
                        core.set_fact(self.cx(), fact, value);
                        to.late = Some(Box::new(Late::of(&core)));
                    }
                    Some((What::Host(fact, set), to, Broken::new()))
                });
            }
        }
    }

    pub(super) fn time<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        let Some(most) = self.table.limits.max_time_ms else { return };
        if state.core.time_ms >= most {
            return;
        }
        self.ways(state, emit, |_| {
            let mut to = state.clone();
            let moves = to.core.time_passed(self.cx(), most, false);
            let mut broken = Broken::new();
            self.entered(&to.core, &moves, &mut to.monitor, &mut broken);
            self.check_steps(&state.core, &to.core, false, &mut broken);
            Some((What::Time, to, broken))
        });
    }
}
