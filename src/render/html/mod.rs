//! A recorded run as one HTML file: no network, light and dark, for screens of any width and for paper.
//!
//! Whatever the trace holds was written by models and tools: it goes into the page through `escape::escaped` alone.

mod escape;
mod gather;
mod parts;

use crate::table::StageTable;
use crate::trace::{Explanation, Trace};
use escape::escaped;
use gather::{Gathered, gather};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of a run. Without `explanations` (another version of the engine recorded it) the calls do not say why;
/// without `table` the stages are those the run saw.
#[must_use]
pub fn page(trace: &Trace, table: Option<&StageTable>, explanations: &[Explanation]) -> String {
    let gathered = gather(trace, table, explanations);
    let mut out = String::new();
    head(&mut out, trace);
    parts::summary(&mut out, trace, &gathered);
    parts::lane(&mut out, &gathered);
    parts::tools(&mut out);
    body(&mut out, &gathered);
    let _ = write!(
        out,
        "<footer>Drawn by stagekeeper {} from {} records of run {}{}.</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        trace.records.len(),
        escaped(&trace.header.run),
        trace.cut.as_ref().map(|cut| format!("; {}", escaped(cut))).unwrap_or_default(),
    );
    out
}

fn head(out: &mut String, trace: &Trace) {
    let title = format!("{} · {}", escaped(&trace.header.workflow), escaped(&trace.header.run));
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
}

/// The run from top to bottom. What was rolled back stands in a bracket that leads back to where it began.
fn body(out: &mut String, gathered: &Gathered<'_>) {
    out.push_str("<main id=\"run\">\n");
    for (at, item) in gathered.items.iter().enumerate() {
        if gathered.undone_from.contains(&at) {
            out.push_str("<div class=\"undone\">\n");
        }
        parts::item(out, item);
        if gathered.undone_to.contains(&at) {
            out.push_str("</div>\n");
        }
    }
    out.push_str("<p id=\"nothing\" hidden>No step fits the filter.</p>\n</main>\n");
}
