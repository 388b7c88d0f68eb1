//! The end of a run in words and as JSON.

use crate::cli::out;
use crate::engine::summary::Summary;
use crate::run::Report;

/// What is no data: failures beside the run, and where the trace is.
pub(super) fn say(report: &Report, trace: Option<&str>) {
    if let Some(error) = &report.model_error {
        out::say(&format!("model: {}\n", out::visible(&error.message)));
    }
    for failure in &report.not_closed {
        out::say(&format!("not closed: {}\n", out::visible(failure)));
    }
    if let Some(trace) = trace {
        out::say(&format!("{trace}\n"));
    }
}

/// One line of JSON.
pub(super) fn json(summary: &Summary) -> String {
    // Strings and numbers: nothing here can fail to become JSON.
    serde_json::to_string(summary).unwrap_or_default() + "\n"
}

/// The answer, if there is one, then how the run went.
pub(super) fn text(summary: &Summary) -> String {
    let answer = match summary.text.trim_end() {
        "" => String::new(),
        answer => format!("{answer}\n\n"),
    };
    out::visible(&format!("{answer}{}\n", how_it_went(summary)))
}

fn how_it_went(summary: &Summary) -> String {
    let outcome = summary.outcome.map_or("running", |outcome| outcome.as_str());
    let mut out = format!("{outcome} in {} of at most {} steps", summary.steps, summary.ceiling);
    let stages: Vec<String> = summary
        .stages
        .iter()
        .filter(|stage| stage.entered > 0)
        .map(|stage| format!("{} {}/{}", stage.name, stage.steps, stage.budget))
        .collect();
    out.push_str(&format!(": {}\n", stages.join(", ")));
    if summary.tree.steps > u64::from(summary.steps) {
        out.push_str(&format!(
            "  with nested runs: {} of at most {} steps\n",
            summary.tree.steps, summary.tree.ceiling
        ));
    }
    for (tool, counts) in &summary.tools {
        let parts = [
            (counts.run, "run"),
            (counts.reused, "from memory"),
            (counts.refused, "refused"),
            (counts.failed, "failed"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        out.push_str(&format!("  {tool}: {}\n", parts.join(", ")));
    }
    if summary.violations > 0 || summary.rollbacks > 0 {
        out.push_str(&format!("  violations: {}, rollbacks: {}\n", summary.violations, summary.rollbacks));
    }
    for standing in &summary.not_undone {
        out.push_str(&format!("  stands although the run did not complete: {} {}\n", standing.tool, standing.args));
    }
    out.trim_end().to_owned()
}
