//! What every picture shows: the stages, where each may lead, and why.

use super::words::flat;
use crate::table::model::{Action, Allowed, At, Next, OnExhausted, Rule, Stage};
use crate::table::names::{NamePattern, StageId};
use crate::table::{Model, StageTable};

/// A rule that looks in more stages than this is drawn once, from a box that stands for any stage.
const MOST_COPIES: usize = 3;
/// Tools named in a box before the rest is counted.
const MOST_TOOLS: usize = 12;

/// A table, ready to be drawn.
pub(super) struct Graph {
    pub workflow: String,
    pub about: String,
    pub ceiling: u32,
    /// The stages in file order.
    pub nodes: Vec<Node>,
    /// What may happen in any stage.
    pub anywhere: Vec<Edge>,
}

/// One stage.
pub(super) struct Node {
    pub number: usize,
    pub name: String,
    pub goal: String,
    pub steps: String,
    pub tools: String,
    /// Conditions: who has to admit the run, what must hold before it is left.
    pub gates: Vec<String>,
    pub aside: bool,
    /// Where `next` leads.
    pub next: Target,
    /// Every other way out.
    pub edges: Vec<Edge>,
}

/// Where a way leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Stage(usize),
    End,
    Back,
}

/// A way that is not `next`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Edge {
    /// Why it is taken.
    pub why: String,
    pub to: Target,
}

impl Graph {
    pub(super) fn of(table: &StageTable) -> Self {
        let mut nodes: Vec<Node> = table.stages.iter().enumerate().map(|(at, s)| Node::of(table, at, s)).collect();
        let mut anywhere = Vec::new();
        for rule in &table.rules {
            let Some(edge) = rule_edge(rule) else { continue };
            let sources = sources(table, rule);
            if sources.len() > MOST_COPIES {
                anywhere.push(edge);
                continue;
            }
            for source in sources.into_iter().filter(|s| Target::Stage(*s) != edge.to) {
                if let Some(node) = nodes.get_mut(source) {
                    node.edges.push(edge.clone());
                }
            }
        }
        Self {
            workflow: flat(table.workflow()),
            about: flat(table.about.as_deref().unwrap_or_default()),
            ceiling: table.ceiling(),
            nodes,
            anywhere,
        }
    }

    /// The name of what a way leads to.
    pub(super) fn name_of(&self, target: Target) -> &str {
        match target {
            Target::Stage(at) => self.nodes.get(at).map_or("", |n| n.name.as_str()),
            Target::End => "end",
            Target::Back => "back",
        }
    }

    /// One line under the picture.
    pub(super) fn caption(&self) -> String {
        format!("ceiling: {}; no run takes more", steps(self.ceiling))
    }
}

impl Node {
    fn of(table: &Model, at: usize, stage: &Stage) -> Self {
        Self {
            number: at + 1,
            name: flat(&stage.name),
            goal: flat(stage.goal.source()),
            steps: budget(table, at, stage),
            tools: tools(&stage.allowed),
            gates: gates(table, at, stage),
            aside: stage.aside,
            next: match stage.next {
                Next::Stage(id) => Target::Stage(id.index()),
                Next::End => Target::End,
                Next::Back => Target::Back,
            },
            edges: exhausted(stage).into_iter().collect(),
        }
    }
}

fn steps(n: u32) -> String {
    if n == 1 { "1 step".to_owned() } else { format!("{n} steps") }
}

/// The budget in words: `12 steps, +8 by a-rule`, `3 steps, +1 afresh`.
fn budget(table: &Model, at: usize, stage: &Stage) -> String {
    let mut said = steps(stage.max_steps);
    if stage.on_exhausted == OnExhausted::RetryFresh {
        said.push_str(", +1 afresh");
    }
    for rule in &table.rules {
        if let Action::Extend(id, n) = rule.action
            && id.index() == at
        {
            said.push_str(&format!(", +{n} by {}", flat(&rule.name)));
        }
    }
    if let Some(n) = stage.max_calls {
        said.push_str(&format!(", {n} calls"));
    }
    said
}

