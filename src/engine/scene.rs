//! What conditions and texts can see: the call, its result, the reply, the stage, the run, the facts.

use super::core::{Conditions, Context, Core, Truth};
use super::guard::Watch;
use super::past::{MAX_PAST, Ran, matching};
use super::verdict::Check;
use crate::table::model::{Action, FactDecl, FactFrom, FactValue, Keep};
use crate::table::script::Condition;
use crate::table::{FactId, RuleId};
use minijinja::value::{Kwargs, Serde};
use minijinja::{Error, ErrorKind, Value};
use std::cell::OnceCell;
use std::sync::Arc;

/// Most matches of one fact taken from one text.
const MAX_MATCHES: usize = 1_000;

/// The result of a call, as conditions see it.
#[derive(Clone, Debug, Default)]
pub struct ResultSeen {
    /// The whole text, uncut.
    pub text: Arc<str>,
    /// It failed.
    pub error: bool,
}

/// The moment a condition looks at.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Table and tools.
    pub cx: Context<'a>,
    /// The task.
    pub task: &'a str,
    /// The call: tool and raw arguments.
    pub call: Option<(&'a str, &'a str)>,
    /// Its result.
    pub result: Option<ResultSeen>,
    /// The reply: text and number of calls.
    pub reply: Option<(&'a str, usize)>,
    /// Conditions that a scenario fixes.
    pub assume: &'a [(RuleId, bool)],
    /// Takes down what is asked, for `explain`.
    pub(super) notebook: Option<super::explain::Notebook>,
    made: OnceCell<Value>,
}

impl<'a> Scene<'a> {
    /// A scene without call, result and reply.
    #[must_use]
    pub fn new(cx: Context<'a>, task: &'a str, assume: &'a [(RuleId, bool)]) -> Self {
        Self { cx, task, call: None, result: None, reply: None, assume, notebook: None, made: OnceCell::new() }
    }

    fn context(&self, core: &Core<Watch>) -> Value {
        self.made.get_or_init(|| self.make(core)).clone()
    }

    fn make(&self, core: &Core<Watch>) -> Value {
        let mut names = base(self.cx, core, self.task);
        names.extend(moment(self.call, self.result.as_ref(), self.reply));
        let past = core.past.earlier();
        names.push(("called", lookup(&past, |found| Value::from(found.count() > 0))));
        names.push(("succeeded", lookup(&past, |found| Value::from(found.filter(|r| r.succeeded).count() > 0))));
        names.push(("times", lookup(&past, |found| Value::from(found.count()))));
        Value::from_pairs(names)
    }

    /// Evaluates an expression at this moment.
    ///
    /// # Errors
    /// What could not be evaluated.
    pub fn eval(&self, core: &Core<Watch>, condition: &Condition) -> Result<Value, String> {
        self.cx.table.scripts.eval(condition, self.context(core)).map_err(|e| e.message)
    }

    fn truth(&self, core: &Core<Watch>, rule: RuleId) -> Truth {
        if let Some((_, fixed)) = self.assume.iter().find(|(id, _)| *id == rule) {
            return if *fixed { Truth::Yes } else { Truth::No };
        }
        let Some(when) = self.cx.table.rules.get(rule.index()).and_then(|r| r.when.as_ref()) else {
            return Truth::Yes;
        };
        match self.eval(core, when) {
            Ok(value) if value.is_true() => Truth::Yes,
            Ok(_) => Truth::No,
            Err(_) => Truth::Failed,
        }
    }

    /// Whether an expression holds; one that fails does not.
    #[must_use]
    pub fn is_so(&self, core: &Core<Watch>, condition: &Condition) -> bool {
        self.eval(core, condition).is_ok_and(|v| v.is_true())
    }

    /// The values a fact gets out of `text`.
    #[must_use]
    pub fn learn(&self, core: &Core<Watch>, fact: &FactDecl, text: &str) -> Vec<serde_json::Value> {
        match &fact.value {
            FactValue::Whole => vec![text.into()],
            FactValue::Value(expression) => match self.eval(core, expression) {
                Ok(value) if !value.is_none() => serde_json::to_value(value).into_iter().collect(),
                _ => Vec::new(),
            },
            FactValue::Match(regex) => {
                let most = if fact.keep == Keep::All { MAX_MATCHES } else { 1 };
                let found = regex.captures_iter(text).take(most);
                found.filter_map(|c| c.get(1).or_else(|| c.get(0)).map(|m| m.as_str().into())).collect()
            }
        }
    }

    /// What the facts learn from a successful result of `tool`.
    #[must_use]
    pub fn learn_from_result(&self, core: &Core<Watch>, tool: &str) -> Vec<(FactId, Option<serde_json::Value>)> {
        let Some(result) = &self.result else { return Vec::new() };
        let of_tool =
            |f: &FactDecl| matches!(&f.from, FactFrom::Result(tools) if tools.iter().any(|p| p.matches(tool)));
        facts(self.cx)
            .filter(|(_, fact)| of_tool(fact))
            .flat_map(|(id, fact)| self.learn(core, fact, &result.text).into_iter().map(move |v| (id, Some(v))))
            .collect()
    }
}

