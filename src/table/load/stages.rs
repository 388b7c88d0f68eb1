//! `stages`.

use super::fields::{Field, Fields};
use super::names::Named;
use super::values::Decimal;
use super::{Loader, scope};
use crate::table::keys;
use crate::table::limits;
use crate::table::model::{Allowed, Guards, LeaveBy, Model, Next, OnExhausted, Stage};
use crate::table::names::{NamePattern, StageId};
use crate::table::report::{Place, quoted};
use crate::table::script::Text;
use crate::table::yaml::{Entry, Kind};
use std::collections::HashSet;

/// What the table says for all stages.
pub(super) struct Defaults {
    pub headroom: Decimal,
    pub leave_by: LeaveBy,
    pub conversation: bool,
    pub guards: Guards,
}

impl Loader<'_> {
    pub fn stages(&mut self, table: &Fields<'_>, defaults: &Defaults, model: &mut Model) {
        let Some(field) = table.get("stages") else {
            return;
        };
        let Some(entries) = self.entries(field, limits::STAGES) else {
            return;
        };
        if entries.is_empty() {
            self.report.error("no-stages", field.place, "the table has no stage", "declare at least one");
        }
        let usual = usual_next(entries);
        for (i, (entry, usual)) in entries.iter().zip(usual).enumerate() {
            let id = StageId(u16::try_from(i).unwrap_or(u16::MAX));
            self.stage(entry, id, usual, defaults, model);
        }
    }

    fn stage(&mut self, entry: &Entry, id: StageId, usual: Next, defaults: &Defaults, model: &mut Model) {
        self.good_name(&entry.key, entry.place, Named::Thing("stage"));
        let what = format!("the stage {}", quoted(&entry.key));
        let mut stage = Stage {
            name: entry.key.as_str().into(),
            goal: Text::plain(""),
            allowed: Allowed::These { list: Vec::new(), exact: HashSet::new() },
            max_steps: 1,
            max_calls: None,
            requires: Vec::new(),
            next: usual,
            on_exhausted: OnExhausted::Next,
            leave_by: defaults.leave_by,
            conversation: defaults.conversation,
            aside: false,
            approval: false,
            hints: Vec::new(),
            guards: defaults.guards.clone(),
            model: None,
            line: entry.place.line as usize,
        };
        if let Some(fields) = self.object_at(&entry.value, &keys::STAGE, &what, entry.place) {
            self.fill_stage(&fields, &mut stage, defaults, &what);
            self.rules(&fields, Some(id), model);
        }
        model.stages.push(stage);
    }

    fn fill_stage(&mut self, fields: &Fields<'_>, stage: &mut Stage, defaults: &Defaults, what: &str) {
        let errors = self.report.errors();
        if let Some(goal) = fields.get("goal").and_then(|f| self.template(f.node, f.key.name, &scope::TEXT)) {
            stage.goal = goal;
        }
        if let Some(field) = fields.get("allowed_tools") {
            stage.allowed = self.allowed(field);
        }
        stage.max_steps = self.budget(fields, defaults.headroom, what).unwrap_or(1);
        stage.max_calls = fields.get("max_calls").and_then(|f| self.whole(f));
        stage.requires = fields.get("requires").map(|f| self.requires(f)).unwrap_or_default();
        stage.aside = fields.get("aside").and_then(|f| self.switch(f)).unwrap_or_default();
        if let Some(next) = fields.get("next").and_then(|f| self.next(f, stage.aside, what)) {
            stage.next = next;
        }
        stage.on_exhausted = match fields.get("on_exhausted").and_then(|f| self.on_exhausted(f)) {
            Some(said) => said,
            None if stage.requires.is_empty() => OnExhausted::Next,
            None => OnExhausted::End,
        };
        if let Some(leave_by) = fields.get("leave_by").and_then(|f| self.leave_by(f)) {
            stage.leave_by = leave_by;
        }
        if let Some(conversation) = fields.get("conversation").and_then(|f| self.switch(f)) {
            stage.conversation = conversation;
        }
        stage.approval = fields.get("approval").and_then(|f| self.word(f)) == Some("always");
        if let Some(field) = fields.get("hints") {
            stage.hints = self.hints(field, &stage.allowed, what);
        }
        if let Some(field) = fields.get("guards") {
            stage.guards = self.guards(field, &defaults.guards);
        }
        stage.model = fields.get("model").and_then(|f| self.text(f));
        if stage.is_final() && stage.budget() == 1 && !stage.allowed.is_none() && self.report.errors() == errors {
            let said = format!("{what} is final, has tools and only one step, which is kept for the answer");
            self.report.warning(
                "final-stage-one-step",
                fields.place,
                said,
                "give it at least two steps, or `allowed_tools: []`",
            );
        }
    }

    fn allowed(&mut self, field: Field<'_>) -> Allowed {
        let none = || Allowed::These { list: Vec::new(), exact: HashSet::new() };
        match field.node.scalar() {
            Some("all") => return Allowed::All,
            Some(_) => {
                self.wrong_type(field.node, field.key.name, "a list");
                return none();
            }
            None => {}
        }
        let items = self.list(field.node, field.key.name).unwrap_or_default();
        let mut list = Vec::with_capacity(items.len());
        let mut seen: HashSet<&str> = HashSet::new();
        for item in items {
            let Some(name) = self.text_of(item, field.key.name) else {
                continue;
            };
            if !self.good_name(name, item.place, Named::ToolPattern) {
                continue;
            }
            if !seen.insert(name) {
                self.report.warning(
                    "listed-twice",
                    item.place,
                    format!("{} is listed twice", quoted(name)),
                    "leave it out",
                );
                continue;
            }
            let pattern = NamePattern::new(name);
            self.in_catalogue(&pattern, item.place);
            list.push(pattern);
        }
        let exact = list.iter().filter(|p| p.is_exact()).map(|p| p.as_str().into()).collect();
        Allowed::These { list, exact }
    }

    /// `max_steps`, or what `expected_steps` comes to.
    fn budget(&mut self, fields: &Fields<'_>, headroom: Decimal, what: &str) -> Option<u32> {
        match (fields.get("max_steps"), fields.get("expected_steps")) {
            (Some(first), Some(second)) => {
                let place = first.place.max(second.place);
                let said = format!("{what} has both `max_steps` and `expected_steps`");
                self.report.error("two-budgets", place, said, "keep one of them");
                None
            }
            (Some(field), None) => self.whole(field),
            (None, Some(field)) => {
                let steps = headroom.times_rounded_up(self.whole(field)?)?;
                let fits = u32::try_from(steps).ok().filter(|n| *n <= limits::STEPS);
                if fits.is_none() {
                    let said = format!("`expected_steps` with its headroom comes to {steps} steps");
                    let help = format!("the most is {}", limits::STEPS);
                    self.report.error("bad-number", field.node.place, said, help);
                }
                fits
            }
            (None, None) => {
                let help = "give it `max_steps`, or `expected_steps` for a budget with some headroom";
                self.report.error("missing-key", fields.place, format!("{what} has no budget"), help);
                None
            }
        }
    }

    fn next(&mut self, field: Field<'_>, aside: bool, what: &str) -> Option<Next> {
        match self.text_of(field.node, field.key.name)? {
            "end" => Some(Next::End),
            "back" if aside => Some(Next::Back),
            "back" => {
                let said = format!("{what} is no aside, so there is nothing to go back to");
                let help = "name a stage or `end`, or write `aside: true`";
                self.report.error("back-outside-aside", field.node.place, said, help);
                None
            }
            "next" => {
                let help = "leave `next` out for the next stage of the file";
                self.report.error("bad-value", field.node.place, "`next` cannot be `next`", help);
                None
            }
            _ => self.stage_named(field.node, field.key.name).map(Next::Stage),
        }
    }

    fn on_exhausted(&mut self, field: Field<'_>) -> Option<OnExhausted> {
        match self.text_of(field.node, field.key.name)? {
            "next" => Some(OnExhausted::Next),
            "end" => Some(OnExhausted::End),
            "retry_fresh" => Some(OnExhausted::RetryFresh),
            _ => self.stage_named(field.node, field.key.name).map(OnExhausted::Stage),
        }
    }

    fn hints(&mut self, field: Field<'_>, allowed: &Allowed, what: &str) -> Vec<(NamePattern, Text)> {
        let mut hints = Vec::new();
        for entry in self.entries(field, limits::ENTRIES).unwrap_or_default() {
            let tool = self.known_tool(&entry.key, entry.place);
            let text = self.template(&entry.value, &format!("the hint for {}", quoted(&entry.key)), &scope::TEXT);
            if let Some(tool) = &tool {
                self.hint_is_said(tool, allowed, entry.place, what);
            }
            hints.extend(tool.zip(text));
        }
        hints
    }

    fn hint_is_said(&mut self, tool: &NamePattern, allowed: &Allowed, place: Place, what: &str) {
        let never_said = match allowed {
            Allowed::All => true,
            Allowed::These { list, .. } if !tool.is_exact() => list.contains(tool),
            _ => allowed.allows(tool.as_str()),
        };
        if never_said {
            let said = format!("{what} allows {}, so this hint is never said", quoted(tool.as_str()));
            self.report.warning("hint-never-said", place, said, "hints are for tools that the stage does not allow");
        }
    }
}

/// Where each stage leads when it says nothing: the next stage of the file that is no aside, else the end.
fn usual_next(entries: &[Entry]) -> Vec<Next> {
    let mut next = Next::End;
    let mut all: Vec<Next> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate().rev() {
        all.push(next);
        if !is_aside(entry) {
            next = Next::Stage(StageId(u16::try_from(i).unwrap_or(u16::MAX)));
        }
    }
    all.reverse();
    all
}

fn is_aside(entry: &Entry) -> bool {
    let Kind::Map(of) = &entry.value.kind else {
        return false;
    };
    of.iter().any(|e| e.key == "aside" && matches!(e.value.scalar(), Some("true" | "True" | "TRUE")))
}
