//! A self-contained SVG: the path of stages on the left, asides on the right, the other ways in lanes between.
//! Colours follow the reader's light or dark screen; dashes and words say everything the colours say.

mod lanes;
mod layout;

use super::graph::Graph;
use super::words::width;
use crate::render::xml::escaped;
use layout::{Arrow, Layout, Line, Placed};
use std::fmt::Write;

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1c2430}\
.m{font:12px ui-monospace,'DejaVu Sans Mono',monospace}\
.h{font-weight:600}.t{font-size:17px;font-weight:600}.q{fill:#566070}\
.p{fill:#fff}.b{fill:#f5f7fa;stroke:#8a94a3}.e{fill:none;stroke:#566070;stroke-width:1.4}\
.d{stroke-dasharray:5 4}.a{fill:#566070}\
@media(prefers-color-scheme:dark){text{fill:#e6eaf0}.q{fill:#a3adbb}.p{fill:#14181f}.b{fill:#1e242d;stroke:#5d6877}\
.e{stroke:#a3adbb}.a{fill:#a3adbb}}";

pub(super) fn draw(graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let (w, h) = (layout.width, layout.height);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\">"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&graph.workflow));
    let _ = writeln!(out, "<style>{STYLE}</style>");
    out.push_str(
        "<defs><marker id=\"sk-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path class=\"a\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n",
    );
    let _ = writeln!(out, "<rect class=\"p\" width=\"{w}\" height=\"{h}\"/>");
    for line in &layout.lines {
        text(&mut out, line);
    }
    for placed in &layout.boxes {
        boxed(&mut out, placed);
    }
    for arrow in &layout.arrows {
        path(&mut out, arrow);
    }
    out.push_str("</svg>\n");
    out
}

fn text(out: &mut String, line: &Line) {
    let anchor = if line.right { " text-anchor=\"end\"" } else { "" };
    let _ = writeln!(
        out,
        "<text class=\"{}\" x=\"{}\" y=\"{}\"{anchor}>{}</text>",
        line.class,
        line.x,
        line.y,
        escaped(&line.text)
    );
}

fn boxed(out: &mut String, placed: &Placed) {
    let class = if placed.dashed { "b d" } else { "b" };
    let Placed { x, y, w, h, round, .. } = placed;
    let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{round}\"/>");
    for line in &placed.lines {
        text(out, line);
    }
}

fn path(out: &mut String, arrow: &Arrow) {
    let class = if arrow.dashed { "e d" } else { "e" };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\" marker-end=\"url(#sk-arrow)\"/>", arrow.path);
}

/// Pixels of a line in the small monospaced face, for the pill round a word.
fn mono(text: &str) -> usize {
    width(text) * 15 / 2
}
