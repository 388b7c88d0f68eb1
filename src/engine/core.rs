//! The value that decides: small, comparable, hashable. It judges one call at a time; texts, transcript and event log
//! stand beside it in the session. A proof explores this very value.

use super::args::Identity;
use super::bound::Bound;
use super::guard::same_tool::Streak;
use super::guard::{Done, Fired, Guard, Identities, Look, Noted, Seen, Then, Watch, errors};
use super::input::{CallNo, Usage};
use super::life::Life;
use super::mutant::{self, Mutant};
use super::outcome::{LimitKind, Outcome};
use super::past::{Past, Ran};
use super::recursion::TooDeep;
use super::roster::{Roster, ToolIdx};
use super::verdict::Check;
use crate::table::model::{Action, At, Effect, Mode, Next, OnExhausted, Spend, Stage};
use crate::table::{FactId, Model, RuleId, StageId};
use serde_json::Value;

/// Most values of a fact with `keep: all`.
pub const MAX_FACT_VALUES: usize = 1_000;

/// What does not change during a run.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The table.
    pub table: &'a Model,
    /// The tools.
    pub roster: &'a Roster,
    /// Judge and record everything, refuse nothing.
    pub observe: bool,
}

/// How a condition came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// It could not be evaluated.
    Failed,
}

/// Who evaluates conditions: the session by the table's expressions, a proof by trying both.
pub trait Conditions<W> {
    /// Whether the rule's condition holds.
    fn holds(&mut self, core: &Core<W>, rule: RuleId) -> Truth;
    /// The values a `set` rule gives.
    fn values(&mut self, core: &Core<W>, rule: RuleId) -> Vec<(FactId, Option<Value>)>;
    /// A check of the public order is about to be made; what it sees may be taken down for `explain`.
    fn asks(&mut self, _core: &Core<W>, _check: Check) {}
    /// What the runs above this one say of a call of `tool` at a gate; nothing when this is the outermost.
    fn above(&mut self, gate: Gate, tool: &str) -> Option<(Check, Because)> {
        let _ = (gate, tool);
        None
    }
}

/// Where in the public order the runs above a nested one are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// With `requires` and the `deny` rules.
    Deny,
    /// With `max_calls`.
    MaxCalls,
    /// With `ask` rules and `approval`.
    Ask,
}

/// Something worth an event, said by the core in its own terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A rule acted.
    RuleFired(RuleId),
    /// A rule's action was not taken, or its condition failed.
    RuleNoted(RuleId, &'static str),
    /// A rule widened a budget.
    Extended(RuleId),
    /// A fact got a value.
    FactSet(FactId),
    /// A fact was unset.
    FactCleared(FactId),
    /// A guard spoke; `true` = observed only.
    GuardFired(Guard, &'static str, bool),
    /// A call that only a later stage allows moved the run there, past the stages between.
    Moved {
        /// The stage left.
        from: StageId,
        /// Stages without tools on the way.
        passed: Vec<StageId>,
        /// The stage entered.
        to: StageId,
    },
}

/// A call as the core judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Proposed {
    /// The engine's number.
    pub no: CallNo,
    /// What the name means; `None` = unknown.
    pub what: Option<Target>,
    /// Its identity; `None` = malformed or cut short.
    pub identity: Option<Identity>,
}

/// What a call is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A tool.
    Tool(ToolIdx),
    /// The control tool.
    Advance,
}

/// Why exactly a check objected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    /// The check says it all.
    Itself,
    /// These requirements are missing (indices into the tool's or stage's `requires`).
    Missing(Vec<usize>),
    /// This rule.
    Rule(RuleId),
    /// `max_calls` of the tool, the stage or the run, with its number.
    Limit(&'static str, u32),
    /// An identity guard.
    Guard(Guard, super::guard::Telling, Then),
    /// `batch: atomic`: another call of the reply would not run.
    Withheld,
    /// The function runs inside itself too often already.
    TooDeep(Box<TooDeep>),
    /// A nested run could be given so many steps only.
    Grant(u32),
    /// A run above objects.
    Above {
        /// The rule, the facts or the limit by name.
        by: String,
        /// Its own words, for a rule and for `requires`.
        reason: String,
        /// The limit, for `max_calls`.
        limit: Option<u32>,
    },
}

/// The core's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Judgement {
    /// Run it.
    Run,
    /// The control tool: the stage is left after this reply.
    Advance,
    /// Answer it with an earlier result.
    Reuse {
        /// Whose.
        of: CallNo,
        /// What is said with it.
        telling: super::guard::Telling,
    },
    /// The same call stands earlier in this reply: it gets that one's answer.
    Share(CallNo),
    /// Not run.
    Refuse(Check, Because),
    /// A person must say yes.
    Ask(Because),
}

