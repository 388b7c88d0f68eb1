//! A trace brought into the order it is shown in: stages, steps with their calls, returns, the end.

use crate::engine::event::{Event, Judged};
use crate::engine::input::{CallNo, Input, ProposedCall, ToolResult};
use crate::engine::outcome::{Limit, Outcome};
use crate::render::story::words;
use crate::table::StageTable;
use crate::table::model::Allowed;
use crate::trace::{Explanation, Trace};
use std::collections::HashMap;

/// What the page shows.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    pub ceiling: u32,
    pub steps: u32,
    pub outcome: Option<Outcome>,
    pub limit: Option<&'a Limit>,
    pub answer: &'a str,
    pub stages: Vec<StageBar>,
    pub items: Vec<Item<'a>>,
    /// Items at which what was rolled back begins, and at which it ends.
    pub undone_from: Vec<usize>,
    pub undone_to: Vec<usize>,
    pub refused: usize,
    pub rollbacks: usize,
}

/// One stage of the lane.
#[derive(Default)]
pub(super) struct StageBar {
    pub name: String,
    pub goal: String,
    pub allows: String,
    pub spent: u32,
    pub budget: u32,
    pub entered: u32,
    /// The item that entered it first.
    pub first: Option<usize>,
}

/// One thing that happened.
pub(super) enum Item<'a> {
    Entered { id: usize, name: &'a str, number: usize, of: usize, left: u32, by: String },
    Step(Step<'a>),
    RolledBack { stage: &'a str, by: &'a str, dropped: usize, to: Option<usize> },
    Note(String),
    Said { who: &'static str, text: &'a str },
    Way(String),
    Ended { outcome: Outcome, limit: Option<&'a Limit>, text: &'a str },
}

/// One step.
#[derive(Default)]
pub(super) struct Step<'a> {
    pub n: u32,
    pub stage: &'a str,
    pub stage_step: u32,
    pub budget: u32,
    pub text: &'a str,
    pub calls: Vec<Call<'a>>,
    /// What the model was told beside: name and text.
    pub told: Vec<(&'a str, &'a str)>,
    pub notes: Vec<String>,
}

/// One call of a step.
pub(super) struct Call<'a> {
    pub no: CallNo,
    pub tool: &'a str,
    pub resolved: Option<&'a str>,
    pub proposed: Option<&'a ProposedCall>,
    pub judged: &'a Judged,
    pub result: Option<&'a ToolResult>,
    /// Failed, characters, cut to, as before.
    pub finished: Option<(bool, usize, Option<usize>, bool)>,
    pub approved: Option<bool>,
    pub why: Option<&'a Explanation>,
}

pub(super) fn gather<'a>(
    trace: &'a Trace,
    table: Option<&StageTable>,
    explanations: &'a [Explanation],
) -> Gathered<'a> {
    let mut gathering = Gathering {
        page: Gathered { stages: table.map(stages).unwrap_or_default(), ..Gathered::default() },
        why: explanations.iter().map(|e| (e.call, e)).collect(),
        calls: HashMap::new(),
        step: None,
        entered: None,
        results: HashMap::new(),
        depth: 0,
    };
    for stamped in &trace.records {
        gathering.input(&stamped.record.input);
        let proposed = match &stamped.record.input {
            Input::Reply(reply) => reply.calls.as_slice(),
            _ => &[],
        };
        let mut proposed = proposed.iter();
        for event in &stamped.record.events {
            gathering.event(event, &mut proposed);
        }
    }
    gathering.page
}

fn stages(table: &StageTable) -> Vec<StageBar> {
    let bar = |stage: &crate::table::model::Stage| StageBar {
        name: stage.name.to_string(),
        goal: stage.goal.source().to_owned(),
        allows: match &stage.allowed {
            Allowed::All => "every tool".to_owned(),
            Allowed::These { list, .. } if list.is_empty() => "no tool".to_owned(),
            Allowed::These { list, .. } => list.iter().map(|p| p.as_str()).collect::<Vec<_>>().join(", "),
        },
        budget: stage.budget(),
        ..StageBar::default()
    };
    table.stages.iter().map(bar).collect()
}

struct Gathering<'a> {
    page: Gathered<'a>,
    why: HashMap<CallNo, &'a Explanation>,
    /// Where a call stands: item and place in its step.
    calls: HashMap<CallNo, (usize, usize)>,
    /// The item of the step under way.
    step: Option<usize>,
    /// The item that entered the current stage.
    entered: Option<usize>,
    results: HashMap<CallNo, &'a ToolResult>,
    /// Nested runs under way.
    depth: usize,
}

