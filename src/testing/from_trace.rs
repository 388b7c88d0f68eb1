//! A recorded run as a scenario that plays the same, and a first table from one.

use super::scenario::Scenario;
use crate::engine::event::{Event, Judged};
use crate::engine::input::{CallNo, Finish, Input, Reply, Status, ToolResult};
use crate::engine::session::Record;
use crate::table::model::Effect;
use crate::table::{Model, StageTable};
use crate::trace::{Header, Stamped, Trace};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Headroom of a budget made from what was spent, as `limits.headroom` has it by default.
const HEADROOM: &str = "1.2";
/// Longest name of a stage, in characters.
const STAGE_NAME: usize = 40;

/// A scenario file that plays what was recorded: the same replies, results, answers of people and facts.
///
/// `path` is that of the table as the scenario names it. Token counts have no place in a scenario: a run that a
/// token limit closed plays on.
#[must_use]
pub fn scenario_of(trace: &Trace, table: &StageTable, sentence: &str, path: &str) -> String {
    let results = results(trace);
    let mut out = format!("scenario: {}\ntable: {}\n", quoted(sentence), quoted(path));
    // Time counts only where a limit of the table counts it.
    let counts = table.limits.max_time_ms.is_some();
    let _ = writeln!(out, "task: {}", quoted(&trace.header.task));
    if !trace.header.facts.is_empty() {
        let facts: Vec<String> =
            trace.header.facts.iter().map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
        let _ = writeln!(out, "facts: {{ {} }}", facts.join(", "));
    }
    if trace.header.observe {
        out.push_str("observe: true\n");
    }
    let mut script = String::new();
    let mut waited = 0_u64;
    for stamped in &trace.records {
        let Record { input, events } = &stamped.record;
        if let Input::Time { ms, waiting } = input {
            let counted = counts && (!waiting || table.limits.waiting_counts);
            waited = waited.saturating_add(if counted { *ms } else { 0 });
        }
        if waited > 0 && (!matches!(input, Input::Time { .. }) || !events.is_empty()) {
            let _ = writeln!(script, "  - wait: {}ms", std::mem::take(&mut waited));
        }
        let line = match input {
            Input::Reply(reply) => reply_entry(reply, events, &results),
            Input::Approval { yes, .. } | Input::Admission { yes } => format!("approve: {}", yes_or_no(*yes)),
            Input::UserMessage { text } => format!("user: {}", quoted(text)),
            Input::Fact { name, value } => {
                let value = value.as_ref().map_or_else(|| "null".to_owned(), Value::to_string);
                format!("fact: {{ {}: {value} }}", quoted(name))
            }
            Input::Cancel => "cancel".to_owned(),
            Input::ProviderFailed { overflow: true, .. } => "fails: overflow".to_owned(),
            Input::ProviderFailed { .. } => "fails: 503".to_owned(),
            _ => continue,
        };
        let _ = writeln!(script, "  - {line}");
    }
    if script.is_empty() {
        out.push_str("script: []\n")
    } else {
        let _ = write!(out, "script:\n{script}");
    }
    out
}

impl Scenario {
    /// A run of this scenario as a trace, to be drawn, explained and replayed. Assumptions have no place in it.
    #[must_use]
    pub fn trace(&self, table: &StageTable, records: Vec<Record>) -> Trace {
        let mut header = Header::new(table, "scenario", self.task.as_str());
        header.facts = self.facts.iter().cloned().collect();
        header.observe = self.observe;
        let records = (1..).zip(records).map(|(n, record)| Stamped { n, at_ms: 0, record }).collect();
        Trace { header, records, cut: None }
    }
}

fn results(trace: &Trace) -> HashMap<CallNo, &ToolResult> {
    trace
        .records
        .iter()
        .filter_map(|stamped| match &stamped.record.input {
            Input::Result { call, result } => Some((*call, result)),
            _ => None,
        })
        .collect()
}

