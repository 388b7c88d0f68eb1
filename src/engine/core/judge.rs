//! A reply is charged, and each of its calls judged in the public order.

use super::{Because, Conditions, Context, Core, Gate, Judgement, Note, Proposed, ReplyFacts, ReplyState, Target, at};
use crate::engine::args::Identity;
use crate::engine::guard::{Guard, Identities, Look, Seen, Telling, Then, conservative};
use crate::engine::input::CallNo;
use crate::engine::mutant::{self, Mutant};
use crate::engine::roster::ToolIdx;
use crate::engine::verdict::Check;
use crate::table::model::{Action, At, Effect, Mode, Spend, ToolEntry};
use crate::table::{FactId, StageId};

/// `Err` = what is done instead of running the call.
type Objection = Result<(), Judgement>;

fn refuse(check: Check, because: Because) -> Objection {
    Err(Judgement::Refuse(check, because))
}

impl<W: Identities> Core<W> {
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
            Ok(()) => Judgement::Run,
            Err(Judgement::Refuse(check, _)) if cx.observe && !check.holds_always() && call.identity.is_some() => {
                self.notes.push(Note::GuardFired(guard_of(check), check.as_str(), true));
                self.asked_all_the_same(cx, call, conditions)
            }
            Err(instead) => instead,
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

    /// A call that is only let run because nothing is refused: a person is asked about it nevertheless.
    fn asked_all_the_same(
        &mut self,
        cx: Context<'_>,
        call: &Proposed,
        conditions: &mut impl Conditions<W>,
    ) -> Judgement {
        let Some(Target::Tool(tool)) = call.what else { return Judgement::Run };
        let (entry, name) = (cx.roster.entry(cx.table, tool), cx.roster.name(tool));
        self.approvals(cx, entry, &name, conditions).err().unwrap_or(Judgement::Run)
    }

    /// The public order. `Err` = what is done instead of running the call.
    fn objection(&mut self, cx: Context<'_>, call: &Proposed, conditions: &mut impl Conditions<W>) -> Objection {
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
        let entry = cx.roster.entry(cx.table, tool);
        conditions.asks(self, Check::NotAllowed);
        let last = mutant::on(Mutant::ForbiddenOnLastStep) && self.left(cx.table, self.stage) == 0;
        if !last && !self.stage_in(cx).is_some_and(|s| s.allowed.allows(&name)) && !self.move_by_call(cx, &name) {
            return refuse(Check::NotAllowed, Because::Itself);
        }
        self.gates(cx, entry, &name, conditions)?;
        self.limits(cx, tool, &name, conditions)?;
        conditions.asks(self, Check::Conservative);
        self.conservative(cx, tool, &name)?;
        if let Some(nested) = &entry.nested {
            conditions.asks(self, Check::Depth);
            conditions.asks(self, Check::Reentry);
            conditions.asks(self, Check::Grant);
            self.may_nest(cx, nested, &name)?;
        }
        conditions.asks(self, Check::Duplicate);
        self.repeats_in_reply(entry, identity)?;
        conditions.asks(self, Check::Cycle);
        self.identity_guards(cx, call.no, identity, tool)?;
        conditions.asks(self, Check::SameTool);
        self.same_tool(cx, tool)?;
        conditions.asks(self, Check::CallsPerStep);
        self.fits_reply(cx)?;
        conditions.asks(self, Check::Approval);
        self.approvals(cx, entry, &name, conditions)?;
        self.call_rule(cx, &name, conditions, |a| matches!(a, Action::Hint));
        Ok(())
    }

    /// `requires`, then `deny` rules, then those of the runs above.
    fn gates(
        &mut self,
        cx: Context<'_>,
        entry: &ToolEntry,
        name: &str,
        conditions: &mut impl Conditions<W>,
    ) -> Objection {
        conditions.asks(self, Check::Requires);
        let missing = self.missing(&entry.requires);
        if !missing.is_empty() {
            return refuse(Check::Requires, Because::Missing(missing));
        }
        conditions.asks(self, Check::Deny);
        let unasked = mutant::on(Mutant::DenySkippedFromSecondCall) && self.reply.running > 0;
        let denies = |a: &Action| matches!(a, Action::Deny(_)) && !unasked;
        if let Some(rule) = self.call_rule(cx, name, conditions, denies) {
            return refuse(Check::Deny, Because::Rule(rule));
        }
        match conditions.above(Gate::Deny, name) {
            Some((check, because)) => refuse(check, because),
            None => Ok(()),
        }
    }

