//! Whether a run that the engine really played breaks a property, read off its events.

use super::property::Property;
use crate::engine::event::{EnteredBy, Event, Judged};
use crate::engine::input::CallNo;
use crate::engine::outcome::{LimitKind, Outcome};
use crate::table::model::Guarantee;
use crate::table::{Name, StageTable};
use crate::testing::Played;

/// A call that started.
struct Started {
    tool: Name,
    stage: Name,
    /// In a run nested in that stage.
    nested: bool,
    /// Tools that had succeeded before.
    succeeded: Vec<Name>,
    /// Facts that held.
    facts: Vec<Name>,
}

/// Whether the run breaks the property.
pub fn breaks(table: &StageTable, property: Property, played: &Played) -> bool {
    let summary = &played.summary;
    let started = started(played);
    match property {
        Property::Ceiling => summary.steps > table.ceiling(),
        Property::InStage => started.iter().any(|call| {
            !call.nested && table.stages.iter().any(|s| s.name == call.stage && !s.allowed.allows(&call.tool))
        }),
        Property::Calls => {
            let over = |call: &Started| {
                let runs = started.iter().filter(|c| c.tool == call.tool).count();
                table.tool_entry(&call.tool).and_then(|e| e.max_calls).is_some_and(|most| runs > most as usize)
            };
            let in_stage = |call: &Started| {
                let runs = started.iter().filter(|c| c.stage == call.stage && !c.nested).count();
                let most = table.stages.iter().find(|s| s.name == call.stage).and_then(|s| s.max_calls);
                !call.nested && most.is_some_and(|most| runs > most as usize)
            };
            started.iter().any(|call| over(call) || in_stage(call))
                || table.limits.max_calls.is_some_and(|most| started.len() > most as usize)
        }
        Property::Rollbacks => {
            let most = table.stages.iter().map(|s| s.guards.violations.max_rollbacks).max().unwrap_or(0);
            summary.rollbacks > most
        }
        Property::Gates => passes_a_gate(table, played, &started),
        Property::Ends | Property::Answers | Property::Closing => !played.broken.is_empty(),
        Property::Guarantee(at) => table.guarantees.get(at).is_some_and(|g| broken(table, g, played, &started)),
    }
}

fn broken(table: &StageTable, guarantee: &Guarantee, played: &Played, started: &[Started]) -> bool {
    let summary = &played.summary;
    match guarantee {
        Guarantee::Never { tool, before } => {
            started.iter().any(|c| tool.matches(&c.tool) && !c.succeeded.iter().any(|s| before.matches(s)))
        }
        Guarantee::AtMost { tool, times } => started.iter().filter(|c| tool.matches(&c.tool)).count() > *times as usize,
        Guarantee::Within { steps, .. } => summary.steps > *steps,
        Guarantee::OnlyIn { tool, stage } => {
            let only = table.stages.get(stage.index()).map(|s| &s.name);
            started.iter().any(|c| tool.matches(&c.tool) && Some(&c.stage) != only)
        }
        Guarantee::Reaches(stages) => {
            let outside = summary.limit.as_ref().is_some_and(|l| {
                matches!(l.kind, LimitKind::Tokens | LimitKind::Cost | LimitKind::Time | LimitKind::UserTurns)
            });
            let ended = summary
                .outcome
                .is_some_and(|o| !o.is_pause() && !matches!(o, Outcome::Declined | Outcome::ContextOverflow));
            let wanted: Vec<&Name> =
                stages.iter().filter_map(|s| table.stages.get(s.index())).map(|s| &s.name).collect();
            let reached =
                played.events().any(|e| matches!(e, Event::StageEntered { stage, .. } if wanted.contains(&stage)));
            ended && !outside && !reached
        }
    }
}

/// Whether a call ran, a stage was left or the run completed without what was required.
fn passes_a_gate(table: &StageTable, played: &Played, started: &[Started]) -> bool {
    let lacks = |facts: &[Name], requires: &[(crate::table::FactId, crate::table::script::Text)]| {
        let name = |fact: &crate::table::FactId| table.facts.get(fact.index()).map(|f| &f.name);
        requires.iter().any(|(fact, _)| name(fact).is_some_and(|n| !facts.contains(n)))
    };
    let call = |c: &Started| !c.nested && table.tool_entry(&c.tool).is_some_and(|e| lacks(&c.facts, &e.requires));
    let mut stage: Name = "".into();
    let mut facts: Vec<Name> = Vec::new();
    let mut left = false;
    let mut depth = 0_u32;
    for event in played.events() {
        match event {
            Event::ChildOpened { .. } => depth += 1,
            Event::ChildClosed { .. } => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 {
            continue;
        }
        let gate = || table.stages.iter().find(|s| s.name == stage).is_some_and(|s| lacks(&facts, &s.requires));
        match event {
            Event::StageEntered { by: EnteredBy::Answer | EnteredBy::Advance, .. } => left |= gate(),
            Event::RunEnded { outcome: Outcome::Completed, .. } => left |= gate(),
            _ => {}
        }
        if let Event::StageEntered { stage: entered, .. } = event {
            stage = entered.clone();
        }
        learn(&mut facts, event);
    }
    left || started.iter().any(call)
}

fn learn(facts: &mut Vec<Name>, event: &Event) {
    match event {
        Event::FactSet { fact, .. } if !facts.contains(fact) => facts.push(fact.clone()),
        Event::FactCleared { fact } => facts.retain(|f| f != fact),
        _ => {}
    }
}

/// The calls that really started, with the stage they were judged in.
fn started(played: &Played) -> Vec<Started> {
    let mut stage: Name = "".into();
    let mut succeeded: Vec<Name> = Vec::new();
    let mut facts: Vec<Name> = Vec::new();
    let mut asked: Vec<(CallNo, Started)> = Vec::new();
    let mut started = Vec::new();
    let mut depth = 0_u32;
    for event in played.events() {
        match event {
            Event::ChildOpened { .. } => depth += 1,
            Event::ChildClosed { .. } => depth = depth.saturating_sub(1),
            // A nested run has facts and stages of its own.
            _ if depth == 0 => learn(&mut facts, event),
            _ => {}
        }
        match event {
            Event::StageEntered { .. } if depth > 0 => {}
            Event::StageEntered { stage: entered, .. } => stage = entered.clone(),
            Event::CallFinished { tool, failed: false, .. } => succeeded.push(tool.clone()),
            Event::CallJudged { call, tool, resolved, judged } => {
                let tool = resolved.clone().unwrap_or_else(|| tool.clone());
                let one = Started {
                    tool,
                    stage: stage.clone(),
                    nested: depth > 0,
                    succeeded: succeeded.clone(),
                    facts: facts.clone(),
                };
                match judged {
                    Judged::Run if &*one.tool != crate::engine::roster::ADVANCE => started.push(one),
                    Judged::Ask { .. } => asked.push((*call, one)),
                    _ => {}
                }
            }
            Event::ApprovalGiven { call, yes } => {
                if let Some(at) = asked.iter().position(|(no, _)| no == call) {
                    let (_, one) = asked.remove(at);
                    if *yes {
                        started.push(one);
                    }
                }
            }
            _ => {}
        }
    }
    started
}
