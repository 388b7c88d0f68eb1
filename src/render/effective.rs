//! Every value that holds in a table, defaults filled in, as a table again: it loads, and means the same.

use crate::table::messages::MESSAGES;
use crate::table::model::{
    Action, Allowed, Batch, Effect, Expose, FactDecl, FactFrom, FactValue, Guarantee, Guards, Keep, LeaveBy, Mode,
    Model, Next, OnExhausted, Rule, Spend, Stage, ToolEntry,
};
use crate::table::names::{FactId, NamePattern, StageId};
use crate::table::script::Text;
use std::fmt::Write;

/// What `check --show` prints.
#[must_use]
pub fn table(table: &Model) -> String {
    let mut out = Lines { text: String::new(), indent: 0 };
    out.put("stagekeeper", "1");
    out.put("workflow", &scalar(table.workflow()));
    out.put_some("about", table.about.as_deref().map(scalar));
    out.put_or("instructions", table.instructions.as_ref().map(said), "the message `instructions`");
    out.put("expose", if table.expose == Expose::All { "all" } else { "stage" });
    out.put("batch", if table.batch == Batch::Partial { "partial" } else { "atomic" });
    limits(&mut out, table);
    if let Some(finish) = &table.finish {
        out.section("finish", |out| {
            out.put("success", &list(finish.success.iter().map(|m| scalar(m))));
            out.put("failure", &list(finish.failure.iter().map(|m| scalar(m))));
            out.put("window", &finish.window.to_string());
        });
    }
    if !table.tools.is_empty() {
        out.section("tools", |out| table.tools.iter().for_each(|t| tool(out, t, table)));
    }
    if !table.facts.is_empty() {
        out.section("facts", |out| table.facts.iter().for_each(|f| fact(out, f)));
    }
    rules(&mut out, table, None);
    out.section("stages", |out| {
        for (i, s) in table.stages.iter().enumerate() {
            out.section(&scalar(&s.name), |out| stage(out, s, StageId(u16::try_from(i).unwrap_or(u16::MAX)), table));
        }
    });
    guarantees(&mut out, table);
    out.section("messages", |out| {
        for (message, text) in MESSAGES.iter().zip(&table.messages) {
            out.put(message.name, &said(text));
        }
    });
    out.text
}

/// What a limit says that is not there.
const NO_LIMIT: &str = "no limit";

/// Lines of YAML at an indentation.
struct Lines {
    text: String,
    indent: usize,
}

impl Lines {
    fn put(&mut self, key: &str, value: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{:1$}{key}: {value}", "", self.indent);
    }

    fn put_some(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.put(key, &value);
        }
    }

    /// A value, or a comment that says what its absence means.
    fn put_or(&mut self, key: &str, value: Option<String>, absent: &str) {
        match value {
            Some(value) => self.put(key, &value),
            None => self.put(&format!("# {key}"), absent),
        }
    }

    fn section(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.text, "{:1$}{key}:", "", self.indent);
        self.indent += 2;
        fill(self);
        self.indent -= 2;
    }
}

fn limits(out: &mut Lines, table: &Model) {
    let limits = &table.limits;
    out.section("limits", |out| {
        out.put("calls_per_step", &limits.calls_per_step.to_string());
        out.put_or("max_calls", limits.max_calls.map(|n| n.to_string()), NO_LIMIT);
        out.put_or("max_tokens", limits.max_tokens.map(|n| n.to_string()), NO_LIMIT);
        let cost = limits.max_cost_micros.map(|n| format!("{}.{:06}", n / 1_000_000, n % 1_000_000));
        out.put_or("max_cost", cost, NO_LIMIT);
        out.put_or("max_time", limits.max_time_ms.map(duration), NO_LIMIT);
        out.put("waiting_counts", &limits.waiting_counts.to_string());
        out.put("user_turns", &limits.user_turns.to_string());
        out.put("depth", &limits.depth.to_string());
        out.put("reentry", &limits.reentry.to_string());
    });
}

fn tool(out: &mut Lines, tool: &ToolEntry, table: &Model) {
    out.section(&scalar(tool.name.as_str()), |out| {
        let effect = match tool.effect {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Poll => "poll",
            Effect::Stateful => "stateful",
        };
        out.put("effect", effect);
        out.put_or("max_calls", tool.max_calls.map(|n| n.to_string()), NO_LIMIT);
        out.put("repeats", &tool.repeats.to_string());
        requires(out, &tool.requires, table);
        out.put("approval", if tool.approval { "always" } else { "never" });
        out.put("idempotent", &tool.idempotent.to_string());
        out.put_some("ignore_args", some(&tool.ignore_args, |a| scalar(a)));
        out.put_some("mask", some(&tool.mask, |r| scalar(r.as_str())));
        out.put_or("max_chars", tool.max_chars.map(|n| n.to_string()), NO_LIMIT);
        out.put_or("failed_when", tool.failed_when.as_ref().map(|c| scalar(c.source())), "as the host says");
        out.put_or("timeout", tool.timeout_ms.map(duration), "the runner's");
        out.put_some("every", tool.every_ms.map(duration));
        out.put_some("until", tool.until.as_ref().map(|c| scalar(c.source())));
        out.put_some("aliases", some(&tool.aliases, |a| scalar(a)));
        if let Some(nested) = &tool.nested {
            out.put("workflow", &scalar(&nested.file));
            out.put_some("task", nested.task.as_ref().map(said));
            out.put("spend", if nested.spend == Spend::Own { "own" } else { "parent" });
        }
        out.put_some("commands", tool.commands.as_ref().map(|all| list(all.iter().map(|c| scalar(c)))));
    });
}

