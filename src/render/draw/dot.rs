//! Graphviz.

use super::graph::{Graph, Node, Target};
use super::words::wrap;
use std::fmt::Write;

/// Columns of a line in a box.
const COLUMNS: usize = 44;
/// Lines of a goal in a box.
const GOAL_LINES: usize = 3;

pub(super) fn draw(graph: &Graph) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph \"{}\" {{", escape(&graph.workflow));
    let title = if graph.about.is_empty() { &graph.workflow } else { &graph.about };
    let title = wrap(title, 70, GOAL_LINES).join("\n");
    let _ = writeln!(out, "  label=\"{}\\n{}\"", escape(&title), escape(&graph.caption()));
    out.push_str("  labelloc=t\n  fontname=\"sans-serif\"\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11]\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=10]\n");
    for node in &graph.nodes {
        let style = if node.aside { ", style=\"rounded,dashed\"" } else { "" };
        let _ = writeln!(out, "  s{} [label=\"{}\"{style}]", node.number, label(node));
    }
    if !graph.anywhere.is_empty() {
        out.push_str("  any [label=\"any stage\", shape=oval, style=dashed]\n");
    }
    if graph.nodes.iter().any(|n| n.next == Target::Back) {
        out.push_str("  back [label=\"where it was entered from\", shape=oval, style=dashed]\n");
    }
    out.push_str("  finish [label=\"end\", shape=oval]\n");
    for node in &graph.nodes {
        let dashed = if node.aside { " [style=dashed]" } else { "" };
        let _ = writeln!(out, "  s{} -> {}{dashed}", node.number, id(node.next));
        for way in &node.edges {
            dashed_edge(&mut out, &format!("s{}", node.number), node.number, way.to, &way.why);
        }
    }
    for way in &graph.anywhere {
        dashed_edge(&mut out, "any", 0, way.to, &way.why);
    }
    out.push_str("}\n");
    out
}

/// Ways back do not shape the layout: the path stays a column.
fn dashed_edge(out: &mut String, from: &str, number: usize, to: Target, why: &str) {
    let back = matches!(to, Target::Stage(at) if at < number);
    let loose = if back { ", constraint=false" } else { "" };
    let _ = writeln!(out, "  {from} -> {} [style=dashed{loose}, label=\"{}\"]", id(to), escape(why));
}

fn id(target: Target) -> String {
    match target {
        Target::Stage(at) => format!("s{}", at + 1),
        Target::End => "finish".to_owned(),
        Target::Back => "back".to_owned(),
    }
}

fn label(node: &Node) -> String {
    let mut lines = vec![format!("{}. {} · {}", node.number, node.name, node.steps)];
    lines.extend(wrap(&node.goal, COLUMNS, GOAL_LINES));
    lines.extend(wrap(&format!("tools: {}", node.tools), COLUMNS, GOAL_LINES));
    lines.extend(node.gates.iter().flat_map(|g| wrap(g, COLUMNS, 2)));
    lines.iter().map(|l| format!("{}\\l", escape(l))).collect()
}

/// For a quoted string; Graphviz reads HTML entities in labels too.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;").replace('\n', "\\n")
}