/// What is known of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolState {
    /// Calls judged *run*, failed or not.
    pub runs: u32,
    /// A call of it succeeded.
    pub succeeded: bool,
    /// Failures in a row.
    pub fails: u32,
}

/// Why the run is closing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closing {
    /// The outcome it will have.
    pub outcome: Outcome,
    /// The limit, its use and its size.
    pub limit: Option<(LimitKind, StageId, u64, u64)>,
}

/// What a reply is, as far as deciding goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplyFacts {
    /// It holds text.
    pub text: bool,
    /// It holds calls.
    pub calls: bool,
    /// It was cut short.
    pub cut: bool,
    /// The model declines.
    pub declined: bool,
    /// A failure marker stands in the window, or all success markers do.
    pub marker: Option<bool>,
    /// What it cost.
    pub usage: (u64, u64, u64),
}

impl ReplyFacts {
    /// With the cost of a reply.
    #[must_use]
    pub fn costing(mut self, usage: Usage) -> Self {
        self.usage = (usage.input, usage.output, usage.cost_micros);
        self
    }
}

/// The reply under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplyState {
    /// What it is.
    pub facts: ReplyFacts,
    /// It answers a closing request.
    pub closing: bool,
    /// It holds a violation.
    pub violation: bool,
    /// Calls that run or would, once a person says yes.
    pub running: u32,
    /// Nested runs among them that spend the steps of this run.
    pub nested: u32,
    /// A call that may change the world is judged *run*.
    pub changing: bool,
    /// `batch: atomic` withholds what would run.
    pub withhold: bool,
    /// A call beyond the run's `max_calls` was refused.
    pub out_of_calls: bool,
    /// Identities judged *run* or *ask*, for repeats within the reply.
    pub seen: Vec<(Identity, CallNo)>,
    /// The run moved by a call.
    pub moved: bool,
    /// The model called `advance`.
    pub advance: bool,
    /// A rule ends the run.
    pub end: Option<(RuleId, bool)>,
    /// A rule sends the run elsewhere.
    pub goto: Option<(StageId, RuleId)>,
    /// What a guard wants.
    pub then: Then,
    /// Which.
    pub then_by: Option<Guard>,
    /// Results that stay in view.
    pub forget: Option<(u32, RuleId)>,
}

/// The value that decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core<W = Watch> {
    /// Where the run stands in its life.
    pub life: Life,
    /// The current stage.
    pub stage: StageId,
    pub(crate) spent: Vec<u32>,
    pub(crate) widened: Vec<u32>,
    /// Steps that people granted, in all.
    pub(crate) granted: u32,
    pub(crate) entered: Vec<u32>,
    pub(crate) stage_calls: Vec<u32>,
    pub(crate) came_from: Vec<(StageId, StageId)>,
    pub(crate) retried: Vec<StageId>,
    pub(crate) extended: Vec<RuleId>,
    /// Steps charged.
    pub steps: u32,
    /// Calls judged *run*.
    pub calls: u32,
    pub(crate) tools: Vec<ToolState>,
    /// The facts by id.
    pub facts: Vec<Option<Value>>,
    /// Violations in replies, in a row.
    pub violations_in_a_row: u32,
    /// Violations in calls.
    pub violations: u32,
    /// Rollbacks so far.
    pub rollbacks: u32,
    /// The last reply was silent.
    pub(crate) silent: bool,
    /// The model was told once that nothing has been looked at yet.
    pub(crate) nudged: bool,
    /// Something ran, or was answered from memory, since the stage was entered.
    pub(crate) ran_here: bool,
    /// What ran, for conditions.
    pub past: Past,
    /// The identity guards.
    pub watch: W,
    pub(crate) streak: Streak,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    pub(crate) cost_micros: u64,
    pub(crate) time_ms: u64,
    pub(crate) user_turns: u32,
    /// The run is closing.
    pub closing: Option<Closing>,
    /// The view was shortened once because it did not fit.
    pub(crate) shortened: bool,
    /// A stage that a person has to admit the run to, and how it was to be entered.
    pub admission: Option<(StageId, super::settle::By)>,
    pub(crate) cancelled: bool,
    /// The reply under way.
    pub reply: ReplyState,
    /// What to make events of, taken by the session.
    pub notes: Vec<Note>,
    /// What the runs above leave to it, in a nested run.
    pub bound: Option<Box<Bound>>,
}

