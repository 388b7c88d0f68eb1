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
pub(in crate::render) fn width(text: &str) -> usize {
    text.chars().count()
}

/// At most `most` characters, the last one `…` when something was cut.
pub(in crate::render) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// On one line: runs of white space become one blank, control characters become `·`.
pub(in crate::render) fn clean(text: &str) -> String {
    squeeze(text).trim().to_owned()
}

/// As [`clean`], and a blank at either end stays one.
fn squeeze(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(LOOKED_AT) {
        if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            continue;
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
pub(in crate::render) fn quoted(text: &str, most: usize) -> String {
    format!("\"{}\"", cut(&clean(text), most))
}

/// `(path="src", n=3)`: the arguments as written, each shortened; raw text when they are no JSON object.
pub(in crate::render) fn arguments(raw: &str) -> String {
    if raw.trim().is_empty() {
        return "()".to_owned();
    }
    let inner = match serde_json::from_str::<serde_json::Value>(raw) {
        Ok(serde_json::Value::Object(_)) => raw.trim().strip_prefix('{').and_then(|r| r.strip_suffix('}')),
        _ => None,
    };
    let Some(inner) = inner else {
        return format!("({})", cut(&clean(&cut(raw, LOOKED_AT)), 2 * ARGUMENT));
    };
    // Read as text, not as values: numbers keep all their digits, and keys their order.
    let parts: Vec<String> =
        split(inner, ',').into_iter().filter(|part| !part.trim().is_empty()).map(argument).collect();
    format!("({})", parts.join(", "))
}

/// `"name": value` as `name=value`.
fn argument(part: &str) -> String {
    let sides = split(part, ':');
    let name = sides.first().copied().unwrap_or_default();
    let value = part.get(name.len() + 1..).unwrap_or_default().trim();
    let text = |raw: &str| serde_json::from_str::<String>(raw.trim()).ok();
    let name = text(name).unwrap_or_default();
    let value = text(value)
        .map_or_else(|| cut(&clean(value), ARGUMENT), |text| format!("\"{}\"", cut(&squeeze(&text), ARGUMENT)));
    format!("{}={value}", cut(&clean(&name), ARGUMENT))
}

/// The parts of JSON text between `by`, where it stands outside strings, lists and objects.
fn split(text: &str, by: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth, mut in_string, mut escaped) = (0, 0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ if c == by && depth == 0 => {
                parts.extend(text.get(from..at));
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.extend(text.get(from..));
    parts
}

/// What a call came back with.
pub(in crate::render) fn result(
    result: &ToolResult,
    failed: bool,
    chars: usize,
    cut_to: Option<usize>,
    same: bool,
) -> String {
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
pub(in crate::render) fn refusal(check: Check, by: Option<&str>, stage: &str) -> String {
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
        Check::Grant => named("too few steps for a nested run"),
        Check::Duplicate => named("the same call again"),
        Check::Cycle => named("the same calls in turn"),
        Check::SameTool => named("the same tool in a row"),
        Check::CallsPerStep => named("too many calls in one reply"),
        Check::Approval => named("no person said yes"),
    }
}

/// How a stage came to be entered.
pub(in crate::render) fn entered_by(by: &EnteredBy) -> String {
    match by {
        EnteredBy::Start => "the run starts".to_owned(),
        EnteredBy::Answer => "the stage before was answered".to_owned(),
        EnteredBy::Advance => "the model advanced".to_owned(),
        EnteredBy::Call => "a call that only this stage allows".to_owned(),
        EnteredBy::Rule(rule) => format!("rule {}", clean(rule)),
        EnteredBy::Exhausted => "the stage before is spent".to_owned(),
        EnteredBy::Guard(guard) => format!("guard {}", clean(guard)),
        EnteredBy::Closing => "closing, one request for the answer".to_owned(),
        EnteredBy::Denied => "a person said no before".to_owned(),
        EnteredBy::Grant => "a person granted steps".to_owned(),
    }
}

/// Which limit closed the run, in brackets.
pub(in crate::render) fn limit(limit: &Limit) -> String {
    let Limit { kind, stage, used, of } = limit;
    let what = match kind {
        LimitKind::Stage => format!("steps of {}", clean(stage)),
        LimitKind::Run => "steps of the run".to_owned(),
        LimitKind::Calls => "calls".to_owned(),
        LimitKind::Tokens => "tokens".to_owned(),
        LimitKind::Cost => "millionths of cost".to_owned(),
        LimitKind::Time => return format!(" ({} of {})", duration(*used), duration(*of)),
        LimitKind::Depth => "nested runs".to_owned(),
        LimitKind::UserTurns => "user messages".to_owned(),
    };
    format!(" ({used} of {of} {what})")
}

/// `3 steps`, `1 step`.
pub(in crate::render) fn steps(n: u32) -> String {
    format!("{n} {}", plural("step", n))
}

/// The noun, with an `s` unless there is one.
pub(in crate::render) fn plural(noun: &str, n: u32) -> String {
    format!("{noun}{}", if n == 1 { "" } else { "s" })
}

/// `2h 30m`, `90s` as `1m 30s`, `1500ms`.
pub(in crate::render) fn duration(ms: u64) -> String {
    if ms == 0 || !ms.is_multiple_of(1000) {
        return format!("{ms}ms");
    }
    let units = [(ms / 3_600_000, "h"), (ms / 60_000 % 60, "m"), (ms / 1000 % 60, "s")];
    let said: Vec<String> = units.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_as_they_were_written() {
        assert_eq!(
            arguments(r#"{"path": "a b", "n": 12345678901234567890123}"#),
            r#"(path="a b", n=12345678901234567890123)"#
        );
        assert_eq!(
            arguments(r#"{"a":{"b":[1,2],"c":"x,y"},"d":"\"q\", z"}"#),
            r#"(a={"b":[1,2],"c":"x,y"}, d=""q", z")"#
        );
        assert_eq!(arguments("{}"), "()");
        assert_eq!(arguments(""), "()");
        assert_eq!(arguments(r#"{"path":"#), r#"({"path":)"#);
        assert_eq!(arguments("[1]"), "([1])");
    }

    #[test]
    fn text_is_brought_to_one_harmless_line() {
        assert_eq!(clean("  a\n\tb\u{1b}[2J\u{202e}c "), "a b·[2J·c");
        assert_eq!(cut("abcdef", 4), "abc…");
    }

    #[test]
    fn durations_are_told_in_the_units_people_use() {
        assert_eq!(duration(9_000_000), "2h 30m");
        assert_eq!(duration(90_000), "1m 30s");
        assert_eq!(duration(1_500), "1500ms");
        assert_eq!(duration(0), "0ms");
    }
}
