//! The parts of the page. Every text from the trace passes [`escaped`].

use super::escape::{escaped, shortened};
use super::gather::{Call, Gathered, Item, StageBar, Step};
use crate::engine::event::Judged;
use crate::engine::input::Status;
use crate::render::explain;
use crate::render::story::words;
use crate::trace::{Explanation, Trace};
use std::fmt::Write as _;

/// Most characters of one text that the page holds.
const TEXT: usize = 8_000;
/// Most characters of a hint shown before it is opened.
const PEEK: usize = 110;
/// Most cells of a budget; a larger one is a bar.
const CELLS: u32 = 24;

pub(super) fn summary(out: &mut String, trace: &Trace, page: &Gathered<'_>) {
    let outcome = page.outcome.map_or("unfinished", |o| o.as_str());
    let kind = match outcome {
        "completed" => "good",
        "unfinished" => "open",
        _ if page.outcome.is_some_and(|o| o.is_pause()) => "open",
        _ => "bad",
    };
    let limit = page.limit.map(words::limit).unwrap_or_default();
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n<p><span class=\"badge {kind}\">{outcome}</span> <span class=\"of\">{} of at most {}{}\
         {} refused · {}</span></p>\n",
        escaped(&trace.header.workflow),
        page.steps,
        words::steps(page.ceiling),
        if limit.is_empty() { " · ".to_owned() } else { format!(",{} · ", escaped(&limit)) },
        page.refused,
        counted(page.rollbacks, "rollback"),
    );
    let _ = write!(
        out,
        "<dl><dt>task</dt><dd class=\"text\">{}</dd>",
        escaped(&shortened(&trace.header.task, TEXT)).trim()
    );
    if !page.answer.is_empty() {
        let _ = write!(out, "<dt>answer</dt><dd class=\"text\">{}</dd>", escaped(&shortened(page.answer, TEXT)).trim());
    }
    let _ = writeln!(
        out,
        "<dt>run</dt><dd>{}, table {}{}</dd></dl>\n</header>",
        escaped(&trace.header.run),
        escaped(&trace.header.table.file),
        if trace.header.observe { ", only observed" } else { "" },
    );
}

fn counted(n: usize, noun: &str) -> String {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    format!("{n} {}", words::plural(noun, n))
}

pub(super) fn lane(out: &mut String, page: &Gathered<'_>) {
    out.push_str("<nav aria-label=\"stages\"><ol class=\"lane\">\n");
    for stage in &page.stages {
        lane_stage(out, stage);
    }
    out.push_str("</ol></nav>\n");
}

fn lane_stage(out: &mut String, stage: &StageBar) {
    let name = escaped(&stage.name);
    let (class, name) = match stage.first {
        Some(first) => ("", format!("<a href=\"#at{first}\">{name}</a>")),
        None => (" class=\"unseen\"", name),
    };
    let again = if stage.entered > 1 { format!(", entered {} times", stage.entered) } else { String::new() };
    let _ = writeln!(
        out,
        "<li{class} title=\"{}\"><b>{name}</b><span class=\"of\">{}/{} steps{again}</span>{}<span class=\"allows\">{}</span></li>",
        escaped(&stage.goal),
        stage.spent,
        stage.budget,
        budget(stage.spent, stage.budget),
        escaped(&stage.allows),
    );
}

/// The budget as cells, or as a bar when there are many.
fn budget(spent: u32, of: u32) -> String {
    if of > CELLS {
        let percent = u64::from(spent.min(of)) * 100 / u64::from(of.max(1));
        return format!("<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{percent}%\"></i></span>");
    }
    let cells: String = (0..of).map(|n| if n < spent { "<i></i>" } else { "<s></s>" }).collect();
    format!("<span class=\"cells\" aria-hidden=\"true\">{cells}</span>")
}

