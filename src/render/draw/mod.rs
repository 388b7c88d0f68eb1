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
