//! The story of a run: its records as lines that a stranger understands, one an event, about 110 columns wide.
//!
//! ```text
//! 2 explore 2/4  read_file(path="a")   refused, a violation: not allowed in explore   hint: List folders first.
//! ```

mod line;
pub(in crate::render) mod words;

use crate::engine::event::{EnteredBy, Event, Judged};
use crate::engine::input::{CallNo, Input, ProposedCall, ToolResult};
use crate::engine::session::Record;
pub use line::Columns;
use line::{Line, lay_out};
use std::collections::HashMap;
use words::{arguments, clean, cut, quoted};

/// Most characters of a text the model said, a result or an answer that a story shows.
const TEXT: usize = 64;
/// Most characters of a call with its arguments.
const CALL: usize = 40;

/// The story of a run (or of the part of it that `records` hold). Lines end in `\n`; it never panics, whatever the
/// records say.
///
/// ```
/// assert_eq!(stagekeeper::render::story::story(&[]), "");
/// ```
#[must_use]
pub fn story(records: &[Record]) -> String {
    story_part(records, &mut Columns::default())
}

/// The next part of a story that is told as it happens, in columns that fit those of the parts before.
#[must_use]
pub fn story_part(records: &[Record], columns: &mut Columns) -> String {
    let mut teller = Teller::new(records);
    for record in records {
        teller.record(record);
    }
    lay_out(&teller.lines, columns)
}

/// What the teller has to remember from line to line.
struct Teller<'a> {
    lines: Vec<Line>,
    /// What calls came back with, to be told beside the verdict.
    results: HashMap<CallNo, (&'a ToolResult, &'a Event)>,
    /// Calls that were told with their result already.
    told: Vec<CallNo>,
    stage: String,
    /// The stages of the runs above.
    outer: Vec<String>,
    /// The step that was charged and not yet told.
    step: Option<String>,
    said: String,
    /// A product that was not told as a text before.
    product: String,
    /// The move that a call made, told behind the call.
    moved: Option<Line>,
    /// The calls of the current reply whose verdicts are still to come.
    proposed: Vec<&'a ProposedCall>,
}

impl<'a> Teller<'a> {
    fn new(records: &'a [Record]) -> Self {
        let mut texts = HashMap::new();
        for record in records {
            if let Input::Result { call, result } = &record.input {
                texts.insert(*call, result);
            }
        }
        let finished = records.iter().flat_map(|r| &r.events).filter_map(|event| match event {
            Event::CallFinished { call, .. } => texts.get(call).map(|result| (*call, (*result, event))),
            _ => None,
        });
        Self {
            lines: Vec::new(),
            results: finished.collect(),
            told: Vec::new(),
            stage: String::new(),
            outer: Vec::new(),
            step: None,
            said: String::new(),
            product: String::new(),
            moved: None,
            proposed: Vec::new(),
        }
    }

    fn record(&mut self, record: &'a Record) {
        self.input(&record.input);
        for (at, event) in record.events.iter().enumerate() {
            self.event(event, record.events.get(at + 1));
        }
        self.lines.extend(self.moved.take());
        if matches!(record.input, Input::Reply(_)) {
            if self.step.is_some() {
                self.tell("(silent)", "");
            }
            self.proposed.clear();
        }
    }

    fn input(&mut self, input: &'a Input) {
        match input {
            Input::Reply(reply) => self.proposed = reply.calls.iter().collect(),
            Input::UserMessage { text } => self.note(format!("the user: {}", quoted(text, TEXT))),
            Input::Fact { name, .. } => self.note(format!("the host speaks of `{}`", clean(name))),
            Input::Time { ms, waiting } => {
                let of_whom = if *waiting { " while a person is waited for" } else { "" };
                self.note(format!("{} go by{of_whom}", words::duration(*ms)));
            }
            Input::Cancel => self.note("the caller wants no more".to_owned()),
            Input::ProviderFailed { message, .. } => self.note(format!("no reply: {}", clean(&cut(message, TEXT)))),
            Input::Admission { yes } => {
                self.note(format!("a person {} the run", if *yes { "admits" } else { "does not admit" }));
            }
            Input::Start | Input::Grant { .. } | Input::Result { .. } | Input::Approval { .. } => {}
        }
    }

    /// A line beside a step, with the step in front where it was not told yet.
    fn tell(&mut self, who: impl Into<String>, what: impl Into<String>) {
        let step = self.step.take().unwrap_or_default();
        self.lines.push(Line::Call { step, who: who.into(), what: what.into(), hint: String::new() });
    }

    fn hinted(&mut self, who: String, what: String, hint: &str) {
        let step = self.step.take().unwrap_or_default();
        self.lines.push(Line::Call { step, who, what, hint: clean(hint) });
    }

    /// A line of its own.
    fn note(&mut self, what: String) {
        self.lines.push(Line::Note(what));
    }

