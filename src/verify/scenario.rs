//! A path of the proof, written down as a scenario that `stagekeeper test` plays.

use super::plan::Plan;
use super::sample;
use super::state::{Act, CameTo, Person, Shape, What};
use crate::engine::roster::ADVANCE;
use crate::table::FactId;
use crate::table::model::FactDecl;
use crate::testing::Played;
use serde_json::Value;
use std::fmt::Write as _;

/// A tool that no table names.
const MADE_UP: &str = "made_up_tool";

/// The scenario under way.
struct Writer<'a> {
    plan: &'a Plan,
    task: String,
    entries: Vec<String>,
    /// The reply under way: its text and its calls.
    reply: Option<(Shape, Vec<String>)>,
    /// What people answer to the calls of the reply under way.
    people: Vec<Person>,
    /// Fresh numbers for arguments and results.
    fresh: u32,
    users: u32,
    /// The arguments say which of a tool's different calls this is.
    exact: bool,
}

/// The script, the task and the assumptions of a path. `expect` is added by [`with_expectations`].
pub fn write(plan: &Plan, path: &[Act], sentence: &str, exact: bool) -> String {
    let mut writer = Writer {
        plan,
        task: "Do the task.".to_owned(),
        entries: Vec::new(),
        reply: None,
        people: Vec::new(),
        fresh: 0,
        users: 0,
        exact,
    };
    for act in path {
        writer.act(&act.what);
    }
    writer.close_reply();
    let mut out = format!("scenario: {}\ntable: {}\n", quoted(sentence), quoted(&plan.table.source.file));
    let _ = writeln!(out, "task: {}", quoted(&writer.task));
    let assumed = assumptions(plan, path);
    if !assumed.is_empty() {
        let _ = writeln!(out, "assume: {{ {} }}", assumed.join(", "));
    }
    out.push_str("script:\n");
    for entry in &writer.entries {
        let _ = writeln!(out, "  - {entry}");
    }
    if writer.entries.is_empty() {
        out = out.replace("script:\n", "script: []\n");
    }
    out
}

/// Adds what the engine did, so that the scenario passes as long as the violation is there.
pub fn with_expectations(scenario: &str, played: &Played) -> String {
    let summary = &played.summary;
    let mut expect = vec![format!("steps: {}", summary.steps)];
    if let Some(outcome) = summary.outcome {
        expect.insert(0, format!("outcome: {outcome}"));
    }
    let run = summary.tools.iter().filter(|(tool, t)| t.run > 0 && *tool != ADVANCE);
    let run: Vec<String> = run.map(|(tool, t)| format!("{}: {}", quoted(tool), t.run)).collect();
    if !run.is_empty() {
        expect.push(format!("run: {{ {} }}", run.join(", ")));
    }
    format!("{scenario}expect: {{ {} }}\n", expect.join(", "))
}

fn assumptions(plan: &Plan, path: &[Act]) -> Vec<String> {
    let mut known: Vec<(String, bool)> = Vec::new();
    for (rule, holds) in path.iter().flat_map(|act| &act.asked) {
        let name = plan.rule_name(*rule);
        if plan.is_free(*rule) && !known.iter().any(|(k, _)| *k == name) {
            known.push((name, *holds));
        }
    }
    known.into_iter().map(|(rule, holds)| format!("{}: {holds}", quoted(&rule))).collect()
}

