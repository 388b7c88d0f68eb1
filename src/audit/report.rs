//! The counts as text and as JSON.

use super::counts::Counts;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    group: &'a str,
    #[serde(flatten)]
    counts: &'a Counts,
}

/// One group as one JSON object, keys in the order of design §12.
#[must_use]
pub fn json_line(group: &str, counts: &Counts) -> String {
    serde_json::to_string(&Line { group, counts }).unwrap_or_default()
}

const HEAD: [&str; 7] = ["", "runs", "calls", "failed runs' calls cut", "successes touched", "withheld", "of them new"];

/// What the heads of [`text_table`] mean.
pub const LEGEND: &str = "
cut, withheld: answered from memory, refused, or behind the point where the stage would have been left. touched: at
least one such call. new: a result that the call had not brought before. Runs without a label count in neither.
";

/// All groups as a table, columns aligned, with the guards that spoke beneath each.
#[must_use]
pub fn text_table(groups: &[(String, Counts)]) -> String {
    let mut rows: Vec<[String; 7]> = vec![HEAD.map(str::to_owned)];
    rows.extend(groups.iter().map(|(name, counts)| row(name, counts)));
    if groups.len() > 1 {
        let mut all = Counts::default();
        groups.iter().for_each(|(_, counts)| all += *counts);
        rows.push(row("all", &all));
    }
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let cell = if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some((_, counts)) = at.checked_sub(1).and_then(|at| groups.get(at)) {
            let fired: Vec<String> = counts.fired.named().map(|(guard, times)| format!("{guard} {times}")).collect();
            if !fired.is_empty() {
                text.push_str(&format!("  guards spoke: {}\n", fired.join(", ")));
            }
        }
    }
    text
}

fn row(name: &str, counts: &Counts) -> [String; 7] {
    [
        name.to_owned(),
        counts.runs.to_string(),
        counts.calls.to_string(),
        share(counts.failed_calls_cut, counts.failed_calls),
        share(counts.successful_runs_touched, counts.successful_runs),
        counts.successful_calls_withheld.to_string(),
        counts.new_results_withheld.to_string(),
    ]
}

/// `3 of 40 (7.50 %)`.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let hundredths = (part * 10_000 + whole / 2) / whole;
    format!("{part} of {whole} ({}.{:02} %)", hundredths / 100, hundredths % 100)
}
