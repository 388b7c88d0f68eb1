//! The suggestions as text and as JSON.

use super::loops::{LoopFound, LoopKind};
use super::near::NearLimit;
use super::over_time::OverTime;
use super::spent::{BudgetFigure, MIN_SUCCESSES};
use super::steps::CHARS_PER_TOKEN;
use super::weigh::{Proposal, Suggestions};
use std::fmt::Write as _;

/// One JSON object on one line; its keys are described in `docs/reference/recordings.md`.
#[must_use]
pub fn suggestions_json(suggestions: &Suggestions) -> String {
    serde_json::to_string(suggestions).unwrap_or_default() + "\n"
}

/// For people.
#[must_use]
pub fn suggestions_text(suggestions: &Suggestions) -> String {
    let made = suggestions;
    let (runs, calls) = (counted(made.runs.all(), "run"), counted(made.calls, "call"));
    let mut out = format!("{runs} ({}), {calls}, played on `{}`.\n", made.runs, made.workflow);
    if made.runs.successful + made.runs.failed == 0 {
        out.push_str("No run says whether it succeeded: nothing can be told to be better or worse.\n");
    }
    over_time(&mut out, &made.over_time);
    loops(&mut out, &made.loops, made.loops_left_out);
    near(&mut out, &made.near_limit);
    budgets(&mut out, &made.budgets);
    tools(&mut out, made);
    proposals(&mut out, made);
    out
}

fn over_time(out: &mut String, labels: &[OverTime]) {
    out.push_str("\nCalls over time. Every run is cut into ten parts; per cent of the calls of a part.\n");
    for of_label in labels {
        let _ = writeln!(out, "\n{} runs", of_label.runs);
        let mut rows = vec![["part", "calls", "new", "repeated", "failed", "withheld"].map(str::to_owned).to_vec()];
        for (at, part) in of_label.parts.iter().enumerate() {
            let share = |n: u64| match part.calls {
                0 => "-".to_owned(),
                calls => format!("{} %", (n * 100 + calls / 2) / calls),
            };
            let shares = [part.new, part.repeated, part.failed, part.withheld].map(share);
            rows.push([vec![(at + 1).to_string(), part.calls.to_string()], shares.to_vec()].concat());
        }
        columns(out, &rows);
    }
    out.push_str(
        "\nrepeated: the same call had brought the same result. withheld: this table would have refused it or answered it\n\
         from memory. A run of fewer than ten calls fills only some of the parts.\n",
    );
}

fn loops(out: &mut String, loops: &[LoopFound], left_out: usize) {
    out.push_str("\nLoops. Calls and tokens beyond the first round, which brought nothing.\n");
    if loops.is_empty() {
        out.push_str("None were found.\n");
        return;
    }
    out.push('\n');
    let mut rows = vec![["calls", "tokens", "loops", "runs", "what"].map(str::to_owned).to_vec()];
    for found in loops {
        let between = if found.kind == LoopKind::Cycle { " → " } else { ", " };
        let about = if found.tokens_estimated { "~" } else { "" };
        let tokens = format!("{about}{}", found.tokens);
        let what = format!("{}: {}", found.kind.words(), found.tools.join(between));
        rows.push(vec![found.calls.to_string(), tokens, found.loops.to_string(), found.runs.all().to_string(), what]);
    }
    columns(out, &rows);
    if left_out > 0 {
        let _ = writeln!(out, "and {left_out} more, each with fewer calls");
    }
    if loops.iter().any(|found| found.tokens_estimated) {
        let _ = writeln!(
            out,
            "~ estimated: the recording counts no tokens; {CHARS_PER_TOKEN} characters of arguments and result for one, without what is read again."
        );
    }
    out.push_str("\nThe longest of each:\n");
    for found in loops {
        let _ = writeln!(
            out,
            "  {} ({}), {}, in {}",
            found.kind.words(),
            found.runs,
            counted(found.longest.calls, "call"),
            found.longest.run
        );
        indented(out, found.longest.members.iter().map(String::as_str));
    }
}

fn near(out: &mut String, near: &[NearLimit]) {
    out.push_str("\nNear a limit and still calling, at most three steps left; runs that succeeded are not counted.\n");
    if near.is_empty() {
        out.push_str("None were.\n");
    }
    for limit in near {
        let place = limit.stage.as_ref().map_or("the whole run".to_owned(), |stage| format!("stage `{stage}`"));
        let (steps, runs) = (counted(limit.steps.into(), "step"), counted(limit.runs.all(), "run"));
        let _ = writeln!(out, "  {place}, {steps}: {runs} ({}), such as {}", limit.runs, limit.example);
        for exit in &limit.missing {
            let _ = writeln!(out, "    missing: {exit}");
        }
    }
}