impl<W: Identities> Core<W> {
    /// A run before its first stage.
    #[must_use]
    pub fn new(table: &Model, watch: W) -> Self {
        let stages = table.stages.len();
        Self {
            life: Life::begin(),
            stage: StageId(0),
            spent: vec![0; stages],
            widened: vec![0; stages],
            granted: 0,
            entered: vec![0; stages],
            stage_calls: vec![0; stages],
            came_from: Vec::new(),
            retried: Vec::new(),
            extended: Vec::new(),
            steps: 0,
            calls: 0,
            tools: Vec::new(),
            facts: vec![None; table.facts.len()],
            violations_in_a_row: 0,
            violations: 0,
            rollbacks: 0,
            silent: false,
            nudged: false,
            ran_here: false,
            past: Past::default(),
            watch,
            streak: Streak::default(),
            tokens: (0, 0),
            cost_micros: 0,
            time_ms: 0,
            user_turns: 0,
            closing: None,
            shortened: false,
            admission: None,
            cancelled: false,
            reply: ReplyState::default(),
            notes: Vec::new(),
            bound: None,
        }
    }

    /// The stage's steps, extensions included.
    #[must_use]
    pub fn budget(&self, table: &Model, stage: StageId) -> u32 {
        stage_of(table, stage).map_or(0, Stage::budget).saturating_add(at(&self.widened, stage.index()))
    }

    /// Steps left in a stage. In a nested run no more than its grant leaves, of which one is kept for a final stage.
    #[must_use]
    pub fn left(&self, table: &Model, stage: StageId) -> u32 {
        let own = self.budget(table, stage).saturating_sub(at(&self.spent, stage.index()));
        let Some(granted) = self.granted_left() else { return own };
        let kept = u32::from(!stage_of(table, stage).is_some_and(Stage::is_final));
        own.min(granted.saturating_sub(kept))
    }

    /// Steps charged to a stage.
    #[must_use]
    pub fn spent_in(&self, stage: StageId) -> u32 {
        at(&self.spent, stage.index())
    }

    /// How often a stage was entered.
    #[must_use]
    pub fn times_entered(&self, stage: StageId) -> u32 {
        at(&self.entered, stage.index())
    }

    /// What is known of a tool.
    #[must_use]
    pub fn tool(&self, tool: ToolIdx) -> ToolState {
        self.tools.get(tool.index()).cloned().unwrap_or_default()
    }

    pub(super) fn tool_mut(&mut self, tool: ToolIdx) -> Option<&mut ToolState> {
        if self.tools.len() <= tool.index() {
            self.tools.resize(tool.index() + 1, ToolState::default());
        }
        self.tools.get_mut(tool.index())
    }

    /// The requirements of `requires` that do not hold, as indices.
    #[must_use]
    pub fn missing<T>(&self, requires: &[(FactId, T)]) -> Vec<usize> {
        let unmet = |fact: FactId| !self.facts.get(fact.index()).is_some_and(|v| v.as_ref().is_some_and(is_true));
        requires.iter().enumerate().filter(|(_, (fact, _))| unmet(*fact)).map(|(i, _)| i).collect()
    }

    /// Whether the next request is for the answer alone: the run is closing, or this is the last step of a final stage.
    #[must_use]
    pub fn is_closing_request(&self, table: &Model) -> bool {
        self.closing.is_some() || self.is_last_final_step(table)
    }

    fn is_last_final_step(&self, table: &Model) -> bool {
        if mutant::on(Mutant::LostReservedStep) {
            return false;
        }
        let Some(stage) = stage_of(table, self.stage) else { return true };
        let goes_elsewhere = matches!(stage.on_exhausted, OnExhausted::Stage(s) if self.left(table, s) > 0);
        stage.is_final() && self.left(table, self.stage) <= 1 && !goes_elsewhere
    }

    /// Charges a reply to the current stage and lets the `reply` rules look.
    pub fn begin_reply(&mut self, cx: Context<'_>, facts: ReplyFacts, conditions: &mut impl Conditions<W>) {
        self.reply = ReplyState { facts, closing: self.is_closing_request(cx.table), ..ReplyState::default() };
        self.steps += 1;
        let free = mutant::on(Mutant::FreeSilence) && !facts.text && !facts.calls;
        if let Some(spent) = self.spent.get_mut(self.stage.index()) {
            *spent += u32::from(!free);
        }
        self.tokens.0 = self.tokens.0.saturating_add(facts.usage.0);
        self.tokens.1 = self.tokens.1.saturating_add(facts.usage.1);
        self.cost_micros = self.cost_micros.saturating_add(facts.usage.2);
        if !self.reply.closing && !facts.declined {
            self.ask_rules(cx, At::Reply, None, conditions);
        }
    }

