//! Where the stages lead: what cannot be reached, what never ends, what could jump back and forth.

use super::Loader;
use super::fields::Fields;
use crate::table::model::{Action, Allowed, Model, Next, OnExhausted, Rule, Stage};
use crate::table::names::{NamePattern, StageId};
use crate::table::report::{Place, quoted};
use crate::table::yaml::{Entry, Kind};
use std::collections::HashMap;

/// Table rules with a `goto` that are compared with one another.
const COMPARED: usize = 64;
/// Stages named of a circle.
const NAMED: usize = 6;

impl Loader<'_> {
    pub fn check_flow(&mut self, table: &Fields<'_>, model: &Model) {
        let Some(Kind::Map(entries)) = table.get("stages").map(|f| &f.node.kind) else {
            return;
        };
        let Some(first) = model.stages.first() else {
            return;
        };
        if first.aside {
            let place = entries.first().map(|e| e.place).unwrap_or_default();
            let said = format!("the run begins in the first stage, so {} cannot be an aside", quoted(&first.name));
            self.report.error("aside-first", place, said, "put another stage before it");
        }
        self.check_ends(entries, model);
        self.check_reachable(entries, model);
        self.check_jumps(model);
    }

    fn check_ends(&mut self, entries: &[Entry], model: &Model) {
        for circle in circles(&model.stages) {
            let mut names: Vec<String> =
                circle.iter().take(NAMED).filter_map(|i| model.stages.get(*i)).map(|s| quoted(&s.name)).collect();
            if circle.len() > NAMED {
                names.push("…".to_owned());
            }
            names.extend(names.first().cloned());
            let Some(place) = circle.first().and_then(|i| entries.get(*i)).map(next_place) else {
                continue;
            };
            let said = format!("following `next` from here never reaches the end: {}", names.join(" → "));
            self.report.error(
                "no-way-to-end",
                place,
                said,
                "let one of them lead to `end`; going round again is for rules with `goto`",
            );
        }
    }

    fn check_reachable(&mut self, entries: &[Entry], model: &Model) {
        let reached = reached(model);
        for ((stage, entry), reached) in model.stages.iter().zip(entries).zip(reached) {
            if reached {
                continue;
            }
            let said = format!("no way leads to the stage {}", quoted(&stage.name));
            let help = if stage.aside {
                "an aside is entered by name: by a `goto`, a `next` or an `on_exhausted`"
            } else {
                "name it in a `next`, `goto` or `on_exhausted`, or leave it out"
            };
            self.report.error("unreachable-stage", entry.place, said, help);
        }
    }

    /// Warns of two rules that could throw the run to and fro. Budgets bound it, but it is seldom meant.
    fn check_jumps(&mut self, model: &Model) {
        for (rule, other) in jumping_pairs(model) {
            let (Some(rule), Some(other), Some(place)) =
                (model.rules.get(rule), model.rules.get(other), self.rule_places.get(rule).copied())
            else {
                continue;
            };
            let said =
                format!("the rules {} and {} could jump back and forth", quoted(&other.name), quoted(&rule.name));
            let help = "only the budgets would end it: make one of the conditions false after the jump";
            self.report.warning("jumps-back", place, said, help);
        }
    }
}

/// A rule with a `goto`: its index, itself, where it leads.
type Jump<'m> = (usize, &'m Rule, StageId);

/// Pairs of rules, the later one first, of which each leads to where the other is met.
fn jumping_pairs(model: &Model) -> Vec<(usize, usize)> {
    let jumps: Vec<Jump<'_>> = model.rules.iter().enumerate().filter_map(|(i, rule)| jump(i, rule)).collect();
    let of_table: Vec<Jump<'_>> = jumps.iter().filter(|(_, r, _)| r.stage.is_none()).take(COMPARED).copied().collect();
    let mut of_stages: HashMap<(StageId, StageId), usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (i, rule, to) in &jumps {
        match rule.stage {
            Some(from) => {
                pairs.extend(of_stages.get(&(*to, from)).map(|other| (*i, *other)));
                let back = |(_, r, t): &&Jump<'_>| *t == from && from != *to && usable(r, *to, model);
                pairs.extend(of_table.iter().find(back).map(|(other, ..)| (*i, *other)));
                of_stages.entry((from, *to)).or_insert(*i);
            }
            None => {
                let back = |(j, r, t): &&Jump<'_>| j < i && t != to && usable(r, *to, model) && usable(rule, *t, model);
                pairs.extend(of_table.iter().find(back).map(|(other, ..)| (*i, *other)));
            }
        }
    }
    pairs
}