pub(super) fn tools(out: &mut String) {
    out.push_str("<form id=\"filter\" role=\"search\" onsubmit=\"return false\">\n<input type=\"search\" id=\"find\" placeholder=\"filter: tool, text, hint …  ( / )\" aria-label=\"filter\">\n<span id=\"kinds\">");
    for (kind, word) in
        [("ran", "ran"), ("failed", "failed"), ("memory", "memory"), ("refused", "refused"), ("asked", "asked")]
    {
        let _ = write!(out, "<label><input type=\"checkbox\" value=\"{kind}\"> {word}</label>");
    }
    out.push_str("</span>\n<span id=\"shown\" aria-live=\"polite\"></span>\n<details class=\"keys\"><summary>keys</summary><p><kbd>j</kbd> <kbd>k</kbd> next and previous step · <kbd>n</kbd> <kbd>p</kbd> next and previous refusal · <kbd>o</kbd> opens the step · <kbd>e</kbd> opens or closes all · <kbd>/</kbd> filter · <kbd>Esc</kbd> clears it</p></details>\n</form>\n");
}

pub(super) fn item(out: &mut String, item: &Item<'_>) {
    match item {
        Item::Entered { id, name, number, of, left, by } => {
            let _ = writeln!(
                out,
                "<h2 id=\"at{id}\"><span class=\"arrow\" aria-hidden=\"true\">→</span> {} <small>stage {number} of {of} · {} left · {}</small></h2>",
                escaped(name),
                words::steps(*left),
                escaped(by),
            );
        }
        Item::Step(one) => step(out, one),
        Item::RolledBack { stage, by, dropped, to } => {
            let stage = escaped(stage);
            let stage = to.map_or(stage.clone(), |to| format!("<a href=\"#at{to}\">{stage}</a>"));
            let _ = writeln!(
                out,
                "<p class=\"back\"><span class=\"arrow\" aria-hidden=\"true\">↩</span> back to the start of {stage} <small>{} · {} left the view · steps are not given back</small></p>",
                escaped(by),
                counted(*dropped, "message"),
            );
        }
        Item::Note(text) => {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(text));
        }
        Item::Said { who, text } => {
            let _ = writeln!(out, "<p class=\"note\">{who}: <q>{}</q></p>", escaped(&shortened(text, TEXT)));
        }
        Item::Way(text) => {
            let _ = writeln!(out, "<p class=\"way\">‖ {}</p>", escaped(&shortened(text, TEXT)));
        }
        Item::Ended { outcome, limit, text } => {
            let limit = limit.map(words::limit).unwrap_or_default();
            let _ = writeln!(
                out,
                "<h2 class=\"end\"><span class=\"arrow\" aria-hidden=\"true\">■</span> {outcome}<small>{}</small></h2>\n<p class=\"text\">{}</p>",
                escaped(&limit),
                escaped(&shortened(text, TEXT))
            );
        }
    }
}

fn step(out: &mut String, step: &Step<'_>) {
    let mut kinds: Vec<&str> = step.calls.iter().map(|call| kind(call).0).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let _ = write!(
        out,
        "<article class=\"step\" tabindex=\"-1\" data-kinds=\"{}\">\n<p class=\"n\"><b>{}</b>",
        kinds.join(" "),
        step.n
    );
    if !step.stage.is_empty() {
        let _ = write!(out, " <span>{} {}/{}</span>", escaped(step.stage), step.stage_step, step.budget);
    }
    out.push_str("</p>\n<div>\n");
    if !step.text.is_empty() {
        let _ = writeln!(out, "<p class=\"text says\">{}</p>", escaped(step.text));
    }
    if step.text.is_empty() && step.calls.is_empty() {
        out.push_str("<p class=\"note\">(silent)</p>\n");
    }
    for one in &step.calls {
        call(out, one);
    }
    for (name, text) in &step.told {
        opened(out, "hint", &format!("told ({})", escaped(name)), text);
    }
    for note in &step.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
    out.push_str("</div>\n</article>\n");
}

/// The kind for the filter, its sign and its word.
fn kind(call: &Call<'_>) -> (&'static str, &'static str, &'static str) {
    let failed = call.finished.is_some_and(|(failed, ..)| failed);
    let ran = |word| if failed { ("failed", "!", "failed") } else { ("ran", "✓", word) };
    match (call.judged, call.approved) {
        (Judged::Run, _) => ran("ran"),
        (Judged::Ask { .. }, Some(true)) => ran("ran, a person said yes"),
        (Judged::Reuse { .. }, _) => ("memory", "↺", "from memory"),
        (Judged::Refuse { violation: true, .. }, _) => ("refused", "✗", "refused, a violation"),
        (Judged::Refuse { .. }, _) => ("refused", "✗", "refused"),
        (Judged::Ask { .. }, Some(false)) => ("refused", "✗", "a person said no"),
        (Judged::Ask { .. }, None) => ("asked", "?", "a person is asked"),
    }
}