fn fact(out: &mut Lines, fact: &FactDecl) {
    out.section(&scalar(&fact.name), |out| {
        let from = match &fact.from {
            FactFrom::Task => "task",
            FactFrom::User => "user",
            FactFrom::Result(_) => "result",
            FactFrom::Host => "host",
        };
        out.put("from", from);
        if let FactFrom::Result(tools) = &fact.from {
            out.put("tool", &names(tools));
        }
        match &fact.value {
            FactValue::Match(regex) => out.put("match", &scalar(regex.as_str())),
            FactValue::Value(value) => out.put("value", &scalar(value.source())),
            FactValue::Whole => {}
        }
        let keep = match fact.keep {
            Keep::First => "first",
            Keep::Last => "last",
            Keep::All => "all",
        };
        out.put("keep", keep);
        if !fact.cleared_by.is_empty() {
            out.put("cleared_by", &names(&fact.cleared_by));
        }
    });
}

fn stage(out: &mut Lines, stage: &Stage, id: StageId, table: &Model) {
    out.put("goal", &said(&stage.goal));
    let allowed = match &stage.allowed {
        Allowed::All => "all".to_owned(),
        Allowed::These { list, .. } => names(list),
    };
    out.put("allowed_tools", &allowed);
    out.put("max_steps", &stage.max_steps.to_string());
    out.put_or("max_calls", stage.max_calls.map(|n| n.to_string()), NO_LIMIT);
    requires(out, &stage.requires, table);
    let next = match stage.next {
        Next::Stage(next) => stage_name(next, table),
        Next::End => "end".to_owned(),
        Next::Back => "back".to_owned(),
    };
    out.put("next", &next);
    let on_exhausted = match stage.on_exhausted {
        OnExhausted::Next => "next".to_owned(),
        OnExhausted::End => "end".to_owned(),
        OnExhausted::RetryFresh => "retry_fresh".to_owned(),
        OnExhausted::Stage(other) => stage_name(other, table),
    };
    out.put("on_exhausted", &on_exhausted);
    out.put("leave_by", &leave_by(stage.leave_by));
    out.put("conversation", &stage.conversation.to_string());
    out.put("aside", &stage.aside.to_string());
    out.put("approval", if stage.approval { "always" } else { "never" });
    out.put_or("model", stage.model.as_deref().map(scalar), "the run's");
    if !stage.hints.is_empty() {
        out.section("hints", |out| stage.hints.iter().for_each(|(t, text)| out.put(&scalar(t.as_str()), &said(text))));
    }
    rules(out, table, Some(id));
    out.section("guards", |out| guards(out, &stage.guards));
}

fn guards(out: &mut Lines, guards: &Guards) {
    let word = |mode: Mode| match mode {
        Mode::Off => "off",
        Mode::Observe => "observe",
        Mode::On => "on",
    };
    out.put("duplicate", &format!("{{ mode: {} }}", word(guards.duplicate)));
    let g = &guards.cycle;
    out.put("cycle", &format!("{{ mode: {}, hint: {}, refuse: {} }}", word(g.mode), g.hint, g.refuse));
    let g = &guards.no_progress;
    out.put(
        "no_progress",
        &format!("{{ mode: {}, hint: {}, leave: {}, close: {} }}", word(g.mode), g.hint, g.leave, g.close),
    );
    let g = &guards.errors;
    out.put("errors", &format!("{{ mode: {}, hint: {}, leave: {} }}", word(g.mode), g.hint, g.leave));
    let g = &guards.same_tool;
    let in_a_row = if g.in_a_row == 0 { String::new() } else { format!(", in_a_row: {}", g.in_a_row) };
    out.put("same_tool", &format!("{{ mode: {}{in_a_row} }}", word(g.mode)));
    let g = &guards.conservative;
    let allow = if g.proven { "proven".to_owned() } else { names(&g.allow) };
    let deny = if g.deny.is_empty() { String::new() } else { format!(", deny: {}", names(&g.deny)) };
    out.put("conservative", &format!("{{ mode: {}, below: {}, allow: {allow}{deny} }}", word(g.mode), g.below));
    let g = &guards.violations;
    let then = if g.then_end { "end" } else { "rollback" };
    out.put(
        "violations",
        &format!(
            "{{ mode: {}, in_a_row: {}, then: {then}, max_rollbacks: {} }}",
            word(g.mode),
            g.in_a_row,
            g.max_rollbacks
        ),
    );
}

