//! One run of one table: the outermost, or one nested in another. The session holds those that are under way.

use super::core::{Context, Core, Note};
use super::event::{EnteredBy, Event};
use super::guard::Watch;
use super::input::CallNo;
use super::roster::{ADVANCE, Roster};
use super::scene::Names;
use super::settle::By;
use super::slot::{Brief, Kept, Slot};
use super::summary::{Standing, ToolCounts};
use super::transcript::Transcript;
use super::view::{ToolChoice, ToolSpec, View};
use crate::table::messages::Message as Say;
use crate::table::model::{Expose, FactFrom, Spend};
use crate::table::{Name, RuleId, StageId, StageTable};
use indexmap::IndexMap;
use std::collections::VecDeque;

/// How a nested run stands in the one that called it.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    /// The call it answers.
    pub call: CallNo,
    /// The function.
    pub tool: Name,
    /// What the function is for; may be empty.
    pub description: String,
    /// Whose steps it spends.
    pub spend: Spend,
}

/// What a frame is made of.
pub(super) struct Making {
    pub table: StageTable,
    /// The host's tools.
    pub tools: Option<Vec<ToolSpec>>,
    /// The tools that are nested runs.
    pub nested: Vec<ToolSpec>,
    pub task: String,
    /// The task of the outermost run.
    pub root_task: String,
    pub observe: bool,
    pub assume: Vec<(RuleId, bool)>,
    pub next_call: u32,
    pub inside: Option<Inside>,
}

/// One run of one table.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub table: StageTable,
    pub roster: Roster,
    pub core: Core<Watch>,
    pub task: String,
    /// The task of the outermost run, which facts `from: task` read.
    pub root_task: String,
    pub observe: bool,
    pub assume: Vec<(RuleId, bool)>,
    pub inside: Option<Inside>,
    pub transcript: Transcript,
    pub system: String,
    /// The tools of the current stage (`expose: stage`).
    pub narrowed: Vec<ToolSpec>,
    pub slots: Vec<Slot>,
    /// Slots that are answered.
    pub front: usize,
    pub next_call: u32,
    /// Calls proposed in this run.
    pub proposed: usize,
    /// Steps that each nested run of the reply under way is given, once the first opened.
    pub share: Option<u32>,
    /// Calls that were counted in the runs above and will not run.
    pub given_back: Vec<Name>,
    /// Tools that ran here: what they unset, they unset in the runs above too.
    pub cleared_above: Vec<Name>,
    pub kept: Vec<Option<Kept>>,
    pub products: Vec<(StageId, String)>,
    pub product: String,
    /// Stages passed through by the last move of a call.
    pub passed: Vec<StageId>,
    /// What is said once the reply's calls are answered.
    pub after: Vec<String>,
    pub last_texts: VecDeque<String>,
    pub briefs: VecDeque<Brief>,
    pub writes: Vec<Standing>,
    pub counts: IndexMap<Name, ToolCounts>,
    pub made_up: usize,
    pub answer: String,
    pub dup_tool_count: u32,
    pub uses_past: bool,
    pub events: Vec<Event>,
    /// What was asked of each call, when somebody wants to know.
    pub explained: Option<Vec<super::explain::Explained>>,
}

