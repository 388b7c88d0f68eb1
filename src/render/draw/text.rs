//! Boxes of text, at most 80 columns wide.

use super::graph::{Graph, Node, Target};
use super::words::{shorten, width, wrap};
use std::fmt::Write;

/// Columns of the whole picture.
const COLUMNS: usize = 80;
/// Columns inside a box: two borders and two spaces less.
const INSIDE: usize = COLUMNS - 4;
/// Lines of a goal in a box.
const GOAL_LINES: usize = 2;
/// Lines of a list of tools in a box.
const TOOL_LINES: usize = 4;

pub(super) fn draw(graph: &Graph) -> String {
    let mut out = String::new();
    let title =
        if graph.about.is_empty() { graph.workflow.clone() } else { format!("{}: {}", graph.workflow, graph.about) };
    for line in wrap(&title, COLUMNS, 4) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    let main: Vec<(usize, &Node)> = graph.nodes.iter().enumerate().filter(|(_, n)| !n.aside).collect();
    for (place, (_, node)) in main.iter().enumerate() {
        let below = main.get(place + 1).map_or(Target::End, |(at, _)| Target::Stage(*at));
        solid_box(&mut out, graph, node, below);
        let arrow = if node.next == below { "      │\n      ▼\n" } else { "\n" };
        out.push_str(arrow);
    }
    if main.last().is_some_and(|(_, n)| n.next == Target::End) {
        out.push_str("     end\n");
    }
    for node in graph.nodes.iter().filter(|n| n.aside) {
        out.push('\n');
        dashed_box(&mut out, graph, node);
    }
    if !graph.anywhere.is_empty() {
        out.push_str("\nin any stage\n");
        for way in &graph.anywhere {
            let _ = writeln!(out, "  {}", shorten(&format!("{} ┄▶ {}", way.why, graph.name_of(way.to)), COLUMNS - 2));
        }
    }
    let _ = writeln!(out, "\n{}", graph.caption());
    out
}

fn solid_box(out: &mut String, graph: &Graph, node: &Node, below: Target) {
    boxed(out, node, &rows(graph, node, node.next != below), ["┌", "─", "┐", "│", "└", "┘"]);
}

fn dashed_box(out: &mut String, graph: &Graph, node: &Node) {
    boxed(out, node, &rows(graph, node, true), ["┌", "┄", "┐", "┆", "└", "┘"]);
}

/// What stands in a box, a line each.
fn rows(graph: &Graph, node: &Node, say_next: bool) -> Vec<String> {
    let mut rows = wrap(&node.goal, INSIDE, GOAL_LINES);
    rows.extend(wrap(&format!("tools: {}", node.tools), INSIDE, TOOL_LINES));
    rows.extend(node.gates.iter().map(|g| format!("◆ {g}")));
    if say_next {
        rows.push(match node.next {
            Target::Back => "then ─▶ back to where it was entered from".to_owned(),
            next => format!("then ─▶ {}", graph.name_of(next)),
        });
    }
    rows.extend(node.edges.iter().map(|way| format!("{} ┄▶ {}", way.why, graph.name_of(way.to))));
    rows
}

fn boxed(out: &mut String, node: &Node, rows: &[String], [nw, top, ne, side, sw, se]: [&str; 6]) {
    let right = shorten(&node.steps, INSIDE / 2);
    let aside = if node.aside { " (aside)" } else { "" };
    let left = shorten(&format!("{} {}{aside}", node.number, node.name), INSIDE - width(&right) - 6);
    let fill = COLUMNS.saturating_sub(8 + width(&left) + width(&right));
    let _ = writeln!(out, "{nw}{top} {left} {} {right} {top}{ne}", top.repeat(fill));
    for row in rows {
        let row = shorten(row, INSIDE);
        let _ = writeln!(out, "{side} {row}{} {side}", " ".repeat(INSIDE - width(&row)));
    }
    let _ = writeln!(out, "{sw}{}{se}", top.repeat(COLUMNS - 2));
}
