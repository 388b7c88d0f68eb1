//! Nested runs: how one opens in its turn, ends as the result of its call, and obeys the runs above.

use super::answer::MAX_STANDING;
use super::bound::LEAST_GRANT;
use super::core::{Because, Conditions, Core, Gate, Truth};
use super::event::Event;
use super::frame::{Frame, Inside, Making};
use super::guard::Watch;
use super::input::{CallNo, ToolResult};
use super::outcome::Outcome;
use super::reply::MAX_SHOWN;
use super::scene::{Names, Scene, moment, parsed};
use super::session::Session;
use super::slot::State;
use super::speak::shortened;
use super::start::assumed;
use super::verdict::Check;
use super::view::ToolSpec;
use crate::table::messages::Message as Say;
use crate::table::model::{Action, Allowed, Model, NestedRun, Spend};
use crate::table::{FactId, Name, RuleId, StageTable};
use minijinja::Value;
use serde_json::json;

/// The tools of a table that are nested runs, as the model is offered them.
pub(super) fn nested_specs(root: &Model, table: &Model) -> Vec<ToolSpec> {
    table
        .tools
        .iter()
        .filter_map(|tool| Some((tool, tool.nested.as_ref()?)))
        .map(|(tool, nested)| ToolSpec {
            name: tool.name.as_str().to_owned(),
            description: root.nested_table(&nested.file).and_then(|t| t.about.clone()).unwrap_or_default(),
            parameters: parameters(nested),
        })
        .collect()
}

