//! Which names conditions and texts may read, and where.

use super::Loader;
use crate::table::report::{Place, nearest, quoted};
use crate::table::script::{Condition, Text};

/// The names one kind of condition or text may read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    roots: &'static [&'static str],
    /// Names of one message beside the roots.
    extra: &'static [&'static str],
}

impl Scope {
    const fn new(roots: &'static [&'static str]) -> Self {
        Self { roots, extra: &[] }
    }

    /// The same with the names of one message.
    pub const fn with(self, extra: &'static [&'static str]) -> Self {
        Self { extra, ..self }
    }

    fn holds(&self, root: &str) -> bool {
        self.roots.contains(&root) || self.extra.contains(&root)
    }
}

/// The system prompt, and facts out of the task.
pub(super) const TASK: Scope = Scope::new(&["task"]);
/// Goals, messages, the texts of `requires` and `hints`.
pub(super) const TEXT: Scope = Scope::new(&["stage", "run", "facts", "task", "products"]);
/// Conditions and texts of rules, by `at`.
pub(super) const CALL: Scope = Scope::new(&["call", "stage", "run", "facts", "task"]);
pub(super) const CALL_TEXT: Scope = Scope::new(&["call", "stage", "run", "facts", "task", "products"]);
pub(super) const RESULT: Scope = Scope::new(&["call", "result", "stage", "run", "facts", "task"]);
pub(super) const RESULT_TEXT: Scope = Scope::new(&["call", "result", "stage", "run", "facts", "task", "products"]);
pub(super) const REPLY: Scope = Scope::new(&["reply", "stage", "run", "facts", "task"]);
pub(super) const REPLY_TEXT: Scope = Scope::new(&["reply", "stage", "run", "facts", "task", "products"]);
pub(super) const STEP: Scope = Scope::new(&["stage", "run", "facts", "task"]);
pub(super) const STEP_TEXT: Scope = TEXT;

/// Every root with its parts. A part that ends in `.` may be followed by anything; no parts = checked elsewhere.
const ROOTS: &[(&str, &[&str], &str)] = &[
    ("call", &["tool", "args."], "`call` is known to rules with `at: call` or `at: result`"),
    (
        "result",
        &["text", "json.", "empty", "error", "chars"],
        "`result` is known to rules with `at: result` and to `failed_when`, `until` and facts `from: result`",
    ),
    ("reply", &["text", "calls"], "`reply` is known to rules with `at: reply`"),
    ("stage", &["name", "step", "left"], "`stage` is known to goals, rules and messages"),
    ("run", &["step", "left", "calls"], "`run` is known to goals, rules and messages"),
    ("facts", &[], "`facts` are known to goals, rules and messages"),
    ("products", &[], "`products` are known to texts, not to conditions"),
    ("task", &[""], "`task` is the task's text"),
];

/// Functions of ours and of minijinja.
const FUNCTIONS: &[&str] = &["called", "succeeded", "times", "matches", "range", "dict", "namespace"];

impl Loader<'_> {
    pub fn check_condition_names(&mut self, condition: &Condition, place: Place, what: &str, scope: &Scope) {
        let names = self.scripts.names_of_condition(condition);
        self.check_names(names, place, what, scope);
        self.check_calls(condition.source(), true, place, what);
    }

    pub fn check_text_names(&mut self, text: &Text, place: Place, what: &str, scope: &Scope) {
        let names = self.scripts.names_of_text(text);
        self.check_names(names, place, what, scope);
        self.check_calls(text.source(), false, place, what);
    }

    fn check_names(&mut self, names: Vec<String>, place: Place, what: &str, scope: &Scope) {
        for name in names {
            let (root, rest) = name.split_once('.').unwrap_or((&name, ""));
            if !scope.holds(root) {
                self.undefined_root(root, place, what, scope);
            } else if !scope.extra.contains(&root) && !rest.is_empty() {
                self.check_part(root, rest, place, what);
            }
        }
    }

    /// The place of `words` within a condition or text of one line; the whole place where they are not found.
    pub fn narrow(&self, place: Place, words: &str) -> Place {
        let line = place.line.checked_sub(1).and_then(|before| self.lines.get(before as usize));
        let (Some(line), 0) = (line, place.file) else {
            return place;
        };
        let at = |n: u32| line.char_indices().nth(n as usize).map_or(line.len(), |(i, _)| i);
        let start = place.column.saturating_sub(1);
        let part = line.get(at(start)..at(start.saturating_add(place.width))).unwrap_or_default();
        let found = part.match_indices(words).find(|(i, _)| {
            let before = part.get(..*i).and_then(|b| b.chars().next_back());
            let after = part.get(i + words.len()..).and_then(|a| a.chars().next());
            ![before, after].into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
        });
        match found {
            Some((i, _)) => place.part(part.get(..i).map_or(0, |b| b.chars().count()), words.chars().count()),
            None => place,
        }
    }

    fn undefined_root(&mut self, root: &str, place: Place, what: &str, scope: &Scope) {
        if FUNCTIONS.contains(&root) {
            return;
        }
        let place = self.narrow(place, root);
        let said = format!("{} reads {}, which is not known here", quoted(what), quoted(root));
        let candidates = scope.roots.iter().chain(scope.extra).chain(FUNCTIONS.iter().take(4)).copied();
        let known = ROOTS.iter().find(|(name, ..)| *name == root).map(|(_, _, help)| (*help).to_owned());
        let help = known.or_else(|| nearest(root, candidates).map(|near| format!("did you mean {}?", quoted(near))));
        let help = help.or_else(|| {
            let known: Vec<String> = scope.roots.iter().chain(scope.extra).map(|n| quoted(n)).collect();
            Some(format!("known here: {}", known.join(", ")))
        });
        self.report.error("undefined-name", place, said, help);
    }

    fn check_part(&mut self, root: &str, rest: &str, place: Place, what: &str) {
        let place = self.narrow(place, &format!("{root}.{rest}"));
        let (part, deeper) = rest.split_once('.').map_or((rest, false), |(part, _)| (part, true));
        match root {
            "facts" => {
                if self.survey.fact(part).is_none() {
                    self.unknown_name("fact", part, place);
                }
            }
            "products" => {
                if self.survey.stage(part).is_none() {
                    self.unknown_name("stage", part, place);
                }
            }
            _ => {
                let Some((_, parts, _)) = ROOTS.iter().find(|(name, ..)| *name == root) else {
                    return;
                };
                let fits = |p: &&&str| p.trim_end_matches('.') == part && (!deeper || p.ends_with('.'));
                if parts.iter().find(fits).is_some() {
                    return;
                }
                let said = format!("{} reads {}, which is not known", quoted(what), quoted(&format!("{root}.{rest}")));
                let names = parts.iter().map(|p| p.trim_end_matches('.')).filter(|p| !p.is_empty());
                let near = nearest(part, names.clone()).filter(|_| !deeper);
                let help = match near {
                    Some(near) => format!("did you mean {}?", quoted(&format!("{root}.{near}"))),
                    None => {
                        let all: Vec<String> = names.map(|n| quoted(&format!("{root}.{n}"))).collect();
                        if all.is_empty() {
                            format!("{} is text, it has no parts", quoted(root))
                        } else {
                            format!("there is {}", all.join(", "))
                        }
                    }
                };
                self.report.error("undefined-name", place, said, help);
            }
        }
    }
}
