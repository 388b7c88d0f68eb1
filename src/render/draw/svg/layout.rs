//! Where everything stands, in pixels.

use super::super::graph::{Edge, Graph, Node, Target};
use super::super::words::{shorten, wrap};
use super::{lanes, mono};

const MARGIN: usize = 24;
const BOX: usize = 440;
const PAD: usize = 16;
const LINE: usize = 18;
const GAP: usize = 30;
const LANE: usize = 12;
/// Room beside the first and the last lane.
const SIDE: usize = 22;
const GOAL_COLUMNS: usize = 54;
const MONO_COLUMNS: usize = 54;
const GOAL_LINES: usize = 3;
const TOOL_LINES: usize = 3;
/// Pixels between two ways that arrive at one box.
const ARRIVAL: usize = 9;

pub(super) struct Layout {
    pub width: usize,
    pub height: usize,
    pub lines: Vec<Line>,
    pub boxes: Vec<Placed>,
    pub arrows: Vec<Arrow>,
}

/// One line of text.
pub(super) struct Line {
    pub x: usize,
    pub y: usize,
    pub class: &'static str,
    pub right: bool,
    pub text: String,
}

/// One box.
pub(super) struct Placed {
    pub x: usize,
    pub y: usize,
    pub w: usize,
    pub h: usize,
    pub round: usize,
    pub dashed: bool,
    pub lines: Vec<Line>,
}

/// One way, as an SVG path.
pub(super) struct Arrow {
    pub dashed: bool,
    pub path: String,
}

/// A way that still needs a lane.
struct Way {
    from_aside: bool,
    y: usize,
    to: usize,
    dashed: bool,
}

/// A box before it is placed: its lines, and which of them are ways out.
struct Sketch {
    heading: String,
    right: String,
    goal: Vec<String>,
    rows: Vec<String>,
    exits: Vec<(usize, bool)>,
}

impl Sketch {
    fn of(graph: &Graph, node: &Node, say_next: bool) -> (Self, Vec<Edge>) {
        let mut rows = wrap(&format!("tools: {}", node.tools), MONO_COLUMNS, TOOL_LINES);
        rows.extend(node.gates.iter().flat_map(|g| wrap(&format!("◆ {g}"), MONO_COLUMNS, 2)));
        let mut ways = Vec::new();
        let mut exits = Vec::new();
        if say_next {
            ways.push(Edge { why: "then".to_owned(), to: node.next });
            exits.push((rows.len(), false));
            rows.push(match node.next {
                Target::Back => "then back to where it was entered from".to_owned(),
                next => format!("then → {}", graph.name_of(next)),
            });
        }
        for way in &node.edges {
            exits.push((rows.len(), true));
            rows.push(format!("{} → {}", way.why, graph.name_of(way.to)));
            ways.push(way.clone());
        }
        let goal = wrap(&node.goal, GOAL_COLUMNS, GOAL_LINES);
        (
            Self { heading: format!("{}  {}", node.number, node.name), right: node.steps.clone(), goal, rows, exits },
            ways,
        )
    }

    fn anywhere(graph: &Graph) -> (Self, Vec<Edge>) {
        let rows: Vec<String> =
            graph.anywhere.iter().map(|way| format!("{} → {}", way.why, graph.name_of(way.to))).collect();
        let exits = (0..rows.len()).map(|row| (row, true)).collect();
        let heading = "any stage".to_owned();
        (Self { heading, right: String::new(), goal: Vec::new(), rows, exits }, graph.anywhere.clone())
    }

    fn height(&self) -> usize {
        PAD + LINE * (1 + self.goal.len() + self.rows.len()) + PAD / 2
    }

    fn row_y(&self, y: usize, row: usize) -> usize {
        y + PAD + LINE * (1 + self.goal.len() + row) + LINE / 2 - 3
    }

    fn place(&self, x: usize, y: usize, dashed: bool) -> Placed {
        let right = shorten(&self.right, MONO_COLUMNS / 2);
        let heading = shorten(&self.heading, MONO_COLUMNS - right.chars().count());
        let mut at = y + PAD + 6;
        let mut lines = vec![line(x + PAD, at, "h", heading)];
        if !right.is_empty() {
            lines.push(Line { right: true, ..line(x + BOX - PAD, at, "m q", right) });
        }
        for text in &self.goal {
            at += LINE;
            lines.push(line(x + PAD, at, "", text.clone()));
        }
        for text in &self.rows {
            at += LINE;
            lines.push(line(x + PAD, at, "m q", shorten(text, MONO_COLUMNS)));
        }
        Placed { x, y, w: BOX, h: self.height(), round: 8, dashed, lines }
    }
}

fn line(x: usize, y: usize, class: &'static str, text: String) -> Line {
    Line { x, y, class, right: false, text }
}

impl Layout {
    pub(super) fn of(graph: &Graph) -> Self {
        Builder::new(graph).finish()
    }
}

