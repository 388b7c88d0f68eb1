//! The edges out of a state: everything a model, its tools, people, the host and the provider can do next, each put to
//! the real engine.

use super::canonical::canonical;
use super::check::{Broken, note};
use super::oracle::{Explored, Tape};
use super::plan::Plan;
use super::property::Property;
use super::state::{Act, Mays, Monitor, Outside, Phase, Shape, State, What};
use crate::engine::args::Identity;
use crate::engine::core::{Context, Core, Proposed, ReplyFacts, Target};
use crate::engine::input::CallNo;
use crate::engine::life::Turn;
use crate::engine::outcome::Outcome;
use crate::table::model::{At, FactFrom, Guarantee};
use crate::table::{FactId, RuleId, StageId};
use serde_json::Value;

/// Where an edge leads.
#[derive(Debug)]
pub struct Edge<W> {
    pub act: Act,
    /// `None`: the run ended.
    pub to: Option<State<W>>,
    pub broken: Broken,
}

/// Takes the edges one by one.
pub type Emit<'e, W> = &'e mut dyn FnMut(Edge<W>);

impl Plan {
    pub(super) fn cx(&self) -> Context<'_> {
        Context { table: &self.table, roster: &self.roster, observe: false }
    }

    /// Goes through all ways the free choices of an edge can come out. `edge` gives `None` for a way that cannot be.
    pub(super) fn ways<W: Explored>(
        &self,
        state: &State<W>,
        emit: Emit<'_, W>,
        mut edge: impl FnMut(&mut Tape<'_>) -> Option<(What, State<W>, Broken)>,
    ) {
        let mut tape = Tape::new(self);
        loop {
            tape.rewind(self.precision.fixed.then_some(&state.fixed));
            if let Some((what, mut to, mut broken)) = edge(&mut tape) {
                if let Some(fixed) = tape.fixed() {
                    to.fixed.clone_from(fixed);
                }
                let ended = to.core.life.is_ended();
                if ended {
                    self.check_reached(&to.core, &to.monitor, &mut broken);
                }
                let goes_on = !ended || self.may_be_granted(&to);
                if goes_on {
                    canonical(&mut to, self);
                }
                let act = Act { what, asked: std::mem::take(&mut tape.asked) };
                emit(Edge { act, to: goes_on.then_some(to), broken });
            }
            if !tape.next() {
                return;
            }
        }
    }

    /// The first states: one for each set of facts a task can hold.
    pub fn begin<W: Explored>(&self, emit: Emit<'_, W>) {
        let facts = self.facts_from(|from| matches!(from, FactFrom::Task));
        let reaches = self.table.guarantees.iter().map(|g| matches!(g, Guarantee::Reaches(_)));
        let state = State {
            core: Core::new(&self.table, W::default()),
            phase: Phase::Idle,
            late: None,
            queue: Vec::new(),
            aim: StageId(0),
            refused: false,
            given_back: Vec::new(),
            monitor: Monitor {
                reached: reaches.map(|_| false).collect(),
                counts: vec![0; self.table.guarantees.len()],
                waits: 0,
                grants: 0,
            },
            may: Mays::default(),
            fixed: Vec::new(),
            calls: 0,
        };
        let first = StageId(0);
        self.ways(&state, emit, |tape| {
            let mut to = state.clone();
            let holds: Vec<FactId> =
                facts.iter().copied().filter(|f| self.reads_fact(first, *f) && tape.choose(2) == 0).collect();
            for fact in &holds {
                to.core.set_fact(self.cx(), *fact, Some(Value::Bool(true)));
            }
            let moves = to.core.begin(self.cx());
            let mut broken = Broken::new();
            self.entered(&to.core, &moves, &mut to.monitor, &mut broken);
            self.before_step(&mut to.core, tape);
            Some((What::Start(holds), to, broken))
        });
    }

    /// All edges out of a state.
    pub fn expand<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        match state.phase {
            Phase::Idle => self.idle(state, emit),
            Phase::Judging => {
                self.judging(state, emit);
                self.answering(state, emit);
            }
            Phase::Answering => self.answering(state, emit),
        }
    }

    pub(super) fn before_step<W: Explored>(&self, core: &mut Core<W>, tape: &mut Tape<'_>) {
        if core.life.outcome().is_none() && core.closing.is_none() {
            core.ask_rules(self.cx(), At::Step, None, tape);
        }
    }

    fn idle<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        self.grants(state, emit);
        if state.core.life.is_ended() {
            return;
        }
        let outcome = state.core.life.outcome();
        if state.core.admission.is_some() {
            self.admissions(state, emit);
        } else {
            if outcome.is_none() {
                self.replies(state, emit);
            }
            self.user(state, emit);
            self.provider(state, emit);
        }
        self.host(state, emit);
        self.time(state, emit);
        self.ways(state, emit, |_| {
            let mut to = state.clone();
            let mut moves = Vec::new();
            to.core.cancel(&mut moves);
            let mut broken = Broken::new();
            note(&mut broken, to.core.life.outcome() == Some(Outcome::Cancelled), Property::Ends);
            self.check_steps(&state.core, &to.core, false, &mut broken);
            // Whatever comes next resumes it.
            to.core.resume();
            Some((What::Cancel, to, broken))
        });
    }

    fn shapes(&self, closing: bool) -> Vec<Shape> {
        let mut shapes = vec![Shape::default(), Shape { declined: true, ..Shape::default() }];
        let text = Shape { text: true, ..Shape::default() };
        let markers: &[Option<bool>] =
            if self.table.finish.is_some() { &[None, Some(true), Some(false)] } else { &[None] };
        shapes.extend(markers.iter().map(|marker| Shape { marker: *marker, ..text }));
        if !closing {
            shapes.extend(markers.iter().map(|marker| Shape { marker: *marker, cut: true, ..text }));
            shapes.push(Shape { cut: true, ..Shape::default() });
            shapes.push(Shape { calls: true, ..Shape::default() });
        }
        shapes
    }

    fn replies<W: Explored>(&self, state: &State<W>, emit: Emit<'_, W>) {
        let closing = state.core.is_closing_request(&self.table);
        let limits = &self.table.limits;
        let mut outside = vec![None];
        if !closing {
            outside.extend(limits.max_tokens.map(|_| Some(Outside::Tokens)));
            outside.extend(limits.max_cost_micros.map(|_| Some(Outside::Cost)));
        }
        for shape in self.shapes(closing) {
            for uses_up in &outside {
                self.reply(state, Shape { uses_up: *uses_up, ..shape }, emit);
            }
        }
    }

    fn reply<W: Explored>(&self, state: &State<W>, shape: Shape, emit: Emit<'_, W>) {
        let most_left = self.precision.most_left;
        let many = most_left.is_some_and(|k| state.core.left(&self.table, state.core.stage) > k);
        self.ways(state, emit, |tape| {
            let mut to = state.clone();
            to.monitor.waits = 0;
            let limits = &self.table.limits;
            let usage = match shape.uses_up {
                None => (0, 0, 0),
                Some(Outside::Tokens) => (limits.max_tokens.unwrap_or(0), 0, 0),
                Some(Outside::Cost) => (0, 0, limits.max_cost_micros.unwrap_or(0)),
            };
            let Shape { text, calls, cut, declined, marker, uses_up: _ } = shape;
            to.core.begin_reply(self.cx(), ReplyFacts { text, calls, cut, declined, marker, usage }, tape);
            let mut broken = Broken::new();
            self.check_steps(&state.core, &to.core, true, &mut broken);
            self.check_begun(&state.core, &to.core, &mut broken);
            self.check_within(&to.core, &mut broken);
            if many && tape.choose(2) == 1 {
                // "More" steps are left and one less is still "more".
                if let Some(spent) = to.core.spent.get_mut(state.core.stage.index()) {
                    *spent -= 1;
                }
            }
            to.core.life.turn(Turn::Opened);
            to.phase = Phase::Judging;
            to.aim = to.core.stage;
            if to.core.reply.closing || declined {
                self.check_refuses_all(&to.core, tape, &mut broken);
            }
            if calls && !to.core.reply.closing {
                if self.aims {
                    // Where the reply will end is guessed; a wrong guess leads nowhere.
                    let stages = self.aims_from(to.core.stage);
                    to.aim = *stages.get(tape.choose(u32::try_from(stages.len()).ok()?) as usize)?;
                }
                return Some((What::Reply(shape), to, broken));
            }
            self.settle(&mut to, tape, &mut broken)?;
            Some((What::Reply(shape), to, broken))
        });
    }

    fn aims_from(&self, stage: StageId) -> Vec<StageId> {
        let by_call = |s: StageId| self.table.stages.get(s.index()).is_some_and(|s| s.leave_by.call);
        let ids = (0..self.table.stages.len()).filter_map(|s| u16::try_from(s).ok().map(StageId));
        ids.filter(|s| *s == stage || (by_call(stage) && self.is_ahead(stage, *s))).collect()
    }

    /// In a closing request, and of a model that declines, no call is run.
    fn check_refuses_all<W: Explored>(&self, core: &Core<W>, tape: &mut Tape<'_>, broken: &mut Broken) {
        let mut after = core.clone();
        for tool in &self.tools {
            let call = Proposed { no: CallNo(0), what: Some(Target::Tool(*tool)), identity: Some(Identity(0)) };
            let judgement = after.judge(self.cx(), &call, tape);
            after.watch.asked();
            self.check_judged(core, &after, &call, &judgement, &tape.asked, broken);
        }
    }

    /// The rule's name, for stories.
    pub fn rule_name(&self, rule: RuleId) -> String {
        self.table.rules.get(rule.index()).map(|r| r.name.to_string()).unwrap_or_default()
    }

    /// Whether a rule's condition has to be stated in a scenario.
    pub fn is_free(&self, rule: RuleId) -> bool {
        let free = self.table.rules.get(rule.index()).is_some_and(|r| r.when.is_some());
        free && self.known.get(rule.index()).is_none_or(Option::is_none)
    }
}
