//! A stage table as a picture: one format a file, all from the same graph.

mod dot;
mod graph;
mod mermaid;
mod svg;
mod text;
mod words;

use crate::table::StageTable;

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// A Mermaid flowchart, which GitHub and many editors show.
    Mermaid,
    /// Graphviz.
    Dot,
    /// A self-contained SVG, light or dark as the reader's screen is.
    Svg,
    /// Boxes of text, at most 80 columns wide.
    Text,
}

/// Draws a table. The same table gives the same bytes.
#[must_use]
pub fn draw(table: &StageTable, picture: Picture) -> String {
    let graph = graph::Graph::of(table);
    match picture {
        Picture::Mermaid => mermaid::draw(&graph),
        Picture::Dot => dot::draw(&graph),
        Picture::Svg => svg::draw(&graph),
        Picture::Text => text::draw(&graph),
    }
}

#[cfg(test)]
mod tests {
    use super::graph::{Edge, Graph, Node, Target};
    use super::*;

    fn node(number: usize, name: &str, next: Target) -> Node {
        Node {
            number,
            name: name.to_owned(),
            goal: "Find \"<b>\" & 'tags'; then --> stop\\n # `x` {y} | [z] *bold* 100 % %% 先读文件".to_owned(),
            steps: "4 steps".to_owned(),
            tools: "a<b, c&d, e\"f".to_owned(),
            gates: vec!["left only with <fact> & \"more\"".to_owned()],
            aside: false,
            next,
            edges: Vec::new(),
        }
    }

    fn odd() -> Graph {
        let mut first = node(1, "a \"quoted\" <stage>", Target::Stage(1));
        first.edges.push(Edge { why: "rule \"x\" --> <y> & z".to_owned(), to: Target::Stage(2) });
        let second = node(2, "b & c", Target::End);
        let mut aside = node(3, "]]> --", Target::Back);
        aside.aside = true;
        aside.edges.push(Edge { why: "steps spent".to_owned(), to: Target::Stage(0) });
        Graph {
            workflow: "</title><script>alert(1)</script> \"w\"".to_owned(),
            about: "1. <i>About</i> & \"more\" \\".to_owned(),
            ceiling: 12,
            nodes: vec![first, second, aside],
            anywhere: vec![Edge { why: "rule <any>".to_owned(), to: Target::End }],
        }
    }

    #[test]
    fn odd_characters_are_escaped_in_svg() {
        let svg = svg::draw(&odd());
        assert!(!svg.contains("<script>"), "{svg}");
        assert!(!svg.contains("<b>"), "{svg}");
        assert!(svg.contains("&lt;script&gt;") && svg.contains("b &amp; c"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn odd_characters_are_escaped_in_mermaid() {
        let mermaid = mermaid::draw(&odd());
        for line in mermaid.lines().filter(|l| !l.starts_with("%%")) {
            assert_eq!(line.matches('"').count() % 2, 0, "{line}");
            let allowed = line.replace("<br/>", "").replace("<b>", "").replace("</b>", "");
            assert!(!allowed.contains('<') && !allowed.contains('&'), "{line}");
        }
    }

    #[test]
    fn odd_characters_are_escaped_in_dot() {
        let dot = dot::draw(&odd());
        for line in dot.lines() {
            let bare = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
        }
        assert!(dot.contains("b &amp; c"), "{dot}");
    }

    #[test]
    fn text_fits_eighty_columns() {
        for line in text::draw(&odd()).lines() {
            assert!(words::width(line) <= 80, "{line}");
        }
    }
}