/// What conditions and texts may read of the moment: the call, its result, the reply.
#[must_use]
pub fn moment(call: Option<(&str, &str)>, result: Option<&ResultSeen>, reply: Option<(&str, usize)>) -> Names {
    let mut names = Names::new();
    if let Some((tool, args)) = call {
        let args: serde_json::Value = parsed(args);
        names.push(("call", map([("tool", tool.into()), ("args", Value::from(Serde(&args)))])));
    }
    if let Some(result) = result {
        names.push(("result", result_value(result)));
    }
    if let Some((text, calls)) = reply {
        names.push(("reply", map([("text", text.into()), ("calls", calls.into())])));
    }
    names
}

/// Names and values of a context.
pub type Names = Vec<(&'static str, Value)>;

/// The declared facts with their ids.
pub fn facts(cx: Context<'_>) -> impl Iterator<Item = (FactId, &FactDecl)> {
    cx.table.facts.iter().enumerate().filter_map(|(i, f)| Some((FactId(u16::try_from(i).ok()?), f)))
}

impl Conditions<Watch> for Scene<'_> {
    fn holds(&mut self, core: &Core<Watch>, rule: RuleId) -> Truth {
        let truth = self.truth(core, rule);
        if let Some(notebook) = &mut self.notebook {
            notebook.rule(self.cx, rule, truth);
        }
        truth
    }

    fn asks(&mut self, core: &Core<Watch>, check: Check) {
        if let Some(notebook) = &mut self.notebook {
            notebook.asks(self.cx, core, check);
        }
    }
    fn values(&mut self, core: &Core<Watch>, rule: RuleId) -> Vec<(FactId, Option<serde_json::Value>)> {
        let Some(Action::Set(set)) = self.cx.table.rules.get(rule.index()).map(|r| &r.action) else {
            return Vec::new();
        };
        set.iter()
            .map(|(fact, expression)| {
                let value = self.eval(core, expression).ok().and_then(|v| serde_json::to_value(v).ok());
                (*fact, value)
            })
            .collect()
    }
}

/// The names every condition and text may read.
#[must_use]
pub fn base(cx: Context<'_>, core: &Core<Watch>, task: &str) -> Names {
    let stage = core.stage;
    let name = core.stage_in(cx).map(|s| Value::from(&*s.name)).unwrap_or_default();
    let facts = Value::from_pairs(facts(cx).map(|(id, decl)| {
        let value = core.facts.get(id.index()).and_then(Option::as_ref);
        let value = match (value, decl.keep) {
            (Some(value), _) => Value::from(Serde(value)),
            (None, Keep::All) => Value::from(Vec::<Value>::new()),
            (None, _) => Value::from(()),
        };
        (Value::from(&*decl.name), value)
    }));
    let mut names: Names = vec![(
        "stage",
        map([("name", name), ("step", core.spent_in(stage).into()), ("left", core.left(cx.table, stage).into())]),
    )];
    names.push((
        "run",
        map([("step", core.steps.into()), ("left", core.run_left(cx.table).into()), ("calls", core.calls.into())]),
    ));
    names.push(("facts", facts));
    names.push(("task", task.into()));
    names
}

fn map<const N: usize>(pairs: [(&'static str, Value); N]) -> Value {
    Value::from_pairs(pairs)
}

pub(super) fn parsed(args: &str) -> serde_json::Value {
    if args.trim().is_empty() {
        return serde_json::Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(args).unwrap_or_default()
}

fn result_value(result: &ResultSeen) -> Value {
    let text = &result.text;
    let trimmed = text.trim();
    let mut names = Names::new();
    // A result that is no JSON has no `json`: reading it fails, and the condition with it.
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        names.push(("json", Value::from(Serde(json))));
    }
    names.push(("text", Value::from(&**text)));
    names.push(("empty", matches!(trimmed, "" | "null" | "[]" | "{}").into()));
    names.push(("error", result.error.into()));
    names.push(("chars", text.chars().count().into()));
    Value::from_pairs(names)
}

fn lookup(
    past: &Arc<Vec<Ran>>,
    answer: impl Fn(&mut dyn Iterator<Item = &Ran>) -> Value + Send + Sync + 'static,
) -> Value {
    let past = Arc::clone(past);
    Value::from_function(move |tool: String, wanted: Kwargs| -> Result<Value, Error> {
        let mut pairs = Vec::new();
        for name in wanted.args() {
            let value: Value = wanted.get(name)?;
            pairs.push((name.to_owned(), serde_json::to_value(value).unwrap_or_default()));
        }
        let answer = answer(&mut matching(&past, &tool, &pairs));
        // The oldest calls may be forgotten by now: what is not remembered is not known not to have happened.
        if past.len() >= MAX_PAST && answer != Value::from(true) {
            return Err(Error::new(ErrorKind::InvalidOperation, "the run has made more calls than are remembered"));
        }
        Ok(answer)
    })
}
