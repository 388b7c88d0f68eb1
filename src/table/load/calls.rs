//! What names alone do not show of a condition or text: filters, tests, and the literal arguments of functions.

use super::Loader;
use crate::table::limits;
use crate::table::report::{Place, nearest, quoted};

/// One word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'s> {
    Word(&'s str),
    /// A string literal with its quotes.
    Literal(&'s str),
    Sign(char),
}

impl Loader<'_> {
    /// Checks filters, tests, tool names and regexes that stand literally in `source`.
    pub fn check_calls(&mut self, source: &str, expression: bool, place: Place, what: &str) {
        let parts = if expression { vec![source] } else { inside_marks(source) };
        for part in parts {
            let tokens = tokens(part);
            self.check_filters(&tokens, place, what);
            for (i, token) in tokens.iter().enumerate() {
                let Token::Word(function) = token else {
                    continue;
                };
                let is_part = i.checked_sub(1).is_some_and(|before| tokens.get(before) == Some(&Token::Sign('.')));
                let arguments = tokens.get(i + 1..).unwrap_or_default();
                if let Some((_, takes, example)) = FUNCTIONS.iter().find(|(name, ..)| name == function)
                    && !is_part
                    && (expression || arguments.first() == Some(&Token::Sign('(')))
                    && positional(arguments) != Some(*takes)
                {
                    let said = format!("{} does not give {} the arguments it takes", quoted(what), quoted(function));
                    self.report.error("bad-expression", self.narrow(place, function), said, format!("write {example}"));
                }
                match *function {
                    "called" | "succeeded" | "times" => self.check_tool_argument(arguments, place),
                    "matches" => self.check_regex_argument(arguments, place, what),
                    _ => {}
                }
            }
        }
    }

    fn check_filters(&mut self, tokens: &[Token<'_>], place: Place, what: &str) {
        for (before, next, after) in windows(tokens) {
            let (kind, name) = match (before, next, after) {
                (Token::Sign('|'), Token::Word(name), _) => ("filter", *name),
                (Token::Word("is"), Token::Word("not"), Some(Token::Word(name))) => ("test", *name),
                (Token::Word("is"), Token::Word(name), _) if *name != "not" => ("test", *name),
                _ => continue,
            };
            let known = if kind == "filter" { self.scripts.has_filter(name) } else { self.scripts.has_test(name) };
            if !known {
                let place = self.narrow(place, name);
                let said = format!("{} uses the {kind} {}, which does not exist", quoted(what), quoted(name));
                let all = if kind == "filter" { FILTERS } else { TESTS };
                let help = nearest(name, all.iter().copied()).map(|near| format!("did you mean {}?", quoted(near)));
                let help = help.unwrap_or_else(|| format!("the {kind}s are those of minijinja, such as {}", some(all)));
                self.report.error("undefined-name", place, said, help);
            }
        }
    }

    fn check_tool_argument(&mut self, arguments: &[Token<'_>], place: Place) {
        if let [Token::Sign('('), Token::Literal(literal), ..] = arguments
            && let Some(tool) = self.scripts.literal(literal)
        {
            let place = self.narrow(place, &tool);
            self.known_tool(&tool, place);
        }
    }

    /// The second argument of `matches`, when it is a literal.
    fn check_regex_argument(&mut self, arguments: &[Token<'_>], place: Place, what: &str) {
        if arguments.first() != Some(&Token::Sign('(')) {
            return;
        }
        let mut depth = 0_usize;
        for (i, token) in arguments.iter().enumerate() {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') if depth <= 1 => return,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                Token::Sign(',') if depth == 1 => {
                    let rest = arguments.get(i + 1..).unwrap_or_default();
                    if let [Token::Literal(literal), Token::Sign(')' | ','), ..] = rest
                        && let Some(regex) = self.scripts.literal(literal)
                    {
                        self.check_regex(&regex, place, what);
                    }
                    return;
                }
                _ => {}
            }
        }
    }

    fn check_regex(&mut self, regex: &str, place: Place, what: &str) {
        let built = regex::RegexBuilder::new(regex).size_limit(limits::REGEX_SIZE).build();
        if let Err(e) = built {
            let said = format!(
                "{} has a `matches` whose regular expression is bad: {}",
                quoted(what),
                super::values::why_regex(&e)
            );
            let help = "the syntax is that of the Rust crate `regex`: no look-around, no back-references";
            self.report.error("bad-regex", place, said, help);
        }
    }
}

/// The functions, how many arguments without a name they take, and how they are written.
const FUNCTIONS: [(&str, usize, &str); 4] = [
    ("called", 1, "`called('read_file')`, or with arguments by name: `called('read_file', path='a')`"),
    ("succeeded", 1, "`succeeded('run_tests')`, or with arguments by name: `succeeded('run_tests', suite='all')`"),
    ("times", 1, "`times('read_file') > 3`, or with arguments by name: `times('read_file', path='a')`"),
    ("matches", 2, "`matches(result.text, '[0-9]+ failed')`"),
];

/// How many arguments without a name stand in the brackets that `tokens` begin with; `None` when there are none.
fn positional(tokens: &[Token<'_>]) -> Option<usize> {
    if tokens.first() != Some(&Token::Sign('(')) {
        return None;
    }
    let (mut depth, mut count, mut starts) = (0_usize, 0, true);
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign(')' | ']' | '}') if depth <= 1 => return Some(count),
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Sign('(' | '[' | '{') if i == 0 => depth = 1,
            Token::Sign(',') if depth == 1 => starts = true,
            _ => {
                let named =
                    matches!(tokens.get(i + 1..i + 3), Some([Token::Sign('='), next]) if *next != Token::Sign('='));
                count += usize::from(starts && !named);
                starts = false;
                depth += usize::from(matches!(token, Token::Sign('(' | '[' | '{')));
            }
        }
    }
    Some(count)
}

