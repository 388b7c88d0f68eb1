//! What each check of the public order saw when a call was judged: for `explain`, recorded by the very judging.

use super::core::{Context, Core, Proposed, Target, Truth, at};
use super::guard::Watch;
use super::input::CallNo;
use super::roster::ToolIdx;
use super::verdict::Check;
use crate::table::model::{Effect, Mode, Stage, ToolEntry};
use crate::table::{FactId, RuleId};
use serde::Serialize;

/// Most characters of a fact's value that are shown.
const MAX_VALUE: usize = 80;

/// A value that a check looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Saw {
    /// What it is, in words.
    pub what: String,
    /// The value, in words.
    pub value: String,
}

/// How a rule's condition came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleAsked {
    /// The rule.
    pub rule: String,
    /// `deny`, `ask` or `hint`.
    pub action: &'static str,
    /// `true`, `false`, or that it could not be evaluated.
    pub came_out: &'static str,
    /// Its line in the table, from 1.
    pub line: usize,
}

/// One check that was made of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Which.
    pub check: Check,
    /// What it saw.
    pub saw: Vec<Saw>,
    /// Rules that were asked for it.
    pub rules: Vec<RuleAsked>,
    /// The line of the table that speaks of it, from 1; `None` where the table says nothing.
    pub line: Option<usize>,
}

/// The checks of one call, in the order they were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The engine's number.
    pub call: CallNo,
    /// The table it was judged by; another than the run's in a nested run.
    pub file: String,
    /// The stage it was judged in.
    pub stage: String,
    /// Each check up to the one that decided.
    pub checks: Vec<Asked>,
}

/// Takes down what is asked of one call.
#[derive(Debug, Default)]
pub(super) struct Notebook {
    proposed: Option<Proposed>,
    /// Why the arguments are malformed, where they are.
    why: String,
    pub(super) asked: Vec<Asked>,
}

impl Notebook {
    pub(super) fn of(proposed: Proposed, why: &str) -> Self {
        Self { proposed: Some(proposed), why: why.to_owned(), asked: Vec::new() }
    }

    pub(super) fn asks(&mut self, cx: Context<'_>, core: &Core<Watch>, check: Check) {
        let Some(proposed) = self.proposed else { return };
        let look = Look { cx, core, proposed, why: &self.why };
        let (saw, line) = look.at(check);
        self.asked.push(Asked { check, saw, rules: Vec::new(), line: line.filter(|line| *line > 0) });
    }

    pub(super) fn rule(&mut self, cx: Context<'_>, rule: RuleId, truth: Truth) {
        let (Some(asked), Some(rule)) = (self.asked.last_mut(), cx.table.rules.get(rule.index())) else { return };
        asked.rules.push(RuleAsked {
            rule: rule.name.to_string(),
            action: rule.action.name(),
            came_out: match truth {
                Truth::Yes => "true",
                Truth::No => "false",
                Truth::Failed => "could not be evaluated",
            },
            line: rule.line,
        });
    }
}

/// One check about to be made.
struct Look<'a> {
    cx: Context<'a>,
    core: &'a Core<Watch>,
    proposed: Proposed,
    why: &'a str,
}

type Page = (Vec<Saw>, Option<usize>);

impl<'a> Look<'a> {
    fn at(&self, check: Check) -> Page {
        match check {
            Check::Ended => (self.ended(), None),
            Check::Malformed => (vec![saw("the arguments", self.arguments())], None),
            Check::UnknownTool => (vec![saw("the name means", self.name())], None),
            Check::NotAllowed => self.allowed(),
            Check::Requires => self.requires(),
            Check::Deny | Check::Approval => self.rules(check),
            Check::MaxCalls => self.max_calls(),
            Check::Conservative => self.conservative(),
            Check::Duplicate => self.duplicate(),
            Check::Cycle => self.cycle(),
            Check::SameTool => self.same_tool(),
            Check::CallsPerStep => self.calls_per_step(),
            Check::Depth | Check::Reentry | Check::Grant => self.nested(check),
        }
    }