fn jump(index: usize, rule: &Rule) -> Option<Jump<'_>> {
    match rule.action {
        Action::Goto(to) => Some((index, rule, to)),
        _ => None,
    }
}

/// Whether a rule can be met in a stage.
fn usable(rule: &Rule, stage: StageId, model: &Model) -> bool {
    let Some(stage) = model.stages.get(stage.index()) else {
        return false;
    };
    rule.tools.is_empty() || rule.tools.iter().any(|tool| may_allow(stage, tool))
}

fn may_allow(stage: &Stage, tool: &NamePattern) -> bool {
    match &stage.allowed {
        Allowed::All => true,
        Allowed::These { exact, list } => {
            (tool.is_exact() && exact.contains(tool.as_str())) || list.iter().any(|p| p.overlaps(tool))
        }
    }
}

/// The place of a stage's `next`, or of the stage when it has none.
fn next_place(entry: &Entry) -> Place {
    let Kind::Map(of) = &entry.value.kind else {
        return entry.place;
    };
    of.iter().find(|e| e.key == "next").map_or(entry.place, |e| e.value.place)
}

/// Every circle of `next`, from its first stage in the file. An aside that goes back to the stage that led to it by
/// `next` is one too.
fn circles(stages: &[Stage]) -> Vec<Vec<usize>> {
    let mut circles = Vec::new();
    let mut seen: Vec<usize> = vec![0; stages.len()];
    for start in 0..stages.len() {
        let walk = start + 1;
        let mut path = Vec::new();
        let mut at = start;
        loop {
            match seen.get_mut(at) {
                Some(by) if *by == 0 => *by = walk,
                Some(by) if *by == walk => {
                    let mut circle: Vec<usize> = path.iter().copied().skip_while(|i| *i != at).collect();
                    let first = circle.iter().copied().min().unwrap_or(at);
                    while circle.first() != Some(&first) && !circle.is_empty() {
                        circle.rotate_left(1);
                    }
                    circles.push(circle);
                    break;
                }
                _ => break,
            }
            let before = path.last().copied();
            path.push(at);
            at = match stages.get(at).map(|s| s.next) {
                Some(Next::Stage(next)) => next.index(),
                Some(Next::Back) => {
                    if let Some(before) = before {
                        circles.push(vec![before, at]);
                    }
                    break;
                }
                _ => break,
            };
        }
    }
    circles.sort();
    circles.dedup();
    circles
}

/// Which stages some way leads to.
fn reached(model: &Model) -> Vec<bool> {
    let mut reached = vec![false; model.stages.len()];
    let mut gotos: Vec<Vec<usize>> = vec![Vec::new(); model.stages.len()];
    let mut open: Vec<usize> = vec![0];
    for rule in &model.rules {
        if let Action::Goto(to) = rule.action {
            match rule.stage {
                None => open.push(to.index()),
                Some(from) => {
                    if let Some(of) = gotos.get_mut(from.index()) {
                        of.push(to.index());
                    }
                }
            }
        }
    }
    while let Some(at) = open.pop() {
        let (Some(seen), Some(stage)) = (reached.get_mut(at), model.stages.get(at)) else {
            continue;
        };
        if std::mem::replace(seen, true) {
            continue;
        }
        if let Next::Stage(next) = stage.next {
            open.push(next.index());
        }
        if let OnExhausted::Stage(other) = stage.on_exhausted {
            open.push(other.index());
        }
        open.extend(gotos.get(at).into_iter().flatten());
    }
    reached
}
