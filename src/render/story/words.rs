//! Words of a story: short, on one line, harmless to a terminal.

use crate::engine::event::EnteredBy;
use crate::engine::input::{Status, ToolResult};
use crate::engine::outcome::{Limit, LimitKind};
use crate::engine::verdict::Check;

/// Most characters that are looked at of any text before it is shortened.
const LOOKED_AT: usize = 4096;
/// Most characters of one argument.
const ARGUMENT: usize = 24;

/// Characters, which is what a column counts here.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// At most `most` characters, the last one `…` when something was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// On one line: runs of white space become one blank, control characters become `·`.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for c in text.chars().take(LOOKED_AT) {
        if c.is_whitespace() {
            blank = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
        }
        out.push(if c.is_control() || is_format(c) { '·' } else { c });
    }
    out
}

/// Characters that turn or hide text.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// In quotation marks, shortened.
pub(super) fn quoted(text: &str, most: usize) -> String {
    format!("\"{}\"", cut(&clean(text), most))
}

/// `(path="src", n=3)`: the arguments, each shortened; raw text when they are no JSON object.
pub(super) fn arguments(raw: &str) -> String {
    let short = cut(raw, LOOKED_AT);
    if short.trim().is_empty() {
        return "()".to_owned();
    }
    let Ok(serde_json::Value::Object(map)) = serde_json::from_str::<serde_json::Value>(raw) else {
        return format!("({})", cut(&clean(&short), 2 * ARGUMENT));
    };
    let parts: Vec<String> = map.iter().map(|(name, value)| argument(name, value)).collect();
    format!("({})", parts.join(", "))
}

fn argument(name: &str, value: &serde_json::Value) -> String {
    let value = match value {
        serde_json::Value::String(text) => quoted(text, ARGUMENT),
        other => cut(&clean(&other.to_string()), ARGUMENT),
    };
    format!("{}={value}", cut(&clean(name), ARGUMENT))
}

/// What a call came back with.
pub(super) fn result(result: &ToolResult, failed: bool, chars: usize, cut_to: Option<usize>, same: bool) -> String {
    let mut said = match result.status {
        _ if clean(&result.text).is_empty() => "-> (empty)".to_owned(),
        Status::Unknown => format!("-> unknown: {}", quoted(&result.text, super::TEXT)),
        _ if failed => format!("-> error: {}", quoted(&result.text, super::TEXT)),
        _ => format!("-> {}", quoted(&result.text, super::TEXT)),
    };
    if let Some(to) = cut_to {
        said.push_str(&format!(" ({chars} characters, cut to {to})"));
    }
    if same {
        said.push_str(" (as before)");
    }
    said
}

/// Why a call was refused, in a few words.
pub(super) fn refusal(check: Check, by: Option<&str>, stage: &str) -> String {
    let by = by.filter(|by| *by != check.as_str()).map(clean).unwrap_or_default();
    let named = |what: &str| if by.is_empty() { what.to_owned() } else { format!("{what} ({by})") };
    match check {
        Check::Ended => "no calls any more".to_owned(),
        Check::Malformed => "malformed".to_owned(),
        Check::UnknownTool => "no such tool".to_owned(),
        Check::NotAllowed => format!("not allowed in {stage}"),
        Check::Requires => named("it lacks a fact"),
        Check::Deny => named("a rule denies it"),
        Check::MaxCalls => named("max_calls are used up"),
        Check::Conservative => named("few steps are left"),
        Check::Depth => named("nested too deep"),
        Check::Reentry => named("it stands in the chain already"),
        Check::Duplicate => named("the same call again"),
        Check::Cycle => named("the same calls in turn"),
        Check::SameTool => named("the same tool in a row"),
        Check::CallsPerStep => named("too many calls in one reply"),
        Check::Approval => named("no person said yes"),
    }
}

/// How a stage came to be entered.
pub(super) fn entered_by(by: &EnteredBy) -> String {
    match by {
        EnteredBy::Start => "the run starts".to_owned(),
        EnteredBy::Answer => "the stage before was answered".to_owned(),
        EnteredBy::Advance => "the model advanced".to_owned(),
        EnteredBy::Call => "a call that only this stage allows".to_owned(),
        EnteredBy::Rule(rule) => format!("rule {}", clean(rule)),
        EnteredBy::Exhausted => "the budget before is spent".to_owned(),
        EnteredBy::Guard(guard) => format!("guard {}", clean(guard)),
        EnteredBy::Closing => "closing, one request for the answer".to_owned(),
        EnteredBy::Denied => "a person said no before".to_owned(),
    }
}

/// Which limit closed the run, in brackets.
pub(super) fn limit(limit: &Limit) -> String {
    let Limit { kind, stage, used, of } = limit;
    let what = match kind {
        LimitKind::Stage => format!("steps of {}", clean(stage)),
        LimitKind::Run => "steps of the run".to_owned(),
        LimitKind::Calls => "calls".to_owned(),
        LimitKind::Tokens => "tokens".to_owned(),
        LimitKind::Cost => "millionths of cost".to_owned(),
        LimitKind::Time => "milliseconds".to_owned(),
        LimitKind::Depth => "nested runs".to_owned(),
        LimitKind::UserTurns => "user messages".to_owned(),
    };
    format!(" ({used} of {of} {what})")
}

/// `3 steps`, `1 step`.
pub(super) fn steps(n: u32) -> String {
    format!("{n} {}", plural("step", n))
}

/// The noun, with an `s` unless there is one.
pub(super) fn plural(noun: &str, n: u32) -> String {
    format!("{noun}{}", if n == 1 { "" } else { "s" })
}

/// `90s`, `1500ms`.
pub(super) fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}