impl Frame {
    /// A run before its first stage.
    pub(super) fn new(made: Making) -> Self {
        let table = made.table;
        let text = |say: Say| table.messages.get(say as usize).map_or("", |t| t.source()).to_owned();
        let advance = ToolSpec {
            name: ADVANCE.into(),
            description: text(Say::AdvanceTool),
            parameters: serde_json::json!({
                "type": "object",
                "properties": { "summary": { "type": "string", "description": text(Say::AdvanceSummary) } },
                "required": ["summary"],
            }),
        };
        let own: Vec<ToolSpec> = match &made.tools {
            // The host may describe a nested run in its own words.
            Some(tools) => made.nested.into_iter().filter(|n| !tools.iter().any(|t| t.name == n.name)).collect(),
            None => made.nested,
        };
        let tools = made.tools.map(|mut tools| {
            tools.extend(own.iter().cloned());
            tools
        });
        let mut roster = Roster::new(&table, tools, advance);
        own.into_iter().for_each(|spec| roster.describe(spec));
        let core = Core::new(&table, Watch::default());
        let uses_past = uses_past(&table);
        Self {
            roster,
            core,
            task: made.task,
            root_task: made.root_task,
            observe: made.observe,
            assume: made.assume,
            inside: made.inside,
            transcript: Transcript::default(),
            system: String::new(),
            narrowed: Vec::new(),
            slots: Vec::new(),
            front: 0,
            next_call: made.next_call,
            proposed: 0,
            share: None,
            given_back: Vec::new(),
            cleared_above: Vec::new(),
            kept: Vec::new(),
            products: Vec::new(),
            product: String::new(),
            passed: Vec::new(),
            after: Vec::new(),
            last_texts: VecDeque::new(),
            briefs: VecDeque::new(),
            writes: Vec::new(),
            counts: IndexMap::new(),
            made_up: 0,
            answer: String::new(),
            dup_tool_count: 0,
            uses_past,
            events: Vec::new(),
            explained: None,
            table,
        }
    }

    /// Enters the first stage.
    pub(super) fn open(&mut self, facts: Vec<(String, serde_json::Value)>) {
        let task = self.root_task.clone();
        self.learn_from(&task, |from| matches!(from, FactFrom::Task));
        for (name, value) in facts {
            self.host_fact(&name, Some(value));
        }
        self.system = self.system_prompt();
        self.transcript.user(self.task.clone());
        let moves = self.with_core(|core, cx| core.begin(cx));
        self.carry_out(moves);
        self.before_step();
    }