fn call(out: &mut String, call: &Call<'_>) {
    let (kind, sign, word) = kind(call);
    let raw = call.proposed.map(|p| p.arguments.as_str()).unwrap_or_default();
    let resolved = call.resolved.map(|name| format!(" = {}", escaped(name))).unwrap_or_default();
    let why = match call.judged {
        Judged::Refuse { check, by, .. } => {
            let stage = call.why.map(|w| w.stage.as_str()).unwrap_or_default();
            let stage = if stage.is_empty() { "this stage" } else { stage };
            format!(": {}", words::refusal(*check, by.as_deref(), stage))
        }
        Judged::Reuse { of, .. } => format!(": the result of call {}", of.0),
        Judged::Ask { by, .. } => format!(" ({})", words::clean(by)),
        Judged::Run => String::new(),
    };
    let _ = writeln!(
        out,
        "<div class=\"call {kind}\" id=\"call{no}\"><p><span class=\"sign\" aria-hidden=\"true\">{sign}</span><code><b>{}</b>{}{resolved}</code> <span class=\"verdict\">{word}{}</span> <a class=\"no\" href=\"#call{no}\">call {no}</a></p>",
        escaped(call.tool),
        escaped(&words::cut(&words::arguments(raw), 160)),
        escaped(&why),
        no = call.no.0,
    );
    match call.judged {
        Judged::Refuse { hint, .. } => opened(out, "hint", "hint", hint),
        Judged::Ask { question, .. } if !question.is_empty() => opened(out, "hint", "question", question),
        _ => {}
    }
    if let Some(result) = call.result {
        let label = match (result.status, call.finished) {
            (Status::Unknown, _) => "unknown end".to_owned(),
            (_, Some((failed, chars, cut_to, same))) => format!(
                "{}, {chars} characters{}{}",
                if failed { "error" } else { "result" },
                cut_to.map(|to| format!(", cut to {to}")).unwrap_or_default(),
                if same { ", as before" } else { "" },
            ),
            _ => "result".to_owned(),
        };
        opened(out, "result", &label, &result.text);
    }
    if words::width(raw) > 60 {
        opened(out, "result", "arguments in full", raw);
    }
    if let Some(why) = call.why {
        checks(out, why);
    }
    out.push_str("</div>\n");
}

/// A text whose beginning is seen, and all of it when it is opened.
fn opened(out: &mut String, class: &str, label: &str, text: &str) {
    let peek = words::cut(&words::clean(text), PEEK);
    let _ = writeln!(
        out,
        "<details class=\"{class}\"><summary><span>{label}</span> <em>{}</em></summary><pre>{}</pre></details>",
        escaped(&peek),
        escaped(&shortened(text, TEXT)),
    );
}

fn checks(out: &mut String, why: &Explanation) {
    let rows = explain::rows(why);
    let decides = rows.iter().find(|row| row.came_out == explain::CameOut::Decides);
    let peek = match decides {
        Some(row) => format!("check {} decided: {}", row.number, row.check.as_str().replace('_', " ")),
        None => "no check objected".to_owned(),
    };
    let _ = write!(out, "<details class=\"why\"><summary><span>why</span> <em>{peek}</em></summary><table>");
    for row in rows {
        if row.came_out == explain::CameOut::NotAsked {
            continue;
        }
        let line = row.line.map(|line| format!("line {line}")).unwrap_or_default();
        let class = if row.came_out == explain::CameOut::Decides { " class=\"decides\"" } else { "" };
        let _ = write!(
            out,
            "<tr{class}><td>{}<td>{}<td>{}<td>{}<td>{line}",
            row.number,
            row.check.as_str().replace('_', " "),
            row.came_out.as_str(),
            escaped(&row.saw),
        );
    }
    out.push_str("</table></details>\n");
}