    /// Judges one call, in the public order; the first check that objects decides.
    pub fn judge(&mut self, cx: Context<'_>, call: &Proposed, conditions: &mut impl Conditions<W>) -> Judgement {
        let judgement = match self.objection(cx, call, conditions) {
            Err(Judgement::Refuse(check, _)) if cx.observe && !check.holds_always() && call.identity.is_some() => {
                self.notes.push(Note::GuardFired(guard_of(check), check.as_str(), true));
                Judgement::Run
            }
            Err(judgement) | Ok(judgement) => judgement,
        };
        match &judgement {
            Judgement::Run | Judgement::Ask(_) => self.starts(cx, call),
            Judgement::Reuse { .. } => self.ran_here = true,
            Judgement::Advance => self.reply.advance = true,
            Judgement::Refuse(check, because) => self.refused(cx, call, *check, because),
            Judgement::Share(_) => {}
        }
        judgement
    }

    fn objection(
        &mut self,
        cx: Context<'_>,
        call: &Proposed,
        conditions: &mut impl Conditions<W>,
    ) -> Result<Judgement, Judgement> {
        let refuse = |check, because| Err(Judgement::Refuse(check, because));
        conditions.asks(self, Check::Ended);
        if (self.reply.closing && !mutant::on(Mutant::ClosingCallsRun)) || self.reply.facts.declined {
            return refuse(Check::Ended, Because::Itself);
        }
        conditions.asks(self, Check::Malformed);
        let Some(identity) = call.identity else {
            return refuse(Check::Malformed, Because::Itself);
        };
        conditions.asks(self, Check::UnknownTool);
        let tool = match call.what {
            None => return refuse(Check::UnknownTool, Because::Itself),
            Some(Target::Advance) => return self.advance(cx, conditions),
            Some(Target::Tool(tool)) => tool,
        };
        let name = cx.roster.name(tool);
        conditions.asks(self, Check::NotAllowed);
        let last = mutant::on(Mutant::ForbiddenOnLastStep) && self.left(cx.table, self.stage) == 0;
        if !last && !self.stage_in(cx).is_some_and(|s| s.allowed.allows(&name)) && !self.move_by_call(cx, &name) {
            return refuse(Check::NotAllowed, Because::Itself);
        }
        let entry = cx.roster.entry(cx.table, tool);
        conditions.asks(self, Check::Requires);
        let missing = self.missing(&entry.requires);
        if !missing.is_empty() {
            return refuse(Check::Requires, Because::Missing(missing));
        }
        conditions.asks(self, Check::Deny);
        let unasked = mutant::on(Mutant::DenySkippedFromSecondCall) && self.reply.running > 0;
        let denies = |a: &Action| matches!(a, Action::Deny(_)) && !unasked;
        if let Some(rule) = self.call_rule(cx, &name, conditions, denies) {
            return refuse(Check::Deny, Because::Rule(rule));
        }
        if let Some((check, because)) = conditions.above(Gate::Deny, &name) {
            return refuse(check, because);
        }
        conditions.asks(self, Check::MaxCalls);
        if let Some(limit) = self.used_up(cx, tool) {
            return refuse(Check::MaxCalls, limit);
        }
        if let Some((check, because)) = conditions.above(Gate::MaxCalls, &name) {
            self.reply.out_of_calls |= matches!(&because, Because::Above { by, .. } if by == "run");
            return refuse(check, because);
        }
        conditions.asks(self, Check::Conservative);
        self.conservative(cx, tool, &name)?;
        if let Some(nested) = &entry.nested {
            conditions.asks(self, Check::Depth);
            conditions.asks(self, Check::Reentry);
            conditions.asks(self, Check::Grant);
            self.may_nest(cx, nested, &name)?;
        }
        conditions.asks(self, Check::Duplicate);
        if let Some((_, first)) = self.reply.seen.iter().find(|(id, _)| *id == identity) {
            if entry.effect == Effect::Write {
                return refuse(
                    Check::Duplicate,
                    Because::Guard(Guard::Duplicate, super::guard::Telling::Known, Then::Nothing),
                );
            }
            if entry.repeats == 1 || entry.effect == Effect::Poll {
                return Err(Judgement::Share(*first));
            }
        }
        conditions.asks(self, Check::Cycle);
        self.identity_guards(cx, call.no, identity, tool)?;
        conditions.asks(self, Check::SameTool);
        let guards = self.stage_in(cx).map(|s| s.guards.same_tool);
        if let Some(guard) = guards
            && guard.mode != Mode::Off
            && self.streak.refuses(tool, guard)
        {
            if guard.mode == Mode::On {
                return refuse(Check::SameTool, Because::Itself);
            }
            self.notes.push(Note::GuardFired(Guard::SameTool, "refuse", true));
        }
        conditions.asks(self, Check::CallsPerStep);
        if self.reply.withhold {
            return refuse(Check::CallsPerStep, Because::Withheld);
        }
        let most = self.calls_per_step(cx);
        if self.reply.running >= most {
            return refuse(Check::CallsPerStep, Because::Limit("reply", most));
        }
        conditions.asks(self, Check::Approval);
        if let Some(rule) = self.call_rule(cx, &name, conditions, |a| matches!(a, Action::Ask(_))) {
            return Ok(Judgement::Ask(Because::Rule(rule)));
        }
        if entry.approval && !(mutant::on(Mutant::ApprovalSkipped) && self.rollbacks > 0) {
            return Ok(Judgement::Ask(Because::Itself));
        }
        if let Some((_, because)) = conditions.above(Gate::Ask, &name) {
            return Ok(Judgement::Ask(because));
        }
        self.call_rule(cx, &name, conditions, |a| matches!(a, Action::Hint));
        Ok(Judgement::Run)
    }