    fn event(&mut self, event: &'a Event, next: Option<&Event>) {
        if !matches!(event, Event::CallJudged { .. }) {
            self.lines.extend(self.moved.take());
        }
        match event {
            Event::RunStarted { workflow, ceiling } => {
                self.lines.push(Line::Head(format!("{}: at most {}", clean(workflow), words::steps(*ceiling))));
            }
            Event::StepCharged { step, stage, stage_step, budget } => {
                self.stage = clean(stage);
                self.step = Some(format!("{step} {} {stage_step}/{budget}", self.stage));
            }
            Event::TextSaid { text } => {
                self.said.clone_from(text);
                self.tell(format!("says {}", quoted(text, TEXT)), "");
            }
            Event::CallJudged { call, tool, resolved, judged } => self.judged(*call, tool, resolved.as_deref(), judged),
            Event::ApprovalGiven { yes, .. } => {
                self.note(format!("the answer is {}", if *yes { "yes" } else { "no" }));
            }
            Event::CallFinished { call, tool, .. } => self.finished(*call, tool, event),
            Event::HintGiven { name, text } => {
                let step = self.step.take().unwrap_or_default();
                self.lines.push(Line::Told { step, text: format!("told ({}): {}", clean(name), clean(text)) });
            }
            Event::GuardFired { guard, answer, observed, .. } => self.guard(guard, answer, *observed),
            Event::RuleFired { rule, action } => self.rule(rule, action),
            Event::RuleNoted { rule, note } => self.note(format!("rule {}: {}", clean(rule), clean(note))),
            Event::FactSet { fact, value } => {
                self.note(format!("fact {} = {}", clean(fact), cut(&clean(value), TEXT)));
            }
            Event::FactCleared { fact } => self.note(format!("fact {} is unset", clean(fact))),
            Event::BudgetGranted { stage, steps, by } => {
                let (stage, by) = (clean(stage), clean(by));
                self.note(format!("{by} grants {stage} {steps} more {}", words::plural("step", *steps)));
            }
            Event::BudgetExtended { stage, steps, rule } => {
                let (stage, rule) = (clean(stage), clean(rule));
                self.note(format!("{stage} gets {steps} more {} (rule {rule})", words::plural("step", *steps)));
            }
            other => self.way(other, next),
        }
    }

    /// Events about the way through the stages.
    fn way(&mut self, event: &Event, next: Option<&Event>) {
        match event {
            Event::ChildOpened { tool, workflow, depth, grant, task, .. } => {
                self.flush_step();
                let most = grant.map_or_else(|| "its own steps".to_owned(), |n| format!("at most {}", words::steps(n)));
                let deep = if *depth > 1 { format!(", {depth} deep") } else { String::new() };
                self.outer.push(std::mem::take(&mut self.stage));
                self.lines.push(Line::Opens(format!(
                    "[> {} runs {}, {most}{deep}: {}",
                    clean(tool),
                    clean(workflow),
                    quoted(task, TEXT)
                )));
            }
            Event::ChildClosed { call, outcome, limit, steps, text } => {
                self.flush_step();
                // What the call came to is said here.
                self.told.push(*call);
                self.stage = self.outer.pop().unwrap_or_default();
                let limit = limit.as_ref().map(words::limit).unwrap_or_default();
                let text = if self.has_said(text) { String::new() } else { format!(": {}", quoted(text, 2 * TEXT)) };
                self.lines.push(Line::Closes(format!("<] {outcome}{limit} after {}{text}", words::steps(*steps))));
            }
            Event::StageLeft { stage, product } => {
                if self.has_said(product) {
                    self.product.clear();
                } else {
                    self.product.clone_from(product);
                }
                if !matches!(next, Some(Event::StageEntered { .. } | Event::RunEnded { .. })) {
                    let product = self.take_product();
                    self.note(format!("{} is left{product}", clean(stage)));
                }
            }
            Event::StageEntered { stage, number, of, left, by } => {
                let by_call = *by == EnteredBy::Call;
                if !by_call {
                    self.flush_step();
                }
                self.stage = clean(stage);
                let product = self.take_product();
                let (left, by) = (words::steps(*left), words::entered_by(by));
                let way = Line::Way(format!("-> {} ({number} of {of}), {left} left: {by}{product}", self.stage));
                if by_call {
                    self.moved = Some(way);
                } else {
                    self.lines.push(way);
                }
            }
            Event::RolledBack { stage, by, dropped } => {
                let dropped = u32::try_from(*dropped).unwrap_or(u32::MAX);
                self.lines.push(Line::Way(format!(
                    "<- back to the start of {} ({}): {dropped} {} dropped",
                    clean(stage),
                    clean(by),
                    words::plural("message", dropped)
                )));
            }
            Event::ViewCut { by, results } => {
                let results = u32::try_from(*results).unwrap_or(u32::MAX);
                let noun = words::plural("result", results);
                self.note(format!("{results} {noun} left the view ({})", clean(by)));
            }
            Event::Paused { outcome, question } => {
                self.flush_step();
                let question =
                    if question.is_empty() { String::new() } else { format!(": {}", quoted(question, TEXT)) };
                self.lines.push(Line::Way(format!("|| pauses, {outcome}{question}")));
            }
            Event::Resumed => self.lines.push(Line::Way("|| goes on".to_owned())),
            Event::RunEnded { outcome, limit, text } => {
                self.flush_step();
                let limit = limit.as_ref().map(words::limit).unwrap_or_default();
                let text = if self.has_said(text) { String::new() } else { format!(": {}", quoted(text, 2 * TEXT)) };
                self.lines.push(Line::Way(format!("== {outcome}{limit}{text}")));
            }
            _ => {}
        }
    }