fn rules(out: &mut Lines, table: &Model, stage: Option<StageId>) {
    let mut of = table.rules.iter().filter(|r| r.stage == stage).peekable();
    if of.peek().is_none() {
        return;
    }
    out.section("rules", |out| of.for_each(|r| rule(out, r, table)));
}

fn rule(out: &mut Lines, rule: &Rule, table: &Model) {
    let _ = writeln!(out.text, "{:1$}- name: {2}", "", out.indent, scalar(&rule.name));
    out.indent += 2;
    out.put("at", rule.at.as_str());
    if !rule.tools.is_empty() {
        out.put("tool", &names(&rule.tools));
    }
    out.put_some("when", rule.when.as_ref().map(|c| scalar(c.source())));
    match &rule.action {
        Action::Hint => {}
        Action::Deny(text) => out.put("deny", &said(text)),
        Action::Ask(text) => out.put("ask", &said(text)),
        Action::Goto(to) => out.put("goto", &stage_name(*to, table)),
        Action::Set(facts) => {
            out.section("set", |out| {
                facts.iter().for_each(|(fact, value)| out.put(&fact_name(*fact, table), &scalar(value.source())));
            });
        }
        Action::Extend(stage, steps) => {
            out.put("extend", &format!("{{ stage: {}, steps: {steps} }}", stage_name(*stage, table)));
        }
        Action::End(completed) => out.put("end", if *completed { "completed" } else { "failed" }),
        Action::Forget(last) => out.put("forget", &last.to_string()),
    }
    out.put_some("hint", rule.hint.as_ref().map(said));
    out.indent -= 2;
}

fn guarantees(out: &mut Lines, table: &Model) {
    if table.guarantees.is_empty() {
        return;
    }
    out.section("guarantees", |out| {
        for guarantee in &table.guarantees {
            let (key, value) = match guarantee {
                Guarantee::Never { tool, before } => {
                    ("never", format!("{{ tool: {}, before: {} }}", scalar(tool.as_str()), scalar(before.as_str())))
                }
                Guarantee::AtMost { tool, times } => {
                    ("at_most", format!("{{ tool: {}, times: {times} }}", scalar(tool.as_str())))
                }
                Guarantee::Within { steps, tree } => {
                    ("within", format!("{{ steps: {steps}, of: {} }}", if *tree { "tree" } else { "run" }))
                }
                Guarantee::Reaches(stages) => ("reaches", list(stages.iter().map(|s| stage_name(*s, table)))),
                Guarantee::OnlyIn { tool, stage } => {
                    ("only_in", format!("{{ tool: {}, stage: {} }}", scalar(tool.as_str()), stage_name(*stage, table)))
                }
            };
            out.put(&format!("- {key}"), &value);
        }
    });
}

fn requires(out: &mut Lines, required: &[(FactId, Text)], table: &Model) {
    if !required.is_empty() {
        out.section("requires", |out| {
            required.iter().for_each(|(fact, text)| out.put(&fact_name(*fact, table), &said(text)));
        });
    }
}

fn leave_by(by: LeaveBy) -> String {
    let ways = [(by.answer, "answer"), (by.advance, "advance"), (by.call, "call")];
    list(ways.into_iter().filter(|(on, _)| *on).map(|(_, way)| way.to_owned()))
}

fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

fn stage_name(stage: StageId, table: &Model) -> String {
    table.stages.get(stage.index()).map(|s| scalar(&s.name)).unwrap_or_default()
}

fn fact_name(fact: FactId, table: &Model) -> String {
    table.facts.get(fact.index()).map(|f| scalar(&f.name)).unwrap_or_default()
}

fn names(names: &[NamePattern]) -> String {
    list(names.iter().map(|n| scalar(n.as_str())))
}

fn some<T>(items: &[T], show: impl Fn(&T) -> String) -> Option<String> {
    (!items.is_empty()).then(|| list(items.iter().map(show)))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn said(text: &Text) -> String {
    scalar(text.source())
}

/// A YAML scalar that reads as exactly this text: bare where it is a plain word, else in double quotes.
fn scalar(text: &str) -> String {
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if bare {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_bare_and_all_else_is_quoted() {
        assert_eq!(scalar("read_file"), "read_file");
        assert_eq!(scalar("off"), "\"off\"");
        assert_eq!(scalar("12"), "\"12\"");
        assert_eq!(scalar("a: \"b\"\n\u{7}"), "\"a: \\\"b\\\"\\n\\u0007\"");
    }

    #[test]
    fn durations_are_written_in_the_widest_unit_that_fits() {
        assert_eq!(duration(90_000), "90s");
        assert_eq!(duration(7_200_000), "2h");
        assert_eq!(duration(600_000), "10m");
    }
}