    fn advance(&mut self, cx: Context<'_>, conditions: &mut impl Conditions<W>) -> Result<Judgement, Judgement> {
        conditions.asks(self, Check::NotAllowed);
        let Some(stage) = self.stage_in(cx).filter(|s| s.leave_by.advance) else {
            return Err(Judgement::Refuse(Check::NotAllowed, Because::Itself));
        };
        conditions.asks(self, Check::Requires);
        let missing = self.missing(&stage.requires);
        if !missing.is_empty() && !cx.observe {
            return Err(Judgement::Refuse(Check::Requires, Because::Missing(missing)));
        }
        Ok(Judgement::Advance)
    }

    pub(super) fn used_up(&mut self, cx: Context<'_>, tool: ToolIdx) -> Option<Because> {
        let entry = cx.roster.entry(cx.table, tool);
        if let Some(most) = entry.max_calls
            && self.tool(tool).runs >= most + u32::from(mutant::on(Mutant::OffByOneCalls))
        {
            return Some(Because::Limit("tool", most));
        }
        if let Some(most) = self.stage_in(cx).and_then(|s| s.max_calls)
            && at(&self.stage_calls, self.stage.index()) >= most
        {
            return Some(Because::Limit("stage", most));
        }
        let most = cx.table.limits.max_calls.filter(|most| self.calls >= *most)?;
        self.reply.out_of_calls = true;
        Some(Because::Limit("run", most))
    }

    fn conservative(&mut self, cx: Context<'_>, tool: ToolIdx, name: &str) -> Result<(), Judgement> {
        use super::guard::conservative;
        let Some(stage) = self.stage_in(cx) else { return Ok(()) };
        // The step under way is charged already; to the model it was still there.
        let left = self.left(cx.table, self.stage) + u32::from(!self.reply.moved);
        let guard = &stage.guards.conservative;
        if !conservative::speaks(guard, stage, left) || conservative::allows(guard, name, self.tool(tool).succeeded) {
            return Ok(());
        }
        if guard.mode == Mode::On {
            return Err(Judgement::Refuse(Check::Conservative, Because::Itself));
        }
        self.notes.push(Note::GuardFired(Guard::Conservative, "refuse", true));
        Ok(())
    }

    fn identity_guards(
        &mut self,
        cx: Context<'_>,
        no: CallNo,
        identity: Identity,
        tool: ToolIdx,
    ) -> Result<(), Judgement> {
        let seen = self.seen(cx, no, identity, tool);
        let Some(stage) = self.stage_in(cx) else { return Ok(()) };
        let mut observed = Vec::new();
        let look = self.watch.look(&seen, &stage.guards, &mut observed);
        for would in observed {
            let (guard, answer) = match would {
                Look::Reuse { .. } => (Guard::Duplicate, "reuse"),
                Look::Refuse { guard, .. } => (guard, "refuse"),
                Look::Pass => continue,
            };
            self.notes.push(Note::GuardFired(guard, answer, true));
        }
        match look {
            Look::Pass => Ok(()),
            Look::Reuse { of, telling } => Err(Judgement::Reuse { of, telling }),
            Look::Refuse { guard, telling, then } => {
                let check = if guard == Guard::Cycle { Check::Cycle } else { Check::Duplicate };
                Err(Judgement::Refuse(check, Because::Guard(guard, telling, then)))
            }
        }
    }

    /// What the identity guards know of a call of `tool`.
    #[must_use]
    pub fn seen(&self, cx: Context<'_>, no: CallNo, identity: Identity, tool: ToolIdx) -> Seen {
        let entry = cx.roster.entry(cx.table, tool);
        Seen { no, identity, effect: entry.effect, repeats: entry.repeats, unsettled: self.reply.changing }
    }