fn reply_entry(reply: &Reply, events: &[Event], results: &HashMap<CallNo, &ToolResult>) -> String {
    let numbers: Vec<CallNo> = events
        .iter()
        .filter_map(|event| match event {
            Event::CallJudged { call, .. } => Some(*call),
            _ => None,
        })
        .collect();
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        parts.push(format!("text: {}", quoted(&reply.text)));
    }
    let calls: Vec<String> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let mut said = format!("{{ tool: {}, arguments: {}", quoted(&call.tool), quoted(&call.arguments));
            if !call.id.is_empty() {
                let _ = write!(said, ", id: {}", quoted(&call.id));
            }
            if let Some(result) = numbers.get(at).and_then(|no| results.get(no)) {
                let _ = write!(said, ", result: {}", answer(result));
            }
            said + " }"
        })
        .collect();
    match calls.as_slice() {
        [] => {}
        [call] => parts.push(format!("call: {call}")),
        calls => parts.push(format!("calls: [{}]", calls.join(", "))),
    }
    match reply.finish {
        Finish::Stop if parts.is_empty() => return "empty".to_owned(),
        Finish::Stop => {}
        Finish::Length => parts.push("cut: true".to_owned()),
        Finish::Refusal => parts.push("declines: true".to_owned()),
    }
    if let [one] = parts.as_slice() { one.clone() } else { format!("{{ {} }}", parts.join(", ")) }
}