    pub(super) fn view(&self) -> View<'_> {
        let stage = self.table.stages.get(self.core.stage.index());
        View {
            system: &self.system,
            messages: self.transcript.messages(),
            tools: match self.table.expose {
                Expose::All => self.roster.offered(),
                Expose::Stage => &self.narrowed,
            },
            tool_choice: if self.core.is_closing_request(&self.table) { ToolChoice::None } else { ToolChoice::Auto },
            stage: stage.map_or("", |s| &s.name),
            steps_left: self.core.left(&self.table, self.core.stage),
            model: stage.and_then(|s| s.model.as_deref()),
        }
    }

    /// What the stages so far ended with, in the order they were left.
    pub(super) fn products(&self) -> impl Iterator<Item = (&str, &str)> {
        let name = |stage: StageId| self.table.stages.get(stage.index()).map_or("", |s| &*s.name);
        self.products.iter().map(move |(stage, text)| (name(*stage), text.as_str()))
    }

    pub(super) fn cx(&self) -> Context<'_> {
        Context { table: &self.table, roster: &self.roster, observe: self.observe }
    }

    /// Lets the core decide with table and tools at hand, then makes events of its notes.
    pub(super) fn with_core<T>(&mut self, decide: impl FnOnce(&mut Core<Watch>, Context<'_>) -> T) -> T {
        let cx = Context { table: &self.table, roster: &self.roster, observe: self.observe };
        let decided = decide(&mut self.core, cx);
        let hints = self.tell_notes(None, &Names::new);
        self.after.extend(hints);
        decided
    }

    pub(super) fn slot(&self, no: CallNo) -> Option<&Slot> {
        // The numbers of one reply's calls follow one another.
        let first = self.slots.first()?.no.0;
        self.slots.get(no.0.checked_sub(first)? as usize).filter(|s| s.no == no)
    }

    pub(super) fn stage_name(&self, stage: StageId) -> Name {
        self.table.stages.get(stage.index()).map_or_else(|| "".into(), |s| s.name.clone())
    }

    pub(super) fn rule_name(&self, rule: RuleId) -> Name {
        self.table.rules.get(rule.index()).map_or_else(|| "".into(), |r| r.name.clone())
    }

    pub(super) fn entered_by(&self, by: By) -> EnteredBy {
        match by {
            By::Start => EnteredBy::Start,
            By::Answer => EnteredBy::Answer,
            By::Advance => EnteredBy::Advance,
            By::Call => EnteredBy::Call,
            By::Rule(rule) => EnteredBy::Rule(self.rule_name(rule)),
            By::Exhausted => EnteredBy::Exhausted,
            By::Guard(guard) => EnteredBy::Guard(guard.as_str().into()),
            By::Closing => EnteredBy::Closing,
            By::Denied => EnteredBy::Denied,
            By::Grant => EnteredBy::Grant,
        }
    }

    /// Makes events of what the core noted; returns the hints of the rules that fired.
    pub(super) fn tell_notes(&mut self, call: Option<CallNo>, moment: &dyn Fn() -> Names) -> Vec<String> {
        let mut hints = Vec::new();
        for note in std::mem::take(&mut self.core.notes) {
            match note {
                Note::RuleFired(rule) => {
                    let name = self.rule_name(rule);
                    let action = self.table.rules.get(rule.index()).map_or("", |r| r.action.name());
                    self.events.push(Event::RuleFired { rule: name.clone(), action: action.into() });
                    if let Some(hint) = self.rule_hint(rule, moment) {
                        self.events.push(Event::HintGiven { name, text: hint.clone() });
                        hints.push(hint);
                    }
                }
                Note::RuleNoted(rule, note) => {
                    self.events.push(Event::RuleNoted { rule: self.rule_name(rule), note: note.into() });
                }
                Note::Extended(rule) => {
                    if let Some(crate::table::model::Action::Extend(stage, steps)) =
                        self.table.rules.get(rule.index()).map(|r| &r.action)
                    {
                        let (stage, steps) = (self.stage_name(*stage), *steps);
                        self.events.push(Event::BudgetExtended { stage, steps, rule: self.rule_name(rule) });
                    }
                }
                Note::FactSet(fact) => {
                    let name = self.table.facts.get(fact.index()).map_or_else(|| "".into(), |f| f.name.clone());
                    let value = self.core.facts.get(fact.index()).and_then(Option::as_ref);
                    let value = super::speak::shortened(&value.map(ToString::to_string).unwrap_or_default(), 200);
                    self.events.push(Event::FactSet { fact: name, value });
                }
                Note::FactCleared(fact) => {
                    let name = self.table.facts.get(fact.index()).map_or_else(|| "".into(), |f| f.name.clone());
                    self.events.push(Event::FactCleared { fact: name });
                }
                Note::GuardFired(guard, answer, observed) => {
                    let guard = guard.as_str().into();
                    self.events.push(Event::GuardFired { guard, call, answer: answer.into(), observed });
                }
                Note::Moved { from, passed, to } => self.moved(from, passed, to),
            }
        }
        hints
    }

    /// Tells a move by a call before the call itself, which is judged in the stage entered.
    pub(super) fn tell_move(&mut self) {
        let is_move = |note: &Note| matches!(note, Note::Moved { .. });
        if let Some(at) = self.core.notes.iter().position(is_move)
            && let Note::Moved { from, passed, to } = self.core.notes.remove(at)
        {
            self.moved(from, passed, to);
        }
    }
}

fn uses_past(table: &StageTable) -> bool {
    let asks = |source: &str| ["called(", "succeeded(", "times("].iter().any(|f| source.contains(f));
    table.rules.iter().any(|r| {
        r.when.as_ref().is_some_and(|w| asks(w.source()))
            || matches!(&r.action, crate::table::model::Action::Set(set) if set.iter().any(|(_, e)| asks(e.source())))
    })
}