/// Some filters and tests to suggest.
const FILTERS: &[&str] = &[
    "lower", "upper", "title", "length", "count", "trim", "join", "split", "lines", "default", "round", "abs", "int",
    "float", "first", "last", "min", "max", "sort", "list", "string", "bool", "replace", "tojson", "unique", "items",
];
const TESTS: &[&str] =
    &["defined", "undefined", "none", "string", "number", "sequence", "mapping", "true", "false", "in"];

fn some(all: &[&str]) -> String {
    all.iter().take(5).map(|n| quoted(n)).collect::<Vec<_>>().join(", ")
}

fn windows<'t, 's>(
    tokens: &'t [Token<'s>],
) -> impl Iterator<Item = (&'t Token<'s>, &'t Token<'s>, Option<&'t Token<'s>>)> {
    tokens.iter().enumerate().filter_map(|(i, t)| Some((t, tokens.get(i + 1)?, tokens.get(i + 2))))
}

/// The parts of a template between `{{ }}` and `{% %}`. `{% raw %}` is not looked into.
fn inside_marks(source: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let tail = rest.get(at + 1..).unwrap_or_default();
        let close = match tail.chars().next() {
            Some('{') => "}}",
            Some('%') => "%}",
            Some('#') => "#}",
            _ => {
                rest = tail;
                continue;
            }
        };
        let body = tail.get(1..).unwrap_or_default();
        let Some(end) = end_of(body, close) else {
            break;
        };
        let part = body.get(..end).unwrap_or_default();
        if part.trim_matches(['-', ' ', '\n']) == "raw" {
            break;
        }
        if close != "#}" {
            parts.push(part);
        }
        rest = body.get(end + 2..).unwrap_or_default();
    }
    parts
}

/// Where `close` stands outside string literals.
fn end_of(body: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (i, c) in body.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if close != "#}" && matches!(c, '"' | '\'') => quote = Some(c),
            None if body.get(i..).is_some_and(|b| b.starts_with(close)) => return Some(i),
            None => {}
        }
    }
    None
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut chars = source.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if c.is_alphabetic() || c == '_' {
            let mut end = start + c.len_utf8();
            while let Some((i, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
                end = i + c.len_utf8();
            }
            tokens.push(Token::Word(source.get(start..end).unwrap_or_default()));
        } else if matches!(c, '"' | '\'') {
            let mut end = source.len();
            let mut escaped = false;
            for (i, d) in chars.by_ref() {
                match d {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    d if d == c => {
                        end = i + 1;
                        break;
                    }
                    _ => {}
                }
            }
            tokens.push(Token::Literal(source.get(start..end).unwrap_or_default()));
        } else if !c.is_whitespace() {
            tokens.push(Token::Sign(c));
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_literals_and_signs_are_told_apart() {
        let found = tokens(r#"matches(call.args.path, "a\"|b") is x"#);
        assert!(found.contains(&Token::Literal(r#""a\"|b""#)), "{found:?}");
        assert_eq!(found.iter().filter(|t| **t == Token::Sign('|')).count(), 0);
    }

    #[test]
    fn only_what_stands_between_marks_is_looked_at() {
        assert_eq!(inside_marks("a | b {{ x | upper }} {# y | z #} {% if '}}' %}"), [" x | upper ", " if '}}' "]);
    }
}
