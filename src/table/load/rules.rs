//! `rules`, of the table and of a stage.

use super::Loader;
use super::fields::{Field, Fields};
use super::names::Named;
use super::scope::{self, Scope};
use crate::table::keys;
use crate::table::limits;
use crate::table::model::{Action, At, Model, Rule};
use crate::table::names::{FactId, RuleId, StageId};
use crate::table::report::{Place, quoted};
use crate::table::script::Condition;
use crate::table::yaml::Node;
use std::collections::HashMap;

/// The actions, and where each may stand.
const ACTIONS: &[(&str, &[At])] = &[
    ("deny", &[At::Call]),
    ("ask", &[At::Call]),
    ("goto", &[At::Result, At::Reply]),
    ("set", &[At::Result]),
    ("extend", &[At::Result, At::Reply, At::Step]),
    ("end", &[At::Result, At::Reply]),
    ("forget", &[At::Result, At::Step]),
];

impl At {
    /// The word in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Result => "result",
            Self::Reply => "reply",
            Self::Step => "step",
        }
    }

    /// What a condition and a text of such a rule may read.
    fn scopes(self) -> (&'static Scope, &'static Scope) {
        match self {
            Self::Call => (&scope::CALL, &scope::CALL_TEXT),
            Self::Result => (&scope::RESULT, &scope::RESULT_TEXT),
            Self::Reply => (&scope::REPLY, &scope::REPLY_TEXT),
            Self::Step => (&scope::STEP, &scope::STEP_TEXT),
        }
    }
}

impl Loader<'_> {
    /// Reads the `rules` of the table (`stage` = `None`) or of a stage into the model.
    pub fn rules(&mut self, fields: &Fields<'_>, stage: Option<StageId>, model: &mut Model) {
        let Some(field) = fields.get("rules") else {
            return;
        };
        let items = self.list(field.node, field.key.name).unwrap_or_default();
        if !self.few_enough(field, model.rules.len() + items.len(), "rules") {
            return;
        }
        for item in items {
            let Some((rule, place)) = self.rule(item, stage, model.rules.len() + 1) else {
                continue;
            };
            let id = RuleId(u16::try_from(model.rules.len()).unwrap_or(u16::MAX));
            if let Some(asked) = model.rules_at.get_mut(rule.at as usize) {
                asked.push(id);
            }
            model.rules.push(rule);
            self.rule_places.push(place);
        }
    }

    fn rule(&mut self, item: &Node, stage: Option<StageId>, number: usize) -> Option<(Rule, Place)> {
        let fields = self.object(item, &keys::RULE, "the rule")?;
        let name = match fields.get("name") {
            Some(field) => {
                let name = self.text(field)?;
                self.good_name(&name, field.node.place, Named::Thing("rule"));
                name
            }
            None => format!("rule-{number}"),
        };
        let at = match fields.get("at").and_then(|f| self.word(f))? {
            "call" => At::Call,
            "result" => At::Result,
            "reply" => At::Reply,
            _ => At::Step,
        };
        let (conditions, texts) = at.scopes();
        let place = fields.get("name").map_or(item.place, |f| f.node.place);
        let rule = Rule {
            tools: self.rule_tools(&fields, at),
            when: fields.get("when").and_then(|f| self.condition(f.node, f.key.name, conditions)),
            hint: fields.get("hint").and_then(|f| self.template(f.node, f.key.name, texts)),
            action: self.action(&fields, at, &name)?,
            name: name.as_str().into(),
            stage,
            at,
            line: place.line as usize,
        };
        Some((rule, place))
    }

    fn rule_tools(&mut self, fields: &Fields<'_>, at: At) -> Vec<crate::table::names::NamePattern> {
        let Some(field) = fields.get("tool") else {
            return Vec::new();
        };
        if matches!(at, At::Reply | At::Step) {
            let said = format!("`tool` says nothing at `at: {}`: there is no single call", at.as_str());
            let help = "leave it out, or look at `at: call` or `at: result`";
            self.report.error("bad-combination", field.place, said, help);
        }
        self.tool_patterns(field)
    }

    /// The one action of a rule.
    fn action(&mut self, fields: &Fields<'_>, at: At, name: &str) -> Option<Action> {
        let actions: Vec<Field<'_>> =
            fields.all().filter(|f| ACTIONS.iter().any(|(action, _)| *action == f.key.name)).collect();
        let what = format!("the rule {}", quoted(name));
        if let [first, second, ..] = actions.as_slice() {
            let said = format!("{what} has two actions: `{}` and `{}`", first.key.name, second.key.name);
            self.report.error("two-actions", second.place, said, "make two rules of it; the first that holds is taken");
        }
        let Some(field) = actions.first().copied() else {
            if fields.get("hint").is_none() {
                let names: Vec<String> = ACTIONS.iter().map(|(action, _)| quoted(action)).collect();
                let help = format!("give it one of {}, or a `hint` alone", names.join(", "));
                self.report.error("no-action", fields.place, format!("{what} does nothing"), help);
            }
            return Some(Action::Hint);
        };
        let places =
            ACTIONS.iter().find(|(action, _)| *action == field.key.name).map(|(_, at)| *at).unwrap_or_default();
        if !places.contains(&at) {
            let said = format!("`{}` cannot be done at `at: {}`", field.key.name, at.as_str());
            let all: Vec<String> = places.iter().map(|at| format!("`at: {}`", at.as_str())).collect();
            self.report.error("action-not-here", field.place, said, format!("it can at {}", all.join(", ")));
            return None;
        }
        self.action_of(field, at)
    }

    fn action_of(&mut self, field: Field<'_>, at: At) -> Option<Action> {
        let (_, texts) = at.scopes();
        match field.key.name {
            "deny" => self.template(field.node, field.key.name, texts).map(Action::Deny),
            "ask" => self.template(field.node, field.key.name, texts).map(Action::Ask),
            "goto" => self.stage_named(field.node, field.key.name).map(Action::Goto),
            "set" => self.set(field).map(Action::Set),
            "extend" => {
                let fields = self.object(field.node, &keys::EXTEND, "`extend`")?;
                let stage = fields.get("stage").and_then(|f| self.stage_named(f.node, f.key.name));
                let steps = fields.get("steps").and_then(|f| self.whole(f));
                Some(Action::Extend(stage?, steps?))
            }
            "end" => self.word(field).map(|word| Action::End(word == "completed")),
            _ => self.whole(field).map(Action::Forget),
        }
    }

    fn set(&mut self, field: Field<'_>) -> Option<Vec<(FactId, Condition)>> {
        let entries = self.entries(field, limits::ENTRIES)?;
        if entries.is_empty() {
            self.report.error(
                "empty-list",
                field.node.place,
                "`set` names no fact",
                "write `set: { fact: expression }`",
            );
        }
        let mut set = Vec::with_capacity(entries.len());
        for entry in entries {
            let fact = self.fact_named(&entry.key, entry.place);
            let what = format!("the value of {}", quoted(&entry.key));
            let value = self.condition(&entry.value, &what, &scope::RESULT);
            set.extend(fact.zip(value));
        }
        Some(set)
    }

    /// Rules are told apart by their names: in traces, in `explain`, in `assume`.
    pub fn check_rule_names(&mut self, model: &Model) {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let places = std::mem::take(&mut self.rule_places);
        for (rule, place) in model.rules.iter().zip(&places) {
            if let Some(line) = seen.insert(&rule.name, rule.line) {
                let said = format!("another rule is already called {}", quoted(&rule.name));
                self.report.error("name-taken", *place, said, format!("see line {line}; choose another name"));
            }
        }
        self.rule_places = places;
    }
}