fn answer(result: &ToolResult) -> String {
    match result.status {
        Status::Ok => quoted(&result.text),
        Status::Error => format!("{{ error: {} }}", quoted(&result.text)),
        Status::Unknown => "{ hang: true }".to_owned(),
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// A text as a JSON string, which is YAML as well.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The first event that a play of the scenario gives otherwise than recorded: its number, what was recorded, and what
/// was played.
#[must_use]
pub fn first_difference(trace: &Trace, played: &[Record]) -> Option<(usize, Option<Event>, Option<Event>)> {
    let recorded: Vec<&Event> = trace.records.iter().flat_map(|s| &s.record.events).collect();
    let now: Vec<&Event> = played.iter().flat_map(|r| &r.events).collect();
    (0..recorded.len().max(now.len()))
        .find(|n| recorded.get(*n) != now.get(*n))
        .map(|n| (n + 1, recorded.get(n).map(|e| (*e).clone()), now.get(n).map(|e| (*e).clone())))
}

/// One stage of a first table.
struct Phase {
    tools: IndexSet<String>,
    steps: u32,
}

/// A first table from a run: stages by the tools that were used together, budgets by what was spent. `known` is the
/// recorded table, whose word on the tools is kept.
#[must_use]
pub fn first_table(trace: &Trace, name: &str, known: Option<&StageTable>) -> String {
    first_table_of(&trace.header.run, &used(trace), name, known)
}

/// A first table from any agent's run: `steps` holds the tools that each reply called.
#[must_use]
pub fn first_table_of(run: &str, steps: &[IndexSet<String>], name: &str, known: Option<&StageTable>) -> String {
    let phases = phases(steps);
    let spent: u32 = phases.iter().map(|p| p.steps).sum();
    let mut out = format!(
        "# From run {}: stages by the tools it used together, budgets by the steps it spent ({spent}), and a fifth more.\n\
         stagekeeper: 1\nworkflow: {name}\n\nlimits: {{ headroom: {HEADROOM} }}\n",
        one_line(run)
    );
    let tools: IndexSet<&String> = phases.iter().flat_map(|p| &p.tools).collect();
    if !tools.is_empty() {
        out.push_str("\ntools:          # say what each does to the world: read, write, poll or stateful\n");
        for tool in tools {
            let _ = writeln!(out, "  {}: {{ {} }}", quoted(tool), words_on(known, tool));
        }
    }
    out.push_str("\nstages:\n");
    let mut names = IndexSet::new();
    for phase in &phases {
        let stage = stage_name(phase, &mut names);
        let tools: Vec<String> = phase.tools.iter().map(|t| quoted(t)).collect();
        let _ = write!(
            out,
            "  {stage}:\n    goal: {}\n    allowed_tools: [{}]\n    expected_steps: {}\n",
            quoted(&format!("Use {} as far as the task needs it.", join(&phase.tools))),
            tools.join(", "),
            phase.steps,
        );
    }
    let _ = write!(
        out,
        "  answer:\n    goal: Answer the task from what was found.\n    allowed_tools: []\n    max_steps: 1\n"
    );
    out
}

fn words_on(known: Option<&StageTable>, tool: &str) -> String {
    let entry = known.map(|table| -> &Model { table }).and_then(|table| table.tool_entry(tool));
    let effect = match entry.map(|e| e.effect) {
        Some(Effect::Read) => "read",
        Some(Effect::Write) => "write",
        Some(Effect::Poll) => "poll",
        Some(Effect::Stateful) | None => "stateful",
    };
    let most = entry.and_then(|e| e.max_calls).map(|most| format!(", max_calls: {most}")).unwrap_or_default();
    let approval = if entry.is_some_and(|e| e.approval) { ", approval: always" } else { "" };
    format!("effect: {effect}{most}{approval}")
}

/// The tools that ran in each step, in order. A step without any belongs to the stage before it.
fn used(trace: &Trace) -> Vec<IndexSet<String>> {
    let mut steps: Vec<IndexSet<String>> = Vec::new();
    let mut asked: IndexMap<CallNo, &str> = IndexMap::new();
    for event in trace.records.iter().flat_map(|s| &s.record.events) {
        match event {
            Event::StepCharged { .. } => steps.push(IndexSet::new()),
            Event::CallJudged { call, tool, resolved, judged: Judged::Ask { .. } } => {
                asked.insert(*call, resolved.as_ref().unwrap_or(tool));
            }
            // What a person said no to did not run.
            Event::ApprovalGiven { call, yes: true } => {
                if let Some((step, tool)) = steps.last_mut().zip(asked.get(call)) {
                    step.insert((*tool).to_owned());
                }
            }
            Event::CallJudged { tool, resolved, judged: Judged::Run | Judged::Reuse { .. }, .. } => {
                let tool = resolved.as_ref().unwrap_or(tool);
                if **tool != *crate::engine::roster::ADVANCE
                    && let Some(step) = steps.last_mut()
                {
                    step.insert(tool.to_string());
                }
            }
            _ => {}
        }
    }
    steps
}

/// Tools whose times of use overlap share a stage; each stage lasts until the next one's first tool.
fn phases(steps: &[IndexSet<String>]) -> Vec<Phase> {
    let mut spans: IndexMap<&String, (usize, usize)> = IndexMap::new();
    for (at, tool) in steps.iter().enumerate().flat_map(|(at, tools)| tools.iter().map(move |t| (at, t))) {
        spans.entry(tool).and_modify(|span| span.1 = at).or_insert((at, at));
    }
    let mut merged: Vec<(IndexSet<String>, usize, usize)> = Vec::new();
    for (tool, (from, to)) in spans {
        match merged.last_mut() {
            Some((tools, _, end)) if from <= *end => {
                tools.insert(tool.clone());
                *end = (*end).max(to);
            }
            _ => merged.push((IndexSet::from([tool.clone()]), from, to)),
        }
    }
    let starts: Vec<usize> = merged.iter().map(|m| m.1).collect();
    merged
        .into_iter()
        .enumerate()
        .map(|(n, (tools, from, to))| {
            let begin = if n == 0 { 0 } else { from };
            let end = starts.get(n + 1).copied().unwrap_or(to + 1);
            Phase { tools, steps: u32::try_from(end - begin).unwrap_or(u32::MAX).max(1) }
        })
        .collect()
}

fn stage_name(phase: &Phase, taken: &mut IndexSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let first = phase.tools.first().map_or("", String::as_str);
    let named: String = first.chars().map(plain).take(STAGE_NAME).collect();
    let named = format!("use_{}", named.trim_matches('_'));
    let name = if taken.contains(&named) { format!("{named}_{}", taken.len() + 1) } else { named };
    taken.insert(name.clone());
    name
}

fn join(tools: &IndexSet<String>) -> String {
    // `{{` would begin an expression of a template.
    tools.iter().map(|tool| one_line(tool).replace(['{', '}'], "_")).collect::<Vec<_>>().join(", ")
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}