    fn starts(&mut self, cx: Context<'_>, call: &Proposed) {
        self.reply.running += 1;
        self.calls += 1;
        self.ran_here = true;
        if let Some(calls) = self.stage_calls.get_mut(self.stage.index()) {
            *calls += 1;
        }
        let (Some(Target::Tool(tool)), Some(identity)) = (call.what, call.identity) else { return };
        self.reply.seen.push((identity, call.no));
        let entry = cx.roster.entry(cx.table, tool);
        self.reply.nested += u32::from(entry.nested.as_ref().is_some_and(|n| n.spend == Spend::Parent));
        let effect = entry.effect;
        self.reply.changing |= matches!(effect, Effect::Write | Effect::Stateful);
        self.streak.ran(tool);
        if let Some(state) = self.tool_mut(tool) {
            state.runs += 1;
        }
    }

    fn refused(&mut self, cx: Context<'_>, call: &Proposed, check: Check, because: &Because) {
        let by_leaving = call.what == Some(Target::Advance) && check == Check::Requires;
        if check.is_violation() && !by_leaving {
            self.reply.violation = true;
            self.violations += 1;
        }
        if let Because::Guard(guard, _, then) = because {
            self.wants(*guard, *then, cx);
        }
        if check == Check::Malformed
            && let Some(Target::Tool(tool)) = call.what
            && let Some(fired) = self.failed(cx, tool)
        {
            let answer = if fired.then == Then::Leave { "leave" } else { "hint" };
            self.notes.push(Note::GuardFired(Guard::Errors, answer, fired.observed));
        }
    }

    /// A call judged *ask* in `stage` will not run. A person's no (`refused`) is a violation; that nobody answered is not.
    pub fn not_approved(&mut self, call: &Proposed, stage: StageId, refused: bool) {
        self.reply.violation |= refused;
        self.violations += u32::from(refused);
        self.reply.running = self.reply.running.saturating_sub(1);
        self.calls = self.calls.saturating_sub(1);
        if let Some(calls) = self.stage_calls.get_mut(stage.index()) {
            *calls = calls.saturating_sub(1);
        }
        if let Some(Target::Tool(tool)) = call.what
            && let Some(state) = self.tool_mut(tool)
        {
            state.runs = state.runs.saturating_sub(1);
        }
    }

    /// Notes a failure of `tool`; returns what the `errors` guard says.
    fn failed(&mut self, cx: Context<'_>, tool: ToolIdx) -> Option<Fired> {
        let guard = self.stage_in(cx)?.guards.errors;
        if guard.mode == Mode::Off {
            return None;
        }
        let (telling, then) = errors::note(&mut self.tool_mut(tool)?.fails, guard);
        if telling.is_none() && then == Then::Nothing {
            return None;
        }
        let observed = guard.mode == Mode::Observe || cx.observe;
        if !observed {
            self.wants(Guard::Errors, then, cx);
        }
        Some(Fired { guard: Guard::Errors, telling, then, observed })
    }

    /// Notes how a call came out: guards, facts, then the `result` rules. Returns what is said with the result.
    pub fn finish(
        &mut self,
        cx: Context<'_>,
        call: (&Seen, ToolIdx),
        done: &Done,
        learned: Vec<(FactId, Option<Value>)>,
        ran: Option<Ran>,
        conditions: &mut impl Conditions<W>,
    ) -> Noted {
        let (seen, tool) = call;
        let mut noted = self.note(cx, seen, done);
        if let Some(ran) = ran {
            self.past.ran(ran);
        }
        if mutant::on(Mutant::FailedCallsRefunded)
            && done.failed
            && let Some(state) = self.tool_mut(tool)
        {
            state.runs = state.runs.saturating_sub(1);
        }
        if done.failed {
            noted.fired.extend(self.failed(cx, tool));
        } else if let Some(state) = self.tool_mut(tool) {
            state.fails = 0;
            state.succeeded = true;
            if seen.effect == Effect::Write {
                self.tools.iter_mut().for_each(|t| t.fails = 0);
            }
        }
        self.clear_facts(cx, tool, done);
        for (fact, value) in learned {
            self.set_fact(cx, fact, value);
        }
        let name = cx.roster.name(tool);
        if !self.reply.closing {
            self.ask_rules(cx, At::Result, Some(&name), conditions);
        }
        noted
    }