fn tools(allowed: &Allowed) -> String {
    match allowed {
        Allowed::All => "all".to_owned(),
        Allowed::These { list, .. } if list.is_empty() => "none".to_owned(),
        Allowed::These { list, .. } => {
            let named: Vec<String> = list.iter().take(MOST_TOOLS).map(|p| flat(p.as_str())).collect();
            let more = list.len().saturating_sub(MOST_TOOLS);
            if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
        }
    }
}

fn gates(table: &Model, at: usize, stage: &Stage) -> Vec<String> {
    let mut gates = Vec::new();
    if stage.approval {
        gates.push("a person admits the run here".to_owned());
    }
    let facts: Vec<String> =
        stage.requires.iter().filter_map(|(id, _)| table.facts.get(id.index())).map(|fact| flat(&fact.name)).collect();
    if !facts.is_empty() {
        gates.push(format!("left only with {}", facts.join(", ")));
    }
    for entry in &table.tools {
        let here = stage_allows(&stage.allowed, &entry.name) && !stage.allowed.is_none();
        if !here {
            continue;
        }
        let needs: Vec<String> = entry
            .requires
            .iter()
            .filter_map(|(id, _)| table.facts.get(id.index()))
            .map(|fact| flat(&fact.name))
            .collect();
        if !needs.is_empty() {
            gates.push(format!("{} needs {}", flat(entry.name.as_str()), needs.join(", ")));
        }
        if entry.approval {
            gates.push(format!("{} asks a person", flat(entry.name.as_str())));
        }
    }
    gates.extend(table.rules.iter().filter(|rule| looks(rule, at, stage)).filter_map(rule_gate));
    gates
}

/// What a rule on calls may do to them.
fn rule_gate(rule: &Rule) -> Option<String> {
    let does = match rule.action {
        Action::Deny(_) => "may deny",
        Action::Ask(_) => "may ask a person about",
        _ => return None,
    };
    let tools: Vec<String> = rule.tools.iter().map(|tool| flat(tool.as_str())).collect();
    let what = if tools.is_empty() { "any call".to_owned() } else { tools.join(", ") };
    Some(format!("rule {} {does} {what}", flat(&rule.name)))
}

/// Whether a rule may look in a stage.
fn looks(rule: &Rule, at: usize, stage: &Stage) -> bool {
    match rule.stage {
        Some(StageId(id)) => usize::from(id) == at,
        None if matches!(rule.at, At::Reply | At::Step) => true,
        None if rule.tools.is_empty() => !stage.allowed.is_none(),
        None => rule.tools.iter().any(|tool| stage_allows(&stage.allowed, tool)),
    }
}

/// What a spent budget leads to, where that is not `next`.
fn exhausted(stage: &Stage) -> Option<Edge> {
    let to = match stage.on_exhausted {
        OnExhausted::Next | OnExhausted::RetryFresh => return None,
        OnExhausted::End if stage.is_final() => return None,
        OnExhausted::End => Target::End,
        OnExhausted::Stage(id) => Target::Stage(id.index()),
    };
    Some(Edge { why: "steps spent".to_owned(), to })
}

fn rule_edge(rule: &Rule) -> Option<Edge> {
    let to = match rule.action {
        Action::Goto(id) => Target::Stage(id.index()),
        Action::End(_) => Target::End,
        _ => return None,
    };
    Some(Edge { why: format!("rule {}", flat(&rule.name)), to })
}

/// The stages in which a rule may look.
fn sources(table: &Model, rule: &Rule) -> Vec<usize> {
    let stages = table.stages.iter().enumerate();
    stages.filter(|(at, stage)| looks(rule, *at, stage)).map(|(at, _)| at).collect()
}

/// Whether a stage allows a tool of that name, or one of that pattern.
fn stage_allows(allowed: &Allowed, tool: &NamePattern) -> bool {
    match allowed {
        Allowed::All => true,
        Allowed::These { list, .. } => list.iter().any(|p| p.matches(tool.as_str()) || tool.matches(p.as_str())),
    }
}