struct Builder<'a> {
    graph: &'a Graph,
    layout: Layout,
    /// Top and column (aside or not) of each stage's box.
    tops: Vec<(usize, bool)>,
    ways: Vec<Way>,
    /// Lower edge of what is drawn so far.
    bottom: usize,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph) -> Self {
        let layout = Layout { width: 0, height: 0, lines: Vec::new(), boxes: Vec::new(), arrows: Vec::new() };
        Self { graph, layout, tops: vec![(0, false); graph.nodes.len()], ways: Vec::new(), bottom: 0 }
    }

    fn finish(mut self) -> Layout {
        let top = self.title();
        self.main_column(top);
        let aside_sketches = self.aside_column(top);
        let spans = self.spans();
        let plain: Vec<(usize, usize)> = spans.iter().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
        let (chosen, many) = lanes::assign(&plain);
        let aside_x = MARGIN + BOX + 2 * SIDE + LANE * many;
        for ((way, span), lane) in self.ways.iter().zip(&spans).zip(chosen) {
            let to_aside = self.tops.get(way.to).is_some_and(|t| t.1);
            let from = if way.from_aside { aside_x } else { MARGIN + BOX };
            let to = if to_aside { aside_x } else { MARGIN + BOX };
            let x = MARGIN + BOX + SIDE + LANE * lane;
            let path = format!("M{from} {}H{x}V{}H{to}", span.0, span.1);
            self.layout.arrows.push(Arrow { dashed: way.dashed, path });
        }
        let has_asides = !aside_sketches.is_empty();
        for (sketch, y) in aside_sketches {
            self.layout.boxes.push(sketch.place(aside_x, y, true));
        }
        let right =
            if has_asides { aside_x + BOX } else { MARGIN + BOX + if many > 0 { SIDE + LANE * many } else { 0 } };
        self.layout.width = right + MARGIN;
        self.layout.height = self.bottom + MARGIN;
        self.layout
    }

    /// The heading; returns where the boxes begin.
    fn title(&mut self) -> usize {
        let mut y = MARGIN + 14;
        self.layout.lines.push(line(MARGIN, y, "t", shorten(&self.graph.workflow, 40)));
        for text in wrap(&self.graph.about, GOAL_COLUMNS, GOAL_LINES) {
            y += LINE + 2;
            self.layout.lines.push(line(MARGIN, y, "", text));
        }
        y += LINE + 2;
        self.layout.lines.push(line(MARGIN, y, "m q", self.graph.caption()));
        y + GAP / 2 + 6
    }

    fn main_column(&mut self, top: usize) {
        let main: Vec<usize> = self.indices(false);
        let mut y = top;
        for (place, &at) in main.iter().enumerate() {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            let below = main.get(place + 1).map_or(Target::End, |next| Target::Stage(*next));
            let (sketch, ways) = Sketch::of(self.graph, node, node.next != below);
            self.add_box(at, &sketch, &ways, y, false);
            self.layout.boxes.push(sketch.place(MARGIN, y, false));
            y += sketch.height();
            if node.next == below {
                let x = MARGIN + BOX / 2;
                self.layout.arrows.push(Arrow { dashed: false, path: format!("M{x} {y}V{}", y + GAP) });
            }
            y += GAP;
        }
        let ends = main.last().and_then(|at| self.graph.nodes.get(*at)).is_some_and(|n| n.next == Target::End);
        if ends {
            y = self.end_pill(y);
        }
        if !self.graph.anywhere.is_empty() {
            let (sketch, ways) = Sketch::anywhere(self.graph);
            self.add_ways(&sketch, &ways, y + GAP / 2, false);
            self.layout.boxes.push(sketch.place(MARGIN, y + GAP / 2, true));
            y += sketch.height() + GAP / 2;
        }
        self.bottom = self.bottom.max(y);
    }

    fn end_pill(&mut self, y: usize) -> usize {
        let w = mono("end") + 2 * PAD;
        let x = MARGIN + BOX / 2 - w / 2;
        let lines = vec![line(x + PAD, y + 17, "m", "end".to_owned())];
        self.layout.boxes.push(Placed { x, y, w, h: 26, round: 13, dashed: false, lines });
        y + 26
    }

    /// Each aside stands beside the first way that leads to it, below the aside before it.
    fn aside_column(&mut self, top: usize) -> Vec<(Sketch, usize)> {
        let mut placed = Vec::new();
        let mut free = top;
        for at in self.indices(true) {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            let (sketch, ways) = Sketch::of(self.graph, node, true);
            let wish = self.ways.iter().find(|w| w.to == at).map_or(free, |w| w.y.saturating_sub(PAD + LINE));
            let y = free.max(wish);
            self.add_box(at, &sketch, &ways, y, true);
            free = y + sketch.height() + GAP;
            self.bottom = self.bottom.max(free - GAP);
            placed.push((sketch, y));
        }
        placed
    }

    fn indices(&self, aside: bool) -> Vec<usize> {
        self.graph.nodes.iter().enumerate().filter(|(_, n)| n.aside == aside).map(|(at, _)| at).collect()
    }

    fn add_box(&mut self, at: usize, sketch: &Sketch, ways: &[Edge], y: usize, aside: bool) {
        if let Some(top) = self.tops.get_mut(at) {
            *top = (y, aside);
        }
        self.add_ways(sketch, ways, y, aside);
    }

    fn add_ways(&mut self, sketch: &Sketch, ways: &[Edge], y: usize, from_aside: bool) {
        for ((row, dashed), way) in sketch.exits.iter().zip(ways) {
            if let Target::Stage(to) = way.to {
                self.ways.push(Way { from_aside, y: sketch.row_y(y, *row), to, dashed: *dashed });
            }
        }
    }

    /// From where to where each way goes, ways to the same box a little apart.
    fn spans(&self) -> Vec<(usize, usize)> {
        let mut arrivals = vec![0; self.graph.nodes.len()];
        let mut spans = Vec::new();
        for way in &self.ways {
            let Some(count) = arrivals.get_mut(way.to) else { continue };
            let top = self.tops.get(way.to).map_or(0, |t| t.0);
            spans.push((way.y, top + PAD + ARRIVAL * (*count % 4)));
            *count += 1;
        }
        spans
    }
}