    /// Notes an answer from memory for the guards.
    pub fn note(&mut self, cx: Context<'_>, seen: &Seen, done: &Done) -> Noted {
        let Some(stage) = self.stage_in(cx) else { return Noted::default() };
        let mut noted = self.watch.note(seen, done, &stage.guards);
        for fired in &mut noted.fired {
            fired.observed |= cx.observe;
            if !fired.observed {
                self.wants(fired.guard, fired.then, cx);
            }
        }
        noted
    }

    fn wants(&mut self, guard: Guard, then: Then, cx: Context<'_>) {
        if then > self.reply.then && !cx.observe {
            self.reply.then = then;
            self.reply.then_by = Some(guard);
        }
    }

    fn clear_facts(&mut self, cx: Context<'_>, tool: ToolIdx, done: &Done) {
        if done.failed && !done.unknown {
            return;
        }
        let name = cx.roster.name(tool);
        for (i, decl) in cx.table.facts.iter().enumerate() {
            if decl.cleared_by.iter().any(|p| p.matches(&name))
                && let Some(fact) = self.facts.get_mut(i)
                && fact.take().is_some()
            {
                self.notes.push(Note::FactCleared(FactId(u16::try_from(i).unwrap_or(u16::MAX))));
            }
        }
    }

    /// Gives a fact a value as its `keep` says; `None` unsets it.
    pub fn set_fact(&mut self, cx: Context<'_>, fact: FactId, value: Option<Value>) {
        use crate::table::model::Keep;
        let keep = cx.table.facts.get(fact.index()).map(|f| f.keep).unwrap_or_default();
        let Some(kept) = self.facts.get_mut(fact.index()) else { return };
        let before = kept.clone();
        match (value, keep, kept.as_mut()) {
            (None, ..) => *kept = None,
            (Some(_), Keep::First, Some(_)) => {}
            (Some(value), Keep::All, Some(Value::Array(all))) => {
                if !all.contains(&value) && all.len() < MAX_FACT_VALUES {
                    all.push(value);
                }
            }
            (Some(value), Keep::All, _) => *kept = Some(Value::Array(vec![value])),
            (Some(value), ..) => *kept = Some(value),
        }
        if *kept != before {
            self.notes.push(if kept.is_some() { Note::FactSet(fact) } else { Note::FactCleared(fact) });
        }
    }