    fn stage(&self) -> Option<&'a Stage> {
        self.core.stage_in(self.cx)
    }

    fn stage_line(&self) -> Option<usize> {
        self.stage().map(Stage::line)
    }

    fn tool(&self) -> Option<(ToolIdx, &'a ToolEntry)> {
        match self.proposed.what {
            Some(Target::Tool(tool)) => Some((tool, self.cx.roster.entry(self.cx.table, tool))),
            _ => None,
        }
    }

    fn ended(&self) -> Vec<Saw> {
        let reply = &self.core.reply;
        vec![
            saw("this is the closing request", yes(reply.closing)),
            saw("the model declines", yes(reply.facts.declined)),
        ]
    }

    fn arguments(&self) -> String {
        match self.proposed.identity {
            Some(_) => "are one JSON object".to_owned(),
            None if self.why.is_empty() => "stand in a reply that was cut short".to_owned(),
            None => format!("cannot be read: {}", self.why),
        }
    }

    fn name(&self) -> String {
        match self.proposed.what {
            None => "no tool".to_owned(),
            Some(Target::Advance) => "the control tool".to_owned(),
            Some(Target::Tool(tool)) => format!("the tool {}", self.cx.roster.name(tool)),
        }
    }

    fn allowed(&self) -> Page {
        use crate::table::model::Allowed;
        let Some(stage) = self.stage() else { return (Vec::new(), None) };
        let list = match &stage.allowed {
            Allowed::All => "every tool".to_owned(),
            Allowed::These { list, .. } if list.is_empty() => "no tool".to_owned(),
            Allowed::These { list, .. } => list.iter().map(|p| p.as_str()).collect::<Vec<_>>().join(", "),
        };
        let mut said = vec![saw(&format!("stage {} allows", stage.name), list)];
        if stage.leave_by.call {
            said.push(saw("the stage may be left by a call", "yes"));
        }
        if self.proposed.what == Some(Target::Advance) {
            said.push(saw("the stage may be left by advance", yes(stage.leave_by.advance)));
        }
        (said, Some(stage.line()))
    }

    fn requires(&self) -> Page {
        let (requires, line): (Vec<FactId>, _) = match (self.tool(), self.stage()) {
            (Some((_, entry)), _) => (entry.requires.iter().map(|(fact, _)| *fact).collect(), Some(entry.line)),
            (None, Some(stage)) => (stage.requires.iter().map(|(fact, _)| *fact).collect(), Some(stage.line())),
            (None, None) => (Vec::new(), None),
        };
        if requires.is_empty() {
            return (vec![saw("it requires", "no fact")], None);
        }
        let said = requires.into_iter().map(|fact| {
            let name = self.cx.table.facts.get(fact.index()).map_or("", |f| &*f.name);
            let value = self.core.facts.get(fact.index()).and_then(Option::as_ref);
            let value = value.map_or_else(|| "not set".to_owned(), ToString::to_string);
            saw(&format!("fact {name}"), super::speak::shortened(&value, MAX_VALUE))
        });
        (said.collect(), line)
    }

    fn rules(&self, check: Check) -> Page {
        let mut said = Vec::new();
        let mut line = None;
        if check == Check::Approval
            && let Some((_, entry)) = self.tool()
        {
            said.push(saw("the tool needs a person's yes", yes(entry.approval)));
            line = entry.approval.then_some(entry.line);
        }
        (said, line)
    }

    fn max_calls(&self) -> Page {
        let Some((tool, entry)) = self.tool() else { return (Vec::new(), None) };
        let of = |used: u32, most: Option<u32>| most.map_or(format!("{used}, no limit"), |m| format!("{used} of {m}"));
        let stage = self.stage();
        let in_stage = at(&self.core.stage_calls, self.core.stage.index());
        let said = vec![
            saw("calls of the tool", of(self.core.tool(tool).runs, entry.max_calls)),
            saw("calls in the stage", of(in_stage, stage.and_then(|s| s.max_calls))),
            saw("calls in the run", of(self.core.calls, self.cx.table.limits.max_calls)),
        ];
        let by_stage = || stage.filter(|s| s.max_calls.is_some()).map(Stage::line);
        (said, entry.max_calls.map(|_| entry.line).or_else(by_stage))
    }

    fn conservative(&self) -> Page {
        let Some((tool, _)) = self.tool() else { return (Vec::new(), None) };
        let Some(stage) = self.stage() else { return (Vec::new(), None) };
        let guard = &stage.guards.conservative;
        if guard.mode == Mode::Off {
            return (vec![off()], None);
        }
        let left = self.core.left(self.cx.table, self.core.stage) + u32::from(!self.core.reply.moved);
        let said = vec![
            saw("steps left", format!("{left}, it speaks below {}", guard.below)),
            saw("the tool has succeeded", yes(self.core.tool(tool).succeeded)),
        ];
        (said, self.stage_line())
    }

    fn duplicate(&self) -> Page {
        let Some(((_, entry), identity)) = self.tool().zip(self.proposed.identity) else { return (Vec::new(), None) };
        let mode = self.stage().map_or(Mode::Off, |s| s.guards.duplicate);
        let mut said = vec![saw("effect", effect(entry.effect))];
        if mode != Mode::On {
            said.push(if mode == Mode::Off { off() } else { saw("the guard", "only observes") });
        }
        let same = self.core.reply.seen.iter().find(|(id, _)| *id == identity);
        if let Some((_, first)) = same {
            said.push(saw("the same call stands earlier in this reply", format!("call {}", first.0)));
        }
        match self.core.watch.track(identity) {
            None => said.push(saw("this very call ran", "never")),
            Some((track, changed)) => {
                said.push(saw("this very call ran", format!("{} times, {} may", track.runs, entry.repeats)));
                if let Some(last) = track.last {
                    said.push(saw("last as", format!("call {}{}", last.0, if track.failed { ", failed" } else { "" })));
                }
                said.push(saw("something could have changed the answer since", yes(changed || self.unsettled())));
                said.push(saw("its last two results were equal", yes(track.equal)));
                if track.cut {
                    said.push(saw("its answer left the view", "yes"));
                }
                said.push(saw("times this guard answered it", track.ladder.to_string()));
            }
        }
        (said, Some(entry.line))
    }

    fn unsettled(&self) -> bool {
        self.core.reply.changing
    }

    fn cycle(&self) -> Page {
        let Some((identity, stage)) = self.proposed.identity.zip(self.stage()) else { return (Vec::new(), None) };
        let guard = stage.guards.cycle;
        if guard.mode == Mode::Off {
            return (vec![off()], None);
        }
        let (member, refused) = self.core.watch.in_circle(identity);
        let said = vec![
            saw("it is part of a circle of calls", yes(member)),
            saw("the circle is refused", format!("{}, after {} equal rounds", yes(refused), guard.refuse)),
        ];
        (said, None)
    }

    fn nested(&self, check: Check) -> Page {
        let Some((_, entry)) = self.tool() else { return (Vec::new(), None) };
        let Some(nested) = &entry.nested else { return (Vec::new(), None) };
        let said = match (check, &self.core.bound) {
            (Check::Grant, _) => {
                saw("steps left in the stage", self.core.left(self.cx.table, self.core.stage).to_string())
            }
            (_, Some(bound)) => saw("the chain of nested runs", bound.chain.join(", ")),
            (_, None) => saw("the chain of nested runs", "none"),
        };
        (vec![saw("it is a run of", nested.file.to_string()), said], Some(entry.line))
    }

    fn same_tool(&self) -> Page {
        let Some(((tool, _), stage)) = self.tool().zip(self.stage()) else { return (Vec::new(), None) };
        let guard = stage.guards.same_tool;
        if guard.mode == Mode::Off {
            return (vec![off()], None);
        }
        let streak = &self.core.streak;
        let row = if streak.tool == Some(tool) { streak.replies } else { 0 };
        (vec![saw("replies in a row with this tool alone", format!("{row} of {}", guard.in_a_row))], self.stage_line())
    }

    fn calls_per_step(&self) -> Page {
        let reply = &self.core.reply;
        let most = self.cx.table.limits.calls_per_step;
        let mut said = vec![saw("calls of this reply that run", format!("{} of {most}", reply.running))];
        if reply.withhold {
            said.push(saw("another call of the reply would not run (batch: atomic)", "yes"));
        }
        (said, None)
    }
}

fn saw(what: &str, value: impl Into<String>) -> Saw {
    Saw { what: what.to_owned(), value: value.into() }
}

fn off() -> Saw {
    saw("the guard", "is off")
}

fn yes(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Poll => "poll",
        Effect::Stateful => "stateful",
    }
}
