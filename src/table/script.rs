//! Conditions and texts: one language (minijinja), compiled at load, evaluated within bounds.

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

/// Longest expression, in bytes (design §2.2).
pub const MAX_EXPRESSION: usize = 1024;
/// Longest text or template, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;
/// Instructions one evaluation may take.
pub const FUEL: u64 = 20_000;
/// Longest rendered text, in characters; the rest is cut.
pub const MAX_RENDERED: usize = 32 * 1024;

/// A compiled expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    source: Box<str>,
    key: Box<str>,
}

impl Condition {
    /// The expression as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// A text for the model: said as it is, or a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    source: Box<str>,
    key: Option<Box<str>>,
}

impl Text {
    /// A text without template marks, said as it is.
    #[must_use]
    pub fn plain(source: &str) -> Self {
        Self { source: source.into(), key: None }
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Why an expression or a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
}

impl ScriptError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl From<Error> for ScriptError {
    fn from(e: Error) -> Self {
        Self::new(match e.detail() {
            Some(detail) => format!("{}: {detail}", e.kind()),
            None => e.kind().to_string(),
        })
    }
}

/// The compiled conditions and texts of one table.
#[derive(Debug)]
pub struct Scripts {
    env: Environment<'static>,
    made: usize,
}

impl Default for Scripts {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripts {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_fuel(Some(FUEL));
        env.set_recursion_limit(64);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.add_function("matches", matches);
        env.add_filter(super::strict::FILTER, |left: Value, op: String, right: Value| {
            super::strict::order(&left, &op, &right)
        });
        Self { env, made: 0 }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// When it is too long or not an expression.
    pub fn condition(&mut self, source: &str) -> Result<Condition, ScriptError> {
        if source.len() > MAX_EXPRESSION {
            return Err(ScriptError::new(format!(
                "the expression is {} bytes long; the most is {MAX_EXPRESSION}",
                source.len()
            )));
        }
        self.env.compile_expression(source).map(|_| ())?;
        let strict = super::strict::strict(source)?;
        self.made += 1;
        let key = format!("={}", self.made);
        self.env.add_template_owned(key.clone(), format!("{{% set it = ({strict}) %}}"))?;
        Ok(Condition { source: source.into(), key: key.into() })
    }

    /// Compiles a text; one without `{{`, `{%` or `{#` is said as it is.
    ///
    /// # Errors
    /// When it is too long or not a template.
    pub fn text(&mut self, source: &str) -> Result<Text, ScriptError> {
        if source.len() > MAX_TEXT {
            return Err(ScriptError::new(format!("the text is {} bytes long; the most is {MAX_TEXT}", source.len())));
        }
        if !["{{", "{%", "{#"].iter().any(|mark| source.contains(mark)) {
            return Ok(Text::plain(source));
        }
        self.made += 1;
        let key = format!("#{}", self.made);
        self.env.add_template_owned(key.clone(), source.to_owned())?;
        Ok(Text { source: source.into(), key: Some(key.into()) })
    }

    /// The top-level names an expression reads, sorted, dotted as far as known (`facts.recipient`).
    #[must_use]
    pub fn names_of_condition(&self, condition: &Condition) -> Vec<String> {
        self.names(&condition.key)
    }

    /// The names a text reads, sorted.
    #[must_use]
    pub fn names_of_text(&self, text: &Text) -> Vec<String> {
        text.key.as_deref().map(|key| self.names(key)).unwrap_or_default()
    }

    fn names(&self, key: &str) -> Vec<String> {
        let mut names: Vec<String> =
            self.env.get_template(key).map(|t| t.undeclared_variables(true).into_iter().collect()).unwrap_or_default();
        names.sort();
        names
    }

    /// Whether there is a filter of that name.
    #[must_use]
    pub fn has_filter(&self, name: &str) -> bool {
        !self.fails_with(&format!("{{{{ ''|{name} }}}}"), ErrorKind::UnknownFilter)
    }

    /// Whether there is a test of that name.
    #[must_use]
    pub fn has_test(&self, name: &str) -> bool {
        !self.fails_with(&format!("{{{{ '' is {name} }}}}"), ErrorKind::UnknownTest)
    }

    /// The environment does not list its filters, but it says which it does not know.
    fn fails_with(&self, source: &str, kind: ErrorKind) -> bool {
        self.env.render_str(source, ()).is_err_and(|e| e.kind() == kind)
    }

    /// The text that a string literal stands for.
    #[must_use]
    pub fn literal(&self, source: &str) -> Option<String> {
        let value = self.env.compile_expression(source).ok()?.eval(()).ok()?;
        value.as_str().map(str::to_owned)
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// When something it reads is missing or of another type, or it takes too long.
    pub fn eval(&self, condition: &Condition, context: Value) -> Result<Value, ScriptError> {
        let captured = self.env.get_template(&condition.key)?.render_captured(context)?;
        let value = captured.state().lookup("it").unwrap_or(Value::UNDEFINED);
        if value.is_undefined() {
            return Err(ScriptError::new("the value is undefined"));
        }
        Ok(value)
    }

    /// Why an expression that reads nothing cannot be evaluated, whenever it is asked.
    #[must_use]
    pub fn always_fails(&self, condition: &Condition) -> Option<ScriptError> {
        self.names_of_condition(condition).is_empty().then(|| self.eval(condition, Value::UNDEFINED).err())?
    }

    /// Renders a text. A template that fails at run time says so in its place, since a run must go on.
    #[must_use]
    pub fn render(&self, text: &Text, context: impl FnOnce() -> Value) -> String {
        let Some(key) = text.key.as_deref() else {
            return text.source.to_string();
        };
        let rendered = self.env.get_template(key).and_then(|t| t.render(context()));
        match rendered {
            Ok(mut said) => {
                if let Some((at, _)) = said.char_indices().nth(MAX_RENDERED) {
                    said.truncate(at);
                }
                said
            }
            Err(e) => format!("(this text of the table could not be made: {})", ScriptError::from(e)),
        }
    }
}

/// `matches(text, regex)`: whether the regex is found in the text.
fn matches(text: &str, pattern: &str) -> Result<bool, Error> {
    // Compiled regexes are kept per thread: a regex built per call would be the slowest part of a rule.
    thread_local! {
        static KEPT: std::cell::RefCell<Vec<(String, regex::Regex)>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    const MOST_KEPT: usize = 64;
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, regex)) = kept.iter().find(|(p, _)| p == pattern) {
            return Ok(regex.is_match(text));
        }
        let regex = regex::RegexBuilder::new(pattern)
            .size_limit(super::limits::REGEX_SIZE)
            .build()
            .map_err(|e| Error::new(minijinja::ErrorKind::InvalidOperation, format!("bad regex: {e}")))?;
        let found = regex.is_match(text);
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        kept.push((pattern.to_owned(), regex));
        Ok(found)
    })
}
