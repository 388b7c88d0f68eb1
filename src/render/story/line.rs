//! The lines of a story and their columns.

use super::words::{cut, width};

/// Widest line, in characters.
const WIDTH: usize = 110;
/// Widest column of steps and of calls.
const STEP_COLUMN: usize = 30;
const CALL_COLUMN: usize = 40;
/// Lines a hint may take.
const HINT_LINES: usize = 3;

/// One line before its columns are known.
pub(super) enum Line {
    /// The first line.
    Head(String),
    /// The way through the stages.
    Way(String),
    /// Who did what in a step; `step` is empty when the line above has it.
    Call { step: String, who: String, what: String, hint: String },
    /// What the model was told beside the answers to its calls.
    Told { step: String, text: String },
    /// What went on beside.
    Note(String),
}

/// Lays the lines out in columns.
pub(super) fn lay_out(lines: &[Line]) -> String {
    let calls = || {
        lines
            .iter()
            .filter_map(|l| if let Line::Call { step, who, what, .. } = l { Some((step, who, what)) } else { None })
    };
    let steps = calls().map(|(step, ..)| width(step)).max().unwrap_or_default().min(STEP_COLUMN);
    // What stands alone in its line may reach into the next column.
    let beside = calls().filter(|(.., what)| !what.is_empty());
    let whos = beside.map(|(_, who, _)| width(who)).max().unwrap_or_default().min(CALL_COLUMN);
    let mut out = String::new();
    for line in lines {
        match line {
            Line::Head(text) => push(&mut out, &cut(text, WIDTH)),
            Line::Way(text) => push(&mut out, &cut(text, 2 * WIDTH)),
            Line::Note(text) => push(&mut out, &cut(&format!("{:steps$}  . {text}", ""), WIDTH)),
            Line::Told { step, text } => {
                let mut step = step.as_str();
                for part in wrap(text, WIDTH.saturating_sub(steps + 4)) {
                    push(&mut out, &format!("{step:<steps$}  | {part}"));
                    step = "";
                }
            }
            Line::Call { step, who, what, hint } => {
                let head = format!("{step:<steps$}  {who:<whos$}  {what}");
                let head = head.trim_end();
                if hint.is_empty() {
                    push(&mut out, &cut(head, 2 * WIDTH));
                } else if width(head) + 9 + width(hint) <= WIDTH {
                    push(&mut out, &format!("{head}   hint: {hint}"));
                } else {
                    push(&mut out, &cut(head, 2 * WIDTH));
                    for part in wrap(hint, WIDTH.saturating_sub(steps + 6)) {
                        push(&mut out, &format!("{:steps$}    | {part}", ""));
                    }
                }
            }
        }
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// At most `HINT_LINES` lines of at most `columns` characters, broken between words.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&cut(word, columns));
    }
    lines.push(line);
    if lines.len() > HINT_LINES {
        lines.truncate(HINT_LINES);
        if let Some(last) = lines.last_mut() {
            *last = cut(&format!("{last} …"), columns);
        }
    }
    lines
}