impl Writer<'_> {
    fn act(&mut self, what: &What) {
        match what {
            What::Start(facts) => self.task = self.text_for(facts, "Do the task."),
            What::Reply(shape) => {
                self.close_reply();
                self.reply = Some((*shape, Vec::new()));
            }
            What::Call { tool, identity, malformed, came_to, person, .. } => {
                let name = tool.map_or(MADE_UP.to_owned(), |t| self.plan.roster.name(t).to_string());
                self.call(&name, *identity, *malformed, came_to.as_ref());
                self.people.extend(*person);
            }
            What::Advance => {
                let call = format!("tool: {ADVANCE}, args: {{ summary: done }}");
                self.add_call(call);
            }
            What::Result { came_to, person, .. } => {
                self.people.extend(*person);
                self.result(came_to);
            }
            What::Settle(violation) => {
                if *violation {
                    self.call(MADE_UP, 0, false, None);
                }
                self.close_reply();
            }
            What::User(facts, too_often) => self.user(facts, *too_often),
            What::Host(fact, set) => {
                let name = self.fact(*fact).map(|f| f.name.to_string()).unwrap_or_default();
                self.between(format!("fact: {{ {}: {} }}", quoted(&name), if *set { "set" } else { "null" }));
            }
            What::Time => {
                let seconds = self.plan.table.limits.max_time_ms.unwrap_or_default().div_ceil(1_000);
                self.between(format!("wait: {seconds}s"));
            }
            What::Cancel => self.between("cancel".to_owned()),
            What::Fails => self.between("fails: 500".to_owned()),
            What::Overflow => {
                self.between("fails: overflow".to_owned());
                self.between("fails: overflow".to_owned());
            }
            // Scenarios have no grants; runs with grants are not looked for.
            What::Grant(..) => {}
            What::Admit(yes) => self.between(format!("approve: {}", if *yes { "yes" } else { "no" })),
        }
    }

    fn between(&mut self, entry: String) {
        self.close_reply();
        self.entries.push(entry);
    }

    fn user(&mut self, facts: &[FactId], too_often: bool) {
        let text = quoted(&self.text_for(facts, "Go on."));
        let most = self.plan.table.limits.user_turns;
        let times = if too_often { most.saturating_sub(self.users) + 1 } else { 1 };
        self.users += times;
        let entry = match times {
            1 => format!("user: {text}"),
            _ => format!("repeat: {{ times: {times}, script: [{{ user: {text} }}] }}"),
        };
        self.between(entry);
    }

    fn call(&mut self, tool: &str, identity: u8, malformed: bool, came_to: Option<&CameTo>) {
        self.fresh += 1;
        let number = if self.exact { u32::from(identity) } else { self.fresh };
        let mut call = format!("tool: {}, ", quoted(tool));
        if malformed {
            call.push_str("arguments: \"{\"");
        } else {
            let _ = write!(call, "args: {{ n: {number} }}");
        }
        if let Some(came_to) = came_to.filter(|c| !c.from_memory) {
            let _ = write!(call, ", result: {}", self.answer(came_to));
        }
        self.add_call(call);
    }

    fn add_call(&mut self, call: String) {
        if let Some((_, calls)) = &mut self.reply {
            calls.push(call);
        }
    }

    /// The result of the first call that has none.
    fn result(&mut self, came_to: &CameTo) {
        if came_to.from_memory {
            return;
        }
        let answer = self.answer(came_to);
        let Some((_, calls)) = &mut self.reply else { return };
        let open = calls.iter_mut().find(|call| !call.contains(", result: ") && !call.ends_with(OPEN));
        if let Some(call) = open {
            let _ = write!(call, ", result: {answer}");
        }
    }

    fn answer(&mut self, came_to: &CameTo) -> String {
        let plain = if self.exact { format!("result {}", came_to.print) } else { format!("result {}", self.fresh) };
        if came_to.unknown {
            return "{ hang: true }".to_owned();
        }
        if came_to.failed {
            return format!("{{ error: {} }}", quoted(&plain));
        }
        quoted(&self.text_for(&came_to.learned, &plain))
    }

    fn close_reply(&mut self) {
        let Some((shape, calls)) = self.reply.take() else { return };
        let text = self.said(shape);
        let entry = match (calls.as_slice(), shape) {
            ([], Shape { calls: true, .. }) => format!("call: {{ tool: {MADE_UP}, arguments: \"{{\" }}"),
            ([], Shape { declined: true, .. }) => "declines".to_owned(),
            ([], Shape { cut: true, .. }) if text.is_empty() => "cut: true".to_owned(),
            ([], Shape { cut: true, .. }) => format!("cut: {}", quoted(&text)),
            ([], _) if text.is_empty() => "empty".to_owned(),
            ([], _) => format!("text: {}", quoted(&text)),
            ([call], _) => format!("call: {{ {call} }}"),
            (calls, _) => {
                format!("calls: [{}]", calls.iter().map(|c| format!("{{ {c} }}")).collect::<Vec<_>>().join(", "))
            }
        };
        self.entries.push(entry);
        for person in std::mem::take(&mut self.people) {
            self.entries.push(match person {
                Person::Yes => "approve: yes".to_owned(),
                Person::No => "approve: no".to_owned(),
                Person::Silent => "cancel".to_owned(),
            });
        }
    }

    fn said(&mut self, shape: Shape) -> String {
        if !shape.text {
            return String::new();
        }
        self.fresh += 1;
        let plain = format!("text {}", self.fresh);
        let finish = self.plan.table.finish.as_ref();
        let markers = match (shape.marker, finish) {
            (Some(true), Some(finish)) => finish.success.clone(),
            (Some(false), Some(finish)) => finish.failure.iter().take(1).cloned().collect(),
            _ => Vec::new(),
        };
        markers.iter().cloned().chain([plain]).collect::<Vec<_>>().join("\n")
    }

    fn fact(&self, fact: FactId) -> Option<&FactDecl> {
        self.plan.table.facts.get(fact.index())
    }

    fn text_for(&self, facts: &[FactId], plain: &str) -> String {
        let facts: Vec<&FactDecl> = facts.iter().filter_map(|f| self.fact(*f)).collect();
        sample::text(&self.plan.table, &facts, plain)
    }
}

/// How a call ends that gets no result: its arguments are malformed.
const OPEN: &str = "arguments: \"{\"";

/// A text as YAML: as it is where that is safe, else as a JSON string.
fn quoted(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'))
        && !text.ends_with(' ')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "yes" | "no" | "true" | "false" | "null" | "on" | "off" | "y" | "n"
        );
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}