impl<'a> Gathering<'a> {
    fn push(&mut self, item: Item<'a>) -> usize {
        self.page.items.push(item);
        self.page.items.len() - 1
    }

    fn note(&mut self, note: String) {
        match self.step.and_then(|at| self.page.items.get_mut(at)) {
            Some(Item::Step(step)) => step.notes.push(note),
            _ => {
                self.push(Item::Note(note));
            }
        }
    }

    /// Changes what is known of a stage; one that the table does not have is added.
    fn bar(&mut self, name: &str, change: impl FnOnce(&mut StageBar)) {
        // The lane is the outermost run's.
        if self.depth > 0 {
            return;
        }
        if let Some(bar) = self.page.stages.iter_mut().find(|s| s.name == name) {
            return change(bar);
        }
        let mut bar = StageBar { name: name.to_owned(), ..StageBar::default() };
        change(&mut bar);
        self.page.stages.push(bar);
    }

    fn call(&mut self, no: CallNo) -> Option<&mut Call<'a>> {
        let (item, at) = *self.calls.get(&no)?;
        match self.page.items.get_mut(item)? {
            Item::Step(step) => step.calls.get_mut(at),
            _ => None,
        }
    }

    fn input(&mut self, input: &'a Input) {
        match input {
            Input::Result { call, result } => {
                self.results.insert(*call, result);
                if let Some(call) = self.call(*call) {
                    call.result = Some(result);
                }
            }
            Input::UserMessage { text } => {
                self.step = None;
                self.push(Item::Said { who: "the user", text });
            }
            Input::ProviderFailed { message, .. } => {
                self.step = None;
                self.push(Item::Said { who: "no reply", text: message });
            }
            Input::Cancel => self.note("the caller wants no more".to_owned()),
            Input::Admission { yes } => {
                self.step = None;
                self.push(Item::Way(format!("a person {} the run", if *yes { "admits" } else { "does not admit" })));
            }
            Input::Fact { name, .. } => self.note(format!("the host speaks of {name}")),
            _ => {}
        }
    }

    fn event(&mut self, event: &'a Event, proposed: &mut std::slice::Iter<'a, ProposedCall>) {
        match event {
            Event::RunStarted { ceiling, .. } => self.page.ceiling = *ceiling,
            Event::StepCharged { step, stage, stage_step, budget } => {
                if self.depth == 0 {
                    self.page.steps = *step;
                }
                self.bar(stage, |bar| (bar.spent, bar.budget) = (*stage_step, *budget));
                let step = Step { n: *step, stage, stage_step: *stage_step, budget: *budget, ..Step::default() };
                self.step = Some(self.push(Item::Step(step)));
            }
            Event::TextSaid { text } => {
                if let Some(Item::Step(step)) = self.step.and_then(|at| self.page.items.get_mut(at)) {
                    step.text = text;
                }
            }
            Event::CallJudged { call, tool, resolved, judged } => {
                self.judged(*call, tool, resolved.as_deref(), judged, proposed.next());
            }
            Event::ApprovalGiven { call, yes } => {
                if let Some(call) = self.call(*call) {
                    call.approved = Some(*yes);
                }
            }
            Event::CallFinished { call, failed, chars, cut_to, same, .. } => {
                if let Some(call) = self.call(*call) {
                    call.finished = Some((*failed, *chars, *cut_to, *same));
                }
            }
            Event::HintGiven { name, text } => match self.step.and_then(|at| self.page.items.get_mut(at)) {
                Some(Item::Step(step)) => step.told.push((name, text)),
                _ => {
                    self.push(Item::Said { who: "the model is told", text });
                }
            },
            Event::GuardFired { guard, answer, observed, .. } => {
                let would = if *observed { " would" } else { "" };
                self.note(format!("guard {guard}{would}: {}", answer.replace('_', " ")));
            }
            Event::RuleFired { rule, action } => self.note(format!("rule {rule}: {action}")),
            Event::RuleNoted { rule, note } => self.note(format!("rule {rule}: {note}")),
            Event::FactSet { fact, value } => self.note(format!("fact {fact} = {value}")),
            Event::FactCleared { fact } => self.note(format!("fact {fact} is unset")),
            Event::BudgetGranted { stage, steps, by } => {
                self.bar(stage, |bar| bar.budget = bar.budget.saturating_add(*steps));
                self.page.ceiling = self.page.ceiling.saturating_add(*steps);
                (self.page.outcome, self.page.limit, self.page.answer) = (None, None, "");
                self.step = None;
                self.push(Item::Way(format!("{by} grants {stage} {} more", words::steps(*steps))));
            }
            Event::BudgetExtended { stage, steps, rule } => {
                self.bar(stage, |bar| bar.budget = bar.budget.saturating_add(*steps));
                self.note(format!("{stage} gets {} more (rule {rule})", words::steps(*steps)));
            }
            other => self.way(other),
        }
    }

    fn way(&mut self, event: &'a Event) {
        match event {
            Event::StageEntered { stage, number, of, left, by } => {
                let by = words::entered_by(by);
                let id = self.page.items.len();
                self.entered =
                    Some(self.push(Item::Entered { id, name: stage, number: *number, of: *of, left: *left, by }));
                self.bar(stage, |bar| {
                    bar.entered += 1;
                    bar.first.get_or_insert(id);
                    bar.budget = bar.budget.max(*left);
                });
            }
            Event::RolledBack { stage, by, dropped } => {
                let to = self.entered;
                let begins = self.begin_of_undone(to);
                let at = self.push(Item::RolledBack { stage, by, dropped: *dropped, to });
                self.page.rollbacks += 1;
                if begins < at {
                    self.page.undone_from.push(begins);
                    self.page.undone_to.push(at);
                }
                self.step = None;
            }
            Event::ViewCut { by, results } => self.note(format!(
                "{results} {} left the view ({by})",
                words::plural("result", u32::try_from(*results).unwrap_or(u32::MAX))
            )),
            Event::Paused { outcome, question } => {
                self.step = None;
                let question = if question.is_empty() { String::new() } else { format!(": {question}") };
                self.push(Item::Way(format!("pauses, {outcome}{question}")));
                self.page.outcome = Some(*outcome);
            }
            Event::Resumed => {
                self.push(Item::Way("goes on".to_owned()));
                self.page.outcome = None;
            }
            Event::ChildOpened { call, tool, workflow, task, .. } => {
                self.step = None;
                self.depth += 1;
                self.push(Item::Way(format!("{tool} (call {}) runs {workflow}: {task}", call.0)));
            }
            Event::ChildClosed { call, outcome, steps, text, .. } => {
                self.step = None;
                self.depth = self.depth.saturating_sub(1);
                let steps = words::steps(*steps);
                self.push(Item::Way(format!("the run of call {} ends, {outcome}, after {steps}: {text}", call.0)));
            }
            Event::RunEnded { outcome, text, .. } if self.depth > 0 => {
                self.push(Item::Way(format!("{outcome}: {text}")));
            }
            Event::RunEnded { outcome, limit, text } => {
                self.step = None;
                let limit = limit.as_ref();
                (self.page.outcome, self.page.limit, self.page.answer) = (Some(*outcome), limit, text);
                self.push(Item::Ended { outcome: *outcome, limit, text });
            }
            _ => {}
        }
    }

    /// What follows the stage's entry, or the last return.
    fn begin_of_undone(&self, entered: Option<usize>) -> usize {
        let after_return = self.page.undone_to.last().map_or(0, |at| at + 1);
        entered.map_or(0, |at| at + 1).max(after_return)
    }

    fn judged(
        &mut self,
        no: CallNo,
        tool: &'a str,
        resolved: Option<&'a str>,
        judged: &'a Judged,
        proposed: Option<&'a ProposedCall>,
    ) {
        self.page.refused += usize::from(matches!(judged, Judged::Refuse { .. }));
        let call = Call {
            no,
            tool,
            resolved,
            proposed,
            judged,
            result: self.results.get(&no).copied(),
            finished: None,
            approved: None,
            why: self.why.get(&no).copied(),
        };
        let at = match self.step {
            Some(at) => at,
            // A reply that could not be charged any more.
            None => self.push(Item::Step(Step { n: self.page.steps, ..Step::default() })),
        };
        self.step = Some(at);
        if let Some(Item::Step(step)) = self.page.items.get_mut(at) {
            step.calls.push(call);
            self.calls.insert(no, (at, step.calls.len() - 1));
        }
    }
}
