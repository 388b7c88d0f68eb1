//! Conditions that a proof evaluates: those that read only stage, counters, whether facts hold and which tools ran.
//! Every other condition may go either way.

use crate::engine::core::{Core, is_true};
use crate::engine::guard::Identities;
use crate::engine::past::Ran;
use crate::table::script::Condition;
use crate::table::{FactId, StageTable};
use minijinja::Value;
use std::sync::Arc;

/// A condition that is evaluated.
#[derive(Clone, Debug)]
pub struct Evaluable {
    when: Condition,
    /// Facts it asks for.
    pub facts: Vec<FactId>,
    /// It reads the run's steps or calls.
    pub reads_run: bool,
    /// It reads steps of the stage.
    pub reads_stage: bool,
    /// Tools it asks about, whether they ran.
    pub tools: Vec<String>,
}

/// One word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Number,
    Sign(String),
}

impl Evaluable {
    /// Looks whether a condition is one.
    pub fn new(table: &StageTable, when: &Condition) -> Option<Self> {
        let tokens = tokens(when.source())?;
        let mut found =
            Self { when: when.clone(), facts: Vec::new(), reads_run: false, reads_stage: false, tools: Vec::new() };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).and_then(|b| tokens.get(b));
            match token {
                Token::Sign(_) | Token::Number | Token::Text(_) => {}
                Token::Word(word) => match word.as_str() {
                    "and" | "or" | "not" | "true" | "false" => {}
                    "stage.name" => {}
                    "stage.step" | "stage.left" => found.reads_stage = true,
                    "run.step" | "run.left" => found.reads_run = true,
                    // Whether a tool ever ran or succeeded; with arguments it depends on them.
                    "called" | "succeeded" => {
                        let call = tokens.get(at + 1..at + 4)?;
                        let [Token::Sign(open), Token::Text(tool), Token::Sign(close)] = call else { return None };
                        // A pattern would be a name to the proof and is none to the engine.
                        if open != "(" || close != ")" || tool.contains('*') {
                            return None;
                        }
                        found.tools.push(tool.clone());
                        at += 3;
                    }
                    other => {
                        let name = other.strip_prefix("facts.")?;
                        let fact = table.facts.iter().position(|f| *f.name == *name)?;
                        // Only whether it holds is kept, not its value.
                        if !(is_joint(before) && is_joint(tokens.get(at + 1))) {
                            return None;
                        }
                        found.facts.push(FactId(u16::try_from(fact).ok()?));
                    }
                },
            }
            at += 1;
        }
        Some(found)
    }

    /// Whether it holds now; `None` when it cannot be evaluated.
    pub fn holds<W: Identities>(&self, table: &StageTable, core: &Core<W>) -> Option<bool> {
        let stage = table.stages.get(core.stage.index())?;
        let facts = table.facts.iter().enumerate().map(|(i, decl)| {
            let holds = core.facts.get(i).and_then(Option::as_ref).is_some_and(is_true);
            (Value::from(&*decl.name), Value::from(holds))
        });
        let number = |n: u32| Value::from(n);
        let past = core.past.earlier();
        let context = Value::from_pairs([
            (
                "stage",
                Value::from_pairs([
                    ("name", Value::from(&*stage.name)),
                    ("step", number(core.spent_in(core.stage))),
                    ("left", number(core.left(table, core.stage))),
                ]),
            ),
            ("run", Value::from_pairs([("step", number(core.steps)), ("left", number(core.run_left(table)))])),
            ("facts", Value::from_pairs(facts)),
            ("called", asks(&past, |_| true)),
            ("succeeded", asks(&past, |ran| ran.succeeded)),
        ]);
        table.scripts.eval(&self.when, context).ok().map(|v| v.is_true())
    }
}

fn asks(past: &Arc<Vec<Ran>>, counts: fn(&Ran) -> bool) -> Value {
    let past = Arc::clone(past);
    Value::from_function(move |tool: String| past.iter().any(|ran| *ran.tool == *tool && counts(ran)))
}

/// Whether what stands beside a fact takes it as true or false.
fn is_joint(token: Option<&Token>) -> bool {
    match token {
        None => true,
        Some(Token::Word(word)) => matches!(word.as_str(), "and" | "or" | "not"),
        Some(Token::Sign(sign)) => sign == "(" || sign == ")",
        Some(_) => false,
    }
}

fn tokens(source: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '"' | '\'' => {
                let inner = rest.get(1..)?;
                let end = inner.find(first)?;
                let text = inner.get(..end)?;
                if text.contains('\\') {
                    return None;
                }
                (Token::Text(text.to_owned()), end + 2)
            }
            c if c.is_ascii_alphabetic() => {
                let end =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
                (Token::Word(rest.get(..end)?.to_owned()), end)
            }
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                (Token::Number, end)
            }
            _ => {
                let sign = ["==", "!=", "<=", ">=", "<", ">", "(", ")"].into_iter().find(|s| rest.starts_with(s))?;
                (Token::Sign(sign.to_owned()), sign.len())
            }
        };
        found.push(token);
        rest = rest.get(length..)?.trim_start();
    }
    Some(found)
}