fn budgets(out: &mut String, figures: &[BudgetFigure]) {
    out.push_str("\nBudgets, from what successful runs spent.\n");
    if figures.is_empty() {
        out.push_str("No run succeeded, so nothing can be said.\n");
        return;
    }
    out.push('\n');
    let heads = ["", "unit", "good runs", "median", "95 %", "most", "1.2 × median", "cuts", "1.5 × 95 %", "cuts"]
        .map(str::to_owned);
    let mut rows = vec![heads.to_vec()];
    for figure in figures {
        rows.push(vec![
            figure.stage.clone().unwrap_or_else(|| "whole run".to_owned()),
            figure.unit.to_owned(),
            figure.successes.to_string(),
            figure.median.to_string(),
            figure.p95.to_string(),
            figure.most.to_string(),
            figure.by_median.to_string(),
            figure.cut_by_median.to_string(),
            figure.by_p95.to_string(),
            figure.cut_by_p95.to_string(),
        ]);
    }
    columns(out, &rows);
    if figures.iter().any(|figure| figure.unit == "steps" && figure.stage.is_none()) {
        out.push_str("A step of a whole run is a reply with calls; one more is added for the answer.\n");
    }
    if figures.iter().any(|figure| figure.weak) {
        let _ = writeln!(out, "Fewer than {MIN_SUCCESSES} good runs: these figures are weak.");
    }
}

fn tools(out: &mut String, made: &Suggestions) {
    out.push_str("\nWhat the tools seem to do, from equal calls within one run.\n\n");
    let heads = ["tool", "calls", "table says", "seems", "same", "by itself", "after others", "changed others"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for seen in &made.tools {
        rows.push(vec![
            seen.tool.clone(),
            seen.calls.to_string(),
            seen.declared.unwrap_or("-").to_owned(),
            seen.seems.as_str().to_owned(),
            seen.same.to_string(),
            seen.changed_alone.to_string(),
            seen.changed_after_others.to_string(),
            seen.changed_others.to_string(),
        ]);
    }
    columns(out, &rows);
    out.push_str(
        "same: the result stayed although other calls ran between. by itself, after others: it was another one.\n\
         changed others: results of tools that read, which were others after it. unknown: too little to say.\n",
    );
}

fn proposals(out: &mut String, made: &Suggestions) {
    out.push_str("\nProposals, each played alone on every run; those that do the least harm first. Paste what you agree with into the\ntable.\n");
    if made.proposals.is_empty() {
        out.push_str("None would have made more runs better than worse.\n");
    }
    for (at, proposal) in made.proposals.iter().enumerate() {
        let _ = write!(out, "\n{}. {}\n{}", at + 1, proposal.about, told(proposal));
        indented(out, proposal.yaml.lines());
    }
    if !made.left_out.is_empty() {
        out.push_str("\nNot proposed:\n");
    }
    for proposal in &made.left_out {
        let why = match proposal.change.worse {
            0 if proposal.change.runs_changed == 0 => "changes none of these runs".to_owned(),
            0 => format!("changes {}, none for better", counted(proposal.change.runs_changed, "run")),
            worse if proposal.change.better == 0 => format!("only for worse: {}", counted(worse, "run")),
            worse => format!("{} for worse, {} for better", counted(worse, "run"), proposal.change.better),
        };
        let _ = writeln!(out, "  {}: {why}", proposal.about);
    }
}

fn told(proposal: &Proposal) -> String {
    let change = &proposal.change;
    let runs = counted(change.runs_changed, "run");
    let mut said = format!("   {runs} changed: {} for better, {} for worse", change.better, change.worse);
    if change.neither > 0 {
        let _ = write!(said, ", {} neither", change.neither);
    }
    said.push('\n');
    if change.failed_calls_cut != 0 {
        let _ = writeln!(said, "   failed runs: {:+} calls cut", change.failed_calls_cut);
    }
    if change.successful_calls_withheld != 0 {
        let (calls, new) = (change.successful_calls_withheld, change.new_results_withheld);
        let _ = writeln!(said, "   successful runs: {calls:+} calls withheld, {new:+} of them with a new result");
    }
    said
}

/// `1 run`, `2 runs`.
fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

fn indented<'l>(out: &mut String, lines: impl Iterator<Item = &'l str>) {
    for line in lines {
        let _ = writeln!(out, "    {line}");
    }
}

/// Rows with their columns aligned: numbers to the right, the words of the first and last column to the left.
fn columns(out: &mut String, rows: &[Vec<String>]) {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let number =
                |cell: &String| cell == "-" || cell.trim_start_matches('~').starts_with(|c: char| c.is_ascii_digit());
            let numbers = rows.iter().skip(1).filter_map(|row| row.get(column)).all(number);
            let width = width(column);
            let _ = if numbers { write!(line, "  {cell:>width$}") } else { write!(line, "  {cell:<width$}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