    /// `max_calls` of tool, stage and run, then those of the runs above.
    fn limits(&mut self, cx: Context<'_>, tool: ToolIdx, name: &str, conditions: &mut impl Conditions<W>) -> Objection {
        conditions.asks(self, Check::MaxCalls);
        if let Some(limit) = self.used_up(cx, tool) {
            return refuse(Check::MaxCalls, limit);
        }
        let Some((check, because)) = conditions.above(Gate::MaxCalls, name) else { return Ok(()) };
        self.reply.out_of_calls |= matches!(&because, Because::Above { by, .. } if by == "run");
        refuse(check, because)
    }

    /// The same call earlier in this reply: its answer serves both; of a write, the second is refused.
    fn repeats_in_reply(&self, entry: &ToolEntry, identity: Identity) -> Objection {
        let Some((_, first)) = self.reply.seen.iter().find(|(id, _)| *id == identity) else { return Ok(()) };
        if entry.effect == Effect::Write {
            return refuse(Check::Duplicate, Because::Guard(Guard::Duplicate, Telling::Known, Then::Nothing));
        }
        if entry.repeats == 1 || entry.effect == Effect::Poll {
            return Err(Judgement::Share(*first));
        }
        Ok(())
    }

    fn same_tool(&mut self, cx: Context<'_>, tool: ToolIdx) -> Objection {
        let Some(guard) = self.stage_in(cx).map(|s| s.guards.same_tool) else { return Ok(()) };
        if guard.mode == Mode::Off || !self.streak.refuses(tool, guard) {
            return Ok(());
        }
        if guard.mode == Mode::On {
            return refuse(Check::SameTool, Because::Itself);
        }
        self.notes.push(Note::GuardFired(Guard::SameTool, "refuse", true));
        Ok(())
    }

    fn fits_reply(&self, cx: Context<'_>) -> Objection {
        if self.reply.withhold {
            return refuse(Check::CallsPerStep, Because::Withheld);
        }
        let most = self.calls_per_step(cx);
        if self.reply.running >= most {
            return refuse(Check::CallsPerStep, Because::Limit("reply", most));
        }
        Ok(())
    }

    /// `ask` rules, then `approval`, then those of the runs above.
    fn approvals(
        &mut self,
        cx: Context<'_>,
        entry: &ToolEntry,
        name: &str,
        conditions: &mut impl Conditions<W>,
    ) -> Objection {
        if let Some(rule) = self.call_rule(cx, name, conditions, |a| matches!(a, Action::Ask(_))) {
            return Err(Judgement::Ask(Because::Rule(rule)));
        }
        if entry.approval && !(mutant::on(Mutant::ApprovalSkipped) && self.rollbacks > 0) {
            return Err(Judgement::Ask(Because::Itself));
        }
        match conditions.above(Gate::Ask, name) {
            Some((_, because)) => Err(Judgement::Ask(because)),
            None => Ok(()),
        }
    }

    fn advance(&mut self, cx: Context<'_>, conditions: &mut impl Conditions<W>) -> Objection {
        conditions.asks(self, Check::NotAllowed);
        let Some(stage) = self.stage_in(cx).filter(|s| s.leave_by.advance) else {
            return refuse(Check::NotAllowed, Because::Itself);
        };
        conditions.asks(self, Check::Requires);
        let missing = self.missing(&stage.requires);
        if !missing.is_empty() && !cx.observe {
            return refuse(Check::Requires, Because::Missing(missing));
        }
        Err(Judgement::Advance)
    }

    pub(in crate::engine) fn used_up(&mut self, cx: Context<'_>, tool: ToolIdx) -> Option<Because> {
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

    fn conservative(&mut self, cx: Context<'_>, tool: ToolIdx, name: &str) -> Objection {
        let Some(stage) = self.stage_in(cx) else { return Ok(()) };
        // The step under way is charged already; to the model it was still there.
        let left = self.left(cx.table, self.stage) + u32::from(!self.reply.moved);
        let guard = &stage.guards.conservative;
        if !conservative::speaks(guard, stage, left) || conservative::allows(guard, name, self.tool(tool).succeeded) {
            return Ok(());
        }
        if guard.mode == Mode::On {
            return refuse(Check::Conservative, Because::Itself);
        }
        self.notes.push(Note::GuardFired(Guard::Conservative, "refuse", true));
        Ok(())
    }

    fn identity_guards(&mut self, cx: Context<'_>, no: CallNo, identity: Identity, tool: ToolIdx) -> Objection {
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
                refuse(check, Because::Guard(guard, telling, then))
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
        let name = cx.roster.name(tool);
        for (i, fact) in cx.table.facts.iter().enumerate() {
            if fact.cleared_by.iter().any(|p| p.matches(&name)) {
                self.reply.unsure.extend(u16::try_from(i).ok().map(FactId).filter(|f| !self.reply.unsure.contains(f)));
            }
        }
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