    /// The current stage.
    #[must_use]
    pub fn stage_in<'a>(&self, cx: Context<'a>) -> Option<&'a Stage> {
        stage_of(cx.table, self.stage)
    }

    fn rule_applies(&self, cx: Context<'_>, rule: RuleId, tool: Option<&str>) -> bool {
        cx.table.rules.get(rule.index()).is_some_and(|r| {
            r.stage.is_none_or(|s| s == self.stage)
                && (r.tools.is_empty() || tool.is_some_and(|t| r.tools.iter().any(|p| p.matches(t))))
        })
    }

    /// The first `call` rule of a kind that holds. A condition that fails counts as true for `deny` and `ask`.
    pub(super) fn call_rule(
        &mut self,
        cx: Context<'_>,
        tool: &str,
        conditions: &mut impl Conditions<W>,
        kind: impl Fn(&Action) -> bool,
    ) -> Option<RuleId> {
        let [at_call, ..] = &cx.table.rules_at;
        for rule in at_call {
            let wanted = cx.table.rules.get(rule.index()).is_some_and(|r| kind(&r.action));
            if !wanted || !self.rule_applies(cx, *rule, Some(tool)) {
                continue;
            }
            let only_hint = kind(&Action::Hint);
            match conditions.holds(self, *rule) {
                Truth::No => continue,
                Truth::Failed => {
                    self.notes.push(Note::RuleNoted(*rule, "its condition could not be evaluated"));
                    if only_hint {
                        continue;
                    }
                }
                Truth::Yes => {}
            }
            self.notes.push(Note::RuleFired(*rule));
            if !only_hint {
                return Some(*rule);
            }
        }
        None
    }

    /// Asks the rules of `result`, `reply` or `step`: hints add up, the first that acts is taken.
    pub fn ask_rules(&mut self, cx: Context<'_>, at: At, tool: Option<&str>, conditions: &mut impl Conditions<W>) {
        let Some(rules) = cx.table.rules_at.get(at as usize) else { return };
        for id in rules {
            let Some(rule) = cx.table.rules.get(id.index()) else { continue };
            if !self.rule_applies(cx, *id, tool) {
                continue;
            }
            match conditions.holds(self, *id) {
                Truth::No => continue,
                Truth::Failed => {
                    self.notes.push(Note::RuleNoted(*id, "its condition could not be evaluated"));
                    continue;
                }
                Truth::Yes => {}
            }
            if self.act(cx, *id, &rule.action, conditions) && !matches!(rule.action, Action::Hint) {
                return;
            }
        }
    }

    /// Takes a rule's action; `false` = it could not be taken (and that is noted).
    fn act(&mut self, cx: Context<'_>, id: RuleId, action: &Action, conditions: &mut impl Conditions<W>) -> bool {
        let refused = match action {
            Action::Hint | Action::Deny(_) | Action::Ask(_) => None,
            Action::Goto(stage) => self.goto(cx, *stage, id),
            Action::Set(_) => {
                for (fact, value) in conditions.values(self, id) {
                    match value {
                        Some(value) => self.set_fact(cx, fact, Some(value)),
                        None => self.notes.push(Note::RuleNoted(id, "a value could not be evaluated")),
                    }
                }
                None
            }
            Action::Extend(stage, steps) => self.extend(*stage, *steps, id),
            Action::End(completed) => {
                self.reply.end.get_or_insert((id, *completed));
                None
            }
            Action::Forget(keep) => {
                self.reply.forget = Some((*keep, id));
                None
            }
        };
        match refused {
            Some(why) => {
                self.notes.push(Note::RuleNoted(id, why));
                false
            }
            None => {
                self.notes.push(Note::RuleFired(id));
                if matches!(action, Action::Extend(..)) {
                    self.notes.push(Note::Extended(id));
                }
                true
            }
        }
    }

    fn goto(&mut self, cx: Context<'_>, stage: StageId, id: RuleId) -> Option<&'static str> {
        if self.reply.goto.is_some() {
            return Some("another rule sends the run elsewhere already");
        }
        if stage == self.stage {
            return Some("the run is in that stage already");
        }
        if self.left(cx.table, stage) == 0 && !mutant::on(Mutant::GotoIntoSpent) {
            return Some("that stage has no steps left");
        }
        self.reply.goto = Some((stage, id));
        None
    }

    fn extend(&mut self, stage: StageId, steps: u32, id: RuleId) -> Option<&'static str> {
        if self.extended.contains(&id) && !mutant::on(Mutant::UnboundedExtension) {
            return Some("it widened the budget already");
        }
        self.extended.push(id);
        if let Some(widened) = self.widened.get_mut(stage.index()) {
            *widened = widened.saturating_add(steps);
        }
        None
    }

    /// Moves the run to the stage that `next` leads to and that allows `tool`, if the stage may be left by a call.
    fn move_by_call(&mut self, cx: Context<'_>, tool: &str) -> bool {
        let Some(stage) = self.stage_in(cx) else { return false };
        if !stage.leave_by.call || !self.missing(&stage.requires).is_empty() || cx.observe {
            return false;
        }
        let from = self.stage;
        let mut passed = Vec::new();
        let mut next = stage.next;
        // A stage is passed at most once: the walk cannot be longer than the table.
        for _ in 0..cx.table.stages.len() {
            let to = match next {
                Next::End => return false,
                Next::Back => match self.origin(self.stage) {
                    Some(origin) => origin,
                    None => return false,
                },
                Next::Stage(to) => to,
            };
            let Some(stage) = stage_of(cx.table, to) else { return false };
            let spent = self.left(cx.table, to) == 0 && !mutant::on(Mutant::LeaveByCallIntoSpent);
            if !spent && !stage.allowed.is_none() {
                if stage.approval || !stage.allowed.allows(tool) {
                    return false;
                }
                self.reply.moved = true;
                // It has left by the call: what was said of leaving the stage before opens no gate of this one.
                self.reply.advance = false;
                self.set_stage(cx, to, from);
                self.notes.push(Note::Moved { from, passed, to });
                return true;
            }
            // Passed through: nothing can be called there, or nothing is left of it.
            if !self.missing(&stage.requires).is_empty() || (!spent && stage.approval) {
                return false;
            }
            if !spent {
                passed.push(to);
            }
            next = stage.next;
        }
        false
    }
}

fn guard_of(check: Check) -> Guard {
    match check {
        Check::Duplicate => Guard::Duplicate,
        Check::Cycle => Guard::Cycle,
        Check::SameTool => Guard::SameTool,
        Check::Conservative => Guard::Conservative,
        _ => Guard::Violations,
    }
}

/// The element, or the type's zero.
pub(super) fn at(list: &[u32], index: usize) -> u32 {
    list.get(index).copied().unwrap_or_default()
}

/// A stage by id.
#[must_use]
pub fn stage_of(table: &Model, stage: StageId) -> Option<&Stage> {
    table.stages.get(stage.index())
}

/// Whether a fact's value satisfies a requirement: `false`, `null`, empty texts and empty lists do not.
#[must_use]
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
    }
}