/// The arguments that the task reads; without a template of the task, the task itself.
fn parameters(nested: &NestedRun) -> serde_json::Value {
    let names = match &nested.task {
        Some(_) => nested.arguments.clone(),
        None => vec!["task".to_owned()],
    };
    let properties: serde_json::Map<String, serde_json::Value> =
        names.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

/// What a nested run is opened with.
struct Opening {
    tool: Name,
    nested: NestedRun,
    timeout_ms: Option<u64>,
    task: String,
    grant: Option<u32>,
}

impl Session {
    /// Opens nested runs in their turn and folds those that ended into the runs that called them.
    pub(super) fn progress(&mut self) {
        loop {
            self.collect();
            if self.top.core.life.is_ended() {
                if !self.fold() {
                    return;
                }
                self.top.pump();
            } else if let Some(call) = self.top.nested_in_turn() {
                if !self.nest(call) {
                    self.top.refuse_nested(call);
                    self.top.pump();
                }
            } else {
                return;
            }
        }
    }

    /// Takes the events of all runs, the outermost first, and gives back what was counted above and will not run.
    pub(super) fn collect(&mut self) {
        let Self { above, top, events, explained, .. } = self;
        for at in 0..=above.len() {
            let (outer, inner) = above.split_at_mut(at);
            let frame = inner.first_mut().unwrap_or(top);
            for tool in std::mem::take(&mut frame.given_back) {
                outer.iter_mut().for_each(|f| f.count_below(&tool, false));
            }
            for tool in std::mem::take(&mut frame.cleared_above) {
                outer.iter_mut().for_each(|f| f.with_core(|core, cx| core.cleared_by(cx, &tool)));
            }
            events.append(&mut frame.events);
            if let Some((all, some)) = explained.as_mut().zip(frame.explained.as_mut()) {
                all.append(some);
            }
        }
    }

    /// Opens the nested run that answers `call`; `false` = it cannot be opened.
    fn nest(&mut self, call: CallNo) -> bool {
        let root = self.root().table.clone();
        let Some(opening) = self.top.opening(call) else { return false };
        let Some(table) = root.nested_run(&opening.nested.file) else { return false };
        let Opening { tool, nested, timeout_ms, task, grant } = opening;
        let description = self.top.roster.offered().iter().find(|t| *t.name == *tool);
        let description = description.map(|t| t.description.clone()).unwrap_or_default();
        let bound = self.top.core.bound_of(self.top.cx(), &tool, grant, timeout_ms);
        self.events.push(Event::ChildOpened {
            call,
            tool: tool.clone(),
            workflow: table.workflow.clone(),
            depth: bound.chain.len(),
            grant,
            task: shortened(&task, MAX_SHOWN),
        });
        let mut child = Frame::new(Making {
            tools: self.tools.clone(),
            nested: nested_specs(&root, &table),
            task,
            root_task: self.root().task.clone(),
            observe: self.top.observe,
            assume: assumed(&table, &self.assume),
            next_call: self.top.next_call,
            inside: Some(Inside { call, tool, description, spend: nested.spend }),
            table,
        });
        child.explained = self.explained.as_ref().map(|_| Vec::new());
        child.core.bound = Some(Box::new(bound));
        let known = self.host_facts.iter();
        child.open(known.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect());
        self.above.push(std::mem::replace(&mut self.top, child));
        true
    }

    /// The nested run that acts has ended: its end becomes the result of its call. `false` = it is the outermost.
    fn fold(&mut self) -> bool {
        let Some(outer) = self.above.pop() else { return false };
        let child = std::mem::replace(&mut self.top, outer);
        let (Some(inside), Some(outcome)) = (&child.inside, child.core.life.outcome()) else { return true };
        self.events.push(Event::ChildClosed {
            call: inside.call,
            outcome,
            limit: child.limit(),
            steps: child.core.steps,
            text: child.answer.clone(),
        });
        let steps = if inside.spend == Spend::Parent { child.core.steps } else { 0 };
        let top = &mut self.top;
        top.core.nested_done(&child.core, steps);
        top.next_call = child.next_call;
        let room = MAX_STANDING.saturating_sub(top.writes.len());
        top.writes.extend(child.writes.iter().take(room).cloned());
        let result = if outcome == Outcome::Completed {
            ToolResult::ok(child.answer)
        } else {
            ToolResult::error(top.nested_failed(&child, inside, outcome))
        };
        if let Some(slot) = top.slots.iter_mut().find(|s| s.no == inside.call) {
            slot.state = State::Arrived(result);
        }
        true
    }

    /// The caller wants no more: the run that acts pauses, and calls of the runs above are answered so.
    pub(super) fn take_cancel(&mut self) {
        self.above.iter_mut().for_each(|f| f.answer_open_calls(Say::Cancelled, false));
        loop {
            self.top.take_cancel();
            self.collect();
            // A nested run that ended over it ends nothing but itself: what called it is cancelled too.
            if !self.top.core.life.is_ended() || !self.fold() {
                return;
            }
        }
    }
}

impl StageTable {
    /// The table of a nested run, when this is the outermost.
    fn nested_run(&self, file: &str) -> Option<Self> {
        if file == self.own_file() { Some(self.clone()) } else { self.nested.get(file).cloned() }
    }
}

impl Frame {
    /// The nested run whose turn it is.
    fn nested_in_turn(&self) -> Option<CallNo> {
        let slot = self.slots.get(self.front).filter(|s| matches!(s.state, State::Nested))?;
        self.core.life.has_open_calls().then_some(slot.no)
    }

    fn opening(&mut self, call: CallNo) -> Option<Opening> {
        let slot = self.slot(call)?;
        let entry = self.roster.entry(&self.table, slot.tool?);
        let (nested, timeout_ms) = (entry.nested.clone()?, entry.timeout_ms);
        let (tool, task) = (slot.name.clone(), self.nested_task(&nested, &slot.name, &slot.call.arguments));
        let grant = match nested.spend {
            Spend::Own => None,
            Spend::Parent => {
                // Fixed once for all nested runs of the reply.
                let share = self.share.unwrap_or_else(|| self.core.grant(self.cx(), self.core.reply.nested));
                self.share = Some(share);
                Some(share)
            }
        };
        if grant.is_some_and(|steps| steps < LEAST_GRANT) {
            return None;
        }
        Some(Opening { tool, nested, timeout_ms, task, grant })
    }

    /// The task of a nested run: the template filled in, else the argument `task`, else all arguments.
    fn nested_task(&self, nested: &NestedRun, tool: &str, arguments: &str) -> String {
        let args = parsed(arguments);
        let whole = || args.get("task").and_then(|t| t.as_str()).map_or_else(|| args.to_string(), str::to_owned);
        let task = match &nested.task {
            None => whole(),
            Some(text) => self.rule_text(text, &|| moment(Some((tool, arguments)), None, None)),
        };
        if task.trim().is_empty() { args.to_string() } else { task }
    }

    /// A nested run that cannot be opened after all: the reply moved the run to a stage with fewer steps.
    fn refuse_nested(&mut self, call: CallNo) {
        self.not_approved(call, Say::RefusedGrant);
    }

    fn nested_failed(&self, child: &Self, inside: &Inside, outcome: Outcome) -> String {
        // An answer that was made without the model holds the digest already.
        let digest = child.digest();
        let digest = if child.answer.contains(&digest) { String::new() } else { digest };
        self.say(Say::NestedFailed, || {
            vec![
                ("tool", Value::from(&*inside.tool)),
                ("outcome", outcome.as_str().into()),
                ("answer", child.answer.as_str().into()),
                ("digest", digest.into()),
            ]
        })
    }

    /// What a model inside a function is told with each stage.
    pub(super) fn prefix(&self) -> Option<String> {
        let inside = self.inside.as_ref()?;
        let stage = self.core.stage_in(self.cx())?;
        let own = |name: &str| *name == *inside.tool || name == super::roster::ADVANCE;
        let tools = match &stage.allowed {
            Allowed::These { list, .. } => super::speak::joined(list.iter().map(|p| p.as_str()).filter(|n| !own(n))),
            Allowed::All => {
                let offered = self.roster.offered().iter().map(|t| t.name.as_str());
                super::speak::joined(offered.filter(|n| !own(n)))
            }
        };
        Some(self.say(Say::NestedPrefix, || {
            vec![
                ("tool", Value::from(&*inside.tool)),
                ("tools", tools.into()),
                ("description", inside.description.trim().into()),
            ]
        }))
    }

    /// A call of `tool` runs in a run nested in this one, or after all does not.
    pub(super) fn count_below(&mut self, tool: &str, runs: bool) {
        if let Some(tool) = self.roster.known(&self.table, tool) {
            self.core.ran_below(tool, runs);
        }
    }

    /// What this run says of a call in a run nested in it, with its own stage, facts and counts.
    fn binds(&mut self, gate: Gate, tool: &str, args: &str) -> Option<(Check, Because)> {
        let known = self.roster.known(&self.table, tool)?;
        let Self { table, roster, core, task, assume, observe, .. } = self;
        let cx = super::core::Context { table, roster, observe: *observe };
        let entry = roster.entry(table, known);
        let mut scene = Scene::new(cx, task, assume);
        scene.call = Some((tool, args));
        let rule = |rule: RuleId| Because::Rule(rule);
        let (check, because) = match gate {
            Gate::Deny => match core.missing_at_start(&entry.requires) {
                missing if missing.is_empty() => {
                    let denied = core.call_rule(cx, tool, &mut scene, |a| matches!(a, Action::Deny(_)));
                    (Check::Deny, denied.map(rule))
                }
                missing => (Check::Requires, Some(Because::Missing(missing))),
            },
            Gate::MaxCalls => (Check::MaxCalls, core.used_up(cx, known)),
            Gate::Ask => {
                let asked = core.call_rule(cx, tool, &mut scene, |a| matches!(a, Action::Ask(_)));
                (Check::Approval, asked.map(rule).or_else(|| entry.approval.then_some(Because::Itself)))
            }
        };
        let now = || moment(Some((tool, args)), None, None);
        self.tell_notes(None, &now);
        Some((check, self.in_words(because?, tool, &now)))
    }

    /// An objection as the run below is told it.
    fn in_words(&self, because: Because, tool: &str, moment: &dyn Fn() -> Names) -> Because {
        let entry = self.roster.entry_by_name(&self.table, tool);
        match because {
            Because::Missing(missing) => {
                let facts = missing.iter().filter_map(|i| entry.requires.get(*i));
                let facts = facts.filter_map(|(fact, _)| self.table.facts.get(fact.index())).map(|f| &*f.name);
                let (by, reason) = (super::speak::joined(facts), self.reasons(&entry.requires, &missing));
                Because::Above { by, reason, limit: None }
            }
            Because::Rule(rule) => {
                let reason = match self.table.rules.get(rule.index()).map(|r| &r.action) {
                    Some(Action::Deny(text) | Action::Ask(text)) => self.rule_text(text, moment),
                    _ => String::new(),
                };
                Because::Above { by: self.rule_name(rule).to_string(), reason, limit: None }
            }
            Because::Limit(scope, limit) => {
                Because::Above { by: scope.to_owned(), reason: String::new(), limit: Some(limit) }
            }
            _ => Because::Above {
                by: Check::Approval.as_str().to_owned(),
                reason: format!("May `{tool}` be called?"),
                limit: None,
            },
        }
    }
}

/// The conditions of a nested run, and the runs above it.
pub(super) struct Under<'a, 'f> {
    pub scene: Scene<'a>,
    pub above: &'f mut [Frame],
    pub args: &'a str,
}

impl Conditions<Watch> for Under<'_, '_> {
    fn holds(&mut self, core: &Core<Watch>, rule: RuleId) -> Truth {
        self.scene.holds(core, rule)
    }

    fn values(&mut self, core: &Core<Watch>, rule: RuleId) -> Vec<(FactId, Option<serde_json::Value>)> {
        self.scene.values(core, rule)
    }

    fn asks(&mut self, core: &Core<Watch>, check: Check) {
        self.scene.asks(core, check);
    }

    fn above(&mut self, gate: Gate, tool: &str) -> Option<(Check, Because)> {
        self.above.iter_mut().find_map(|frame| frame.binds(gate, tool, self.args))
    }
}
