//! Mermaid flowcharts.

use super::graph::{Graph, Node, Target};
use super::words::{shorten, wrap};
use std::fmt::Write;

/// Columns of a line in a box.
const COLUMNS: usize = 44;
/// Lines of a goal in a box.
const GOAL_LINES: usize = 3;

pub(super) fn draw(graph: &Graph) -> String {
    let mut out = String::new();
    let title =
        if graph.about.is_empty() { graph.workflow.clone() } else { format!("{}: {}", graph.workflow, graph.about) };
    let _ = writeln!(out, "%% {}", shorten(&title, 110));
    out.push_str("%%{init: {\"flowchart\": {\"wrappingWidth\": 420}}}%%\nflowchart TD\n");
    for node in &graph.nodes {
        let _ = writeln!(out, "  s{}[\"{}\"]", node.number, label(node));
    }
    if !graph.anywhere.is_empty() {
        out.push_str("  any([\"any stage\"])\n");
    }
    out.push_str("  finish([\"end\"])\n");
    for node in &graph.nodes {
        let from = format!("s{}", node.number);
        match node.next {
            Target::Back => edge(&mut out, &from, "-. then back .->", "back"),
            next if node.aside => edge(&mut out, &from, "-.->", &id(next)),
            next => edge(&mut out, &from, "-->", &id(next)),
        }
        for way in &node.edges {
            edge(&mut out, &from, &format!("-. \"{}\" .->", escape(&way.why)), &id(way.to));
        }
    }
    for way in &graph.anywhere {
        edge(&mut out, "any", &format!("-. \"{}\" .->", escape(&way.why)), &id(way.to));
    }
    if graph.nodes.iter().any(|n| n.next == Target::Back) {
        out.push_str("  back([\"where it was entered from\"])\n");
    }
    let asides: Vec<String> = graph.nodes.iter().filter(|n| n.aside).map(|n| format!("s{}", n.number)).collect();
    if !asides.is_empty() {
        let _ = writeln!(out, "  classDef aside stroke-dasharray: 5 4\n  class {} aside", asides.join(","));
    }
    let _ = writeln!(out, "  caption[\"{}\"]\n  style caption fill:none,stroke:none", escape(&graph.caption()));
    out.push_str("  finish ~~~ caption\n");
    out
}

fn edge(out: &mut String, from: &str, arrow: &str, to: &str) {
    let _ = writeln!(out, "  {from} {arrow} {to}");
}

fn id(target: Target) -> String {
    match target {
        Target::Stage(at) => format!("s{}", at + 1),
        Target::End => "finish".to_owned(),
        Target::Back => "back".to_owned(),
    }
}

fn label(node: &Node) -> String {
    let mut lines = vec![format!("<b>{}</b> · {}", escape(&node.name), escape(&node.steps))];
    lines.extend(wrap(&node.goal, COLUMNS, GOAL_LINES).iter().map(|l| escape(l)));
    lines.extend(wrap(&format!("tools: {}", node.tools), COLUMNS, GOAL_LINES).iter().map(|l| escape(l)));
    lines.extend(node.gates.iter().flat_map(|g| wrap(g, COLUMNS, 2)).map(|l| escape(&l)));
    lines.join("<br/>")
}

/// Everything that means something to Mermaid, HTML or Markdown becomes a numbered entity.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Alone it would make a line break of a following `n`.
            '\\' => out.push_str("#92;#8203;"),
            '"' | '&' | '<' | '>' | '#' | '`' | '*' | '_' | '~' | '[' | ']' | '{' | '}' | '|' | ';' | '$' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}