    /// A reply that held nothing to tell stands as a line of its own before the run moves.
    fn flush_step(&mut self) {
        if self.step.is_some() {
            self.tell("(silent)", "");
        }
    }

    /// Whether a text was told as what the model said; what it said may have been cut.
    fn has_said(&self, text: &str) -> bool {
        let cut = self.said.strip_suffix('…');
        text.trim() == self.said || cut.is_some_and(|head| text.trim_start().starts_with(head))
    }

    fn take_product(&mut self) -> String {
        match std::mem::take(&mut self.product) {
            product if product.is_empty() => String::new(),
            product => format!(", with {}", quoted(&product, TEXT)),
        }
    }

    fn judged(&mut self, call: CallNo, tool: &str, resolved: Option<&str>, judged: &'a Judged) {
        let who = self.call_words(tool, resolved);
        self.verdict(call, tool, who, judged);
        self.lines.extend(self.moved.take());
    }

    fn verdict(&mut self, call: CallNo, tool: &str, who: String, judged: &'a Judged) {
        match judged {
            Judged::Run => {
                let what = match self.results.get(&call) {
                    Some((result, Event::CallFinished { failed, chars, cut_to, same, .. })) => {
                        self.told.push(call);
                        words::result(result, *failed, *chars, *cut_to, *same)
                    }
                    // The control tool is answered by the engine, a nested run by its own story.
                    _ if tool == "advance" => "asks to go on".to_owned(),
                    _ => "runs".to_owned(),
                };
                self.tell(who, what);
            }
            Judged::Reuse { of, .. } => self.tell(who, format!("answered from memory (call {})", of.0)),
            Judged::Refuse { check, violation, by, hint } => {
                let counted = if *violation { "refused!" } else { "refused" };
                let why = words::refusal(*check, by.as_deref(), &self.stage);
                self.hinted(who, format!("{counted} {why}"), hint);
            }
            Judged::Ask { by, question } => {
                self.tell(who, format!("asks a person ({}): {}", clean(by), quoted(question, TEXT)));
            }
        }
    }

    /// `tool(args)`, the arguments taken from the reply.
    fn call_words(&mut self, tool: &str, resolved: Option<&str>) -> String {
        let at =
            self.proposed.iter().position(|c| c.tool == tool).or(if self.proposed.is_empty() { None } else { Some(0) });
        let raw = at.map(|at| self.proposed.remove(at).arguments.as_str()).unwrap_or_default();
        let resolved = resolved.map(|name| format!(" = {}", clean(name))).unwrap_or_default();
        cut(&format!("{}{}{resolved}", clean(tool), arguments(raw)), CALL)
    }

    fn finished(&mut self, call: CallNo, tool: &str, event: &Event) {
        if let Some(at) = self.told.iter().position(|told| *told == call) {
            self.told.swap_remove(at);
            return;
        }
        let Event::CallFinished { failed, chars, cut_to, same, .. } = event else { return };
        let what = match self.results.get(&call) {
            Some((result, _)) => words::result(result, *failed, *chars, *cut_to, *same),
            None if *failed => "no result".to_owned(),
            None => format!("-> {chars} {}", words::plural("character", u32::try_from(*chars).unwrap_or(u32::MAX))),
        };
        self.tell(clean(tool), what);
    }

    fn guard(&mut self, guard: &str, answer: &str, observed: bool) {
        let guard = clean(guard);
        match (answer, observed) {
            // The call's own line says it.
            ("reuse" | "refuse", false) => {}
            (answer, false) => self.note(format!("guard {guard}: {}", clean(&answer.replace('_', " ")))),
            (answer, true) => {
                self.note(format!("guard {guard} would: {} (observed)", clean(&answer.replace('_', " "))))
            }
        }
    }

    fn rule(&mut self, rule: &str, action: &str) {
        // A verdict's own line says `deny` and `ask`; the events that follow say the rest, but not by which rule.
        if !matches!(action, "deny" | "ask") {
            self.note(format!("rule {}: {}", clean(rule), clean(action)));
        }
    }
}
