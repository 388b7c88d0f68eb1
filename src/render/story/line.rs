//! The lines of a story and their columns.

use super::words::{cut, width};

/// Widest line, in characters.
const WIDTH: usize = 110;
/// Widest column of steps and of calls.
const STEP_COLUMN: usize = 30;
const CALL_COLUMN: usize = 40;
/// Calls of one reply that ended alike, of which no more are told.
const ALIKE: usize = 4;
/// Before each line of a nested run.
const SET_IN: &str = "| ";
/// Deepest that lines are set in.
const MAX_SET_IN: usize = 64;
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
    /// A nested run begins: the lines after this one are set in.
    Opens(String),
    /// It ends.
    Closes(String),
}

/// The widths of the columns so far, so that parts of a story told one after another stand under one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    steps: usize,
    calls: usize,
    /// Nested runs that are open.
    depth: usize,
}

impl Columns {
    /// Columns that begin at least this wide: for the step and stage, and for the call.
    #[must_use]
    pub fn at_least(steps: usize, calls: usize) -> Self {
        Self { steps: steps.min(STEP_COLUMN), calls: calls.min(CALL_COLUMN), depth: 0 }
    }
}

impl Line {
    /// Whether it tells of another call of the same step what `other` told of one: same tool, same end, same hint.
    fn repeats(&self, other: &Self) -> bool {
        let tool = |who: &str| who.split('(').next().map(str::to_owned);
        match (self, other) {
            (Self::Call { step, who, what, hint }, Self::Call { who: who2, what: what2, hint: hint2, .. }) => {
                step.is_empty() && what == what2 && hint == hint2 && !what.is_empty() && tool(who) == tool(who2)
            }
            _ => false,
        }
    }
}

/// Lays the lines out in columns, which only ever widen. Of many calls of one reply that ended alike, the first are told.
pub(super) fn lay_out(lines: &[Line], columns: &mut Columns) -> String {
    let calls = || {
        lines
            .iter()
            .filter_map(|l| if let Line::Call { step, who, what, .. } = l { Some((step, who, what)) } else { None })
    };
    let steps = calls().map(|(step, ..)| width(step)).max().unwrap_or_default().min(STEP_COLUMN).max(columns.steps);
    // What stands alone in its line may reach into the next column.
    let beside = calls().filter(|(.., what)| !what.is_empty());
    let whos = beside.map(|(_, who, _)| width(who)).max().unwrap_or_default().min(CALL_COLUMN).max(columns.calls);
    (columns.steps, columns.calls) = (steps, whos);
    let mut out = String::new();
    let mut alike = 0_usize;
    for (at, line) in lines.iter().enumerate() {
        let repeats = at.checked_sub(1).and_then(|before| lines.get(before)).is_some_and(|before| line.repeats(before));
        alike = if repeats { alike + 1 } else { 0 };
        if alike >= ALIKE {
            if !lines.get(at + 1).is_some_and(|next| next.repeats(line)) {
                let set_in = SET_IN.repeat(columns.depth);
                push(&mut out, &format!("{set_in}{:steps$}  … and {} more like it", "", alike + 1 - ALIKE));
            }
            continue;
        }
        if matches!(line, Line::Closes(_)) {
            columns.depth = columns.depth.saturating_sub(1);
        }
        let set_in = SET_IN.repeat(columns.depth);
        let push = |out: &mut String, line: &str| push(out, &format!("{set_in}{line}"));
        match line {
            Line::Head(text) => push(&mut out, &cut(text, WIDTH)),
            Line::Way(text) | Line::Opens(text) | Line::Closes(text) => push(&mut out, &cut(text, 2 * WIDTH)),
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
        if matches!(line, Line::Opens(_)) {
            columns.depth = (columns.depth + 1).min(MAX_SET_IN);
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
