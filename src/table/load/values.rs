//! Single values: each reader reports what does not fit and goes on.

use super::Loader;
use super::fields::Field;
use super::scope::Scope;
use crate::table::keys::Shape;
use crate::table::limits;
use crate::table::model::Mode;
use crate::table::names::NamePattern;
use crate::table::report::{nearest, quoted};
use crate::table::script::{Condition, MAX_EXPRESSION, Text};
use crate::table::yaml::{Entry, Kind, Node, Scalar, scalar_type};
use regex::{Regex, RegexBuilder};

/// An exact decimal: `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub mantissa: u64,
    pub scale: u32,
}

impl Decimal {
    /// Digits after the point.
    const SCALE: u32 = 6;

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || (text.contains('.') && fraction.is_empty()) {
            return None;
        }
        let scale = u32::try_from(fraction.len()).ok().filter(|s| *s <= Self::SCALE)?;
        Some(Self { mantissa: format!("{whole}{fraction}").parse().ok()?, scale })
    }

    /// The number in millionths.
    pub fn micros(self) -> Option<u64> {
        self.mantissa.checked_mul(10_u64.checked_pow(Self::SCALE.checked_sub(self.scale)?)?)
    }

    /// `n` times the number, rounded up.
    pub fn times_rounded_up(self, n: u32) -> Option<u64> {
        let unit = 10_u64.checked_pow(self.scale)?;
        Some(self.mantissa.checked_mul(u64::from(n))?.div_ceil(unit))
    }
}

impl Loader<'_> {
    pub fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str) {
        let said = format!("{} must be {wanted}, not {}", named(what), node.called());
        if matches!(node.kind, Kind::Null) {
            let said = format!("{} has no value: it must be {wanted}", named(what));
            self.report.error("wrong-type", node.place, said, "give it a value, or leave the key out");
            return;
        }
        let help = match &node.kind {
            Kind::Scalar { text, plain: false } if wanted.ends_with("number") && scalar_type(text) != Scalar::Text => {
                Some("leave the quotes out".to_owned())
            }
            Kind::Map(entries) if wanted == "text" && looks_like_prose(entries) => {
                let help = "a colon followed by a space makes a key: put the whole text in quotes";
                self.report.error("yaml-colon", node.place, said, help);
                return;
            }
            Kind::Scalar { plain: true, .. } if wanted == "text" => Some("put it in quotes".to_owned()),
            Kind::Scalar { .. } if wanted == "a list" => Some("write it in brackets: `[…]`".to_owned()),
            _ => None,
        };
        self.report.error("wrong-type", node.place, said, help);
    }

    /// Text as it is.
    pub fn text(&mut self, field: Field<'_>) -> Option<String> {
        self.text_of(field.node, field.key.name).map(str::to_owned)
    }

    pub fn text_of<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.kind {
            Kind::Scalar { text, plain } if !plain || scalar_type(text) == Scalar::Text => {
                if text.len() > crate::table::script::MAX_TEXT {
                    let said = format!(
                        "{} is {} bytes long; the most is {}",
                        named(what),
                        text.len(),
                        crate::table::script::MAX_TEXT
                    );
                    self.report.error("text-too-long", node.place, said, "shorten it");
                    return None;
                }
                Some(text)
            }
            _ => {
                self.wrong_type(node, what, "text");
                None
            }
        }
    }

    /// Text for the model.
    pub fn template(&mut self, node: &Node, what: &str, scope: &Scope) -> Option<Text> {
        let source = self.text_of(node, what)?;
        if source.trim().is_empty() {
            self.report.error(
                "empty-text",
                node.place,
                format!("{} is empty", named(what)),
                "write what is to be said",
            );
            return None;
        }
        match self.scripts.text(source) {
            Ok(text) => {
                if text.source().contains(['{']) {
                    self.check_text_names(&text, node.place, what, scope);
                }
                Some(text)
            }
            Err(e) => {
                let help = "`{{ … }}` puts a value in, `{% … %}` is a statement; write `{{ \"{{\" }}` for the marks themselves";
                self.report.error("bad-template", node.place, format!("{} is no template: {e}", named(what)), help);
                None
            }
        }
    }

    /// An expression. Plain numbers and yes or no are expressions too.
    pub fn condition(&mut self, node: &Node, what: &str, scope: &Scope) -> Option<Condition> {
        let Some(source) = node.scalar() else {
            self.wrong_type(node, what, "an expression");
            return None;
        };
        if source.len() > MAX_EXPRESSION {
            let said = format!("{} is {} bytes long; the most is {MAX_EXPRESSION}", named(what), source.len());
            self.report.error(
                "expression-too-long",
                node.place,
                said,
                "set facts with rules of their own and test those",
            );
            return None;
        }
        match self.scripts.condition(source) {
            Ok(condition) => {
                let before = self.report.errors();
                self.check_condition_names(&condition, node.place, what, scope);
                if self.report.errors() == before
                    && let Some(why) = self.scripts.always_fails(&condition)
                {
                    let said = format!("{} can never be evaluated: {why}", named(what));
                    let help =
                        "it reads nothing that could change; compare values of one kind, and read what it is about";
                    self.report.error("bad-expression", node.place, said, help);
                }
                Some(condition)
            }
            Err(e) => {
                let help = "expressions are written as in Jinja: `not`, `and`, `or`, `==`, `in`, `is defined`";
                self.report.error("bad-expression", node.place, format!("{} is no expression: {e}", named(what)), help);
                None
            }
        }
    }

    pub fn regex(&mut self, node: &Node, what: &str) -> Option<Regex> {
        let source = self.text_of(node, what)?;
        self.regexes += 1;
        if self.regexes > limits::REGEXES {
            let said = format!("the table holds more than {} regular expressions", limits::REGEXES);
            self.report.error("too-many", node.place, said, "join some with `|`");
            return None;
        }
        match RegexBuilder::new(source).size_limit(limits::REGEX_SIZE).dfa_size_limit(limits::REGEX_SIZE).build() {
            Ok(regex) => Some(regex),
            Err(e) => {
                let said = format!("{} is no regular expression: {}", named(what), why_regex(&e));
                let help = "the syntax is that of the Rust crate `regex`: no look-around, no back-references";
                self.report.error("bad-regex", node.place, said, help);
                None
            }
        }
    }

    pub fn whole(&mut self, field: Field<'_>) -> Option<u32> {
        let (low, high) = bounds(field.key.shape)?;
        let (node, what) = (field.node, field.key.name);
        let Some(text) = number(node) else {
            self.wrong_type(node, what, "a whole number");
            return None;
        };
        let range = format!("it is a whole number from {low} to {high}");
        if scalar_type(text) != Scalar::Whole
            || text.starts_with('+')
            || text.contains(['x', 'o'])
            || (text.len() > 1 && text.starts_with('0'))
        {
            let said = format!("{} must be a whole number, not {}", named(what), quoted(text));
            self.report.error("bad-number", node.place, said, range);
            return None;
        }
        match text.parse::<i128>() {
            Ok(n) if n >= i128::from(low) && n <= i128::from(high) => u32::try_from(n).ok(),
            Ok(n) if n < i128::from(low) => {
                self.report.error(
                    "bad-number",
                    node.place,
                    format!("{} must be at least {low}, not {n}", named(what)),
                    range,
                );
                None
            }
            _ => {
                self.report.error("bad-number", node.place, format!("{} is too large", named(what)), range);
                None
            }
        }
    }

    pub fn decimal(&mut self, field: Field<'_>) -> Option<Decimal> {
        let Shape::Decimal(low, high) = field.key.shape else {
            return None;
        };
        let (node, what) = (field.node, field.key.name);
        let Some(text) =
            node.scalar().filter(|t| t.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')))
        else {
            self.wrong_type(node, what, "a number");
            return None;
        };
        let within = |d: &Decimal| {
            d.micros().is_some_and(|n| n > 0 && n >= u64::from(low) * 1_000_000 && n <= u64::from(high) * 1_000_000)
        };
        let decimal = Decimal::parse(text).filter(within);
        if decimal.is_none() {
            let said = format!("{} cannot be {}", named(what), quoted(text));
            let from = if low == 0 { "above 0".to_owned() } else { format!("from {low}") };
            let help = format!(
                "it is a number {from} to {high} with at most {} digits after the point, such as `1.2`",
                Decimal::SCALE
            );
            self.report.error("bad-number", node.place, said, help);
        }
        decimal
    }

    /// A duration in milliseconds.
    pub fn duration(&mut self, field: Field<'_>) -> Option<u64> {
        let (node, what) = (field.node, field.key.name);
        let Some(text) = node.scalar() else {
            self.wrong_type(node, what, "a duration");
            return None;
        };
        let ms = duration_ms(text);
        if ms.is_none() {
            let said = format!("{} cannot be {}", named(what), quoted(text));
            let help = "a duration is a whole number above 0 and a unit: `30s`, `10m`, `2h`; at most a year";
            self.report.error("bad-duration", node.place, said, help);
        }
        ms
    }

    pub fn switch(&mut self, field: Field<'_>) -> Option<bool> {
        if let Kind::Scalar { text, plain: true } = &field.node.kind
            && let Scalar::Switch(on) = scalar_type(text)
        {
            return Some(on);
        }
        self.wrong_type(field.node, field.key.name, "`true` or `false`");
        None
    }

    /// One of the words that the key's shape lists.
    pub fn word(&mut self, field: Field<'_>) -> Option<&'static str> {
        let words = words(field.key.shape)?;
        self.word_of(field.node, field.key.name, words)
    }

    pub fn word_of(&mut self, node: &Node, what: &str, words: &'static [&'static str]) -> Option<&'static str> {
        let all: Vec<String> = words.iter().map(|w| quoted(w)).collect();
        let Some(text) = node.scalar() else {
            self.wrong_type(node, what, &format!("one of {}", all.join(", ")));
            return None;
        };
        let word = words.iter().copied().find(|w| *w == text);
        if word.is_none() {
            let said = format!("{} cannot be {}", named(what), quoted(text));
            let help = match nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => format!("it is one of {}", all.join(", ")),
            };
            self.report.error("bad-value", node.place, said, help);
        }
        word
    }

    /// `on`, `off` or `observe`, `true` and `false` included.
    pub fn mode(&mut self, node: &Node, what: &str) -> Option<Mode> {
        match node.scalar() {
            Some("true" | "True" | "TRUE") => Some(Mode::On),
            Some("false" | "False" | "FALSE") => Some(Mode::Off),
            _ => match self.word_of(node, what, &["on", "off", "observe"])? {
                "off" => Some(Mode::Off),
                "observe" => Some(Mode::Observe),
                _ => Some(Mode::On),
            },
        }
    }

    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        let Kind::List(items) = &node.kind else {
            self.wrong_type(node, what, "a list");
            return None;
        };
        if items.len() > limits::LIST {
            let said = format!("{} lists {} entries; the most is {}", named(what), items.len(), limits::LIST);
            self.report.error("too-many", node.place, said, "use a pattern, or split the table");
            return None;
        }
        Some(items)
    }

    /// The entries of a mapping of the user's own names, at most `most`.
    pub fn entries<'n>(&mut self, field: Field<'n>, most: usize) -> Option<&'n [Entry]> {
        let Kind::Map(entries) = &field.node.kind else {
            self.wrong_type(field.node, field.key.name, "a mapping");
            return None;
        };
        if entries.len() > most {
            let said = format!("{} holds {} entries; the most is {most}", named(field.key.name), entries.len());
            self.report.error("too-many", field.place, said, "split the table");
            return None;
        }
        Some(entries)
    }

    /// A list of texts.
    pub fn texts(&mut self, field: Field<'_>) -> Vec<String> {
        let Some(items) = self.list(field.node, field.key.name) else {
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match self.text_of(item, field.key.name) {
                Some(text) if text.trim().is_empty() => {
                    let said = format!("{} holds an empty text", named(field.key.name));
                    self.report.error("empty-text", item.place, said, "leave it out");
                }
                Some(text) => texts.push(text.to_owned()),
                None => {}
            }
        }
        texts
    }

    /// One tool name or pattern, or a list of them.
    pub fn tool_patterns(&mut self, field: Field<'_>) -> Vec<NamePattern> {
        let what = field.key.name;
        if matches!(field.node.kind, Kind::Scalar { .. }) {
            return self.tool_pattern(field.node, what).into_iter().collect();
        }
        let Some(items) = self.list(field.node, what) else {
            return Vec::new();
        };
        if items.is_empty() {
            let help = "name a tool, or leave the key out";
            self.report.error("empty-list", field.node.place, format!("{} names no tool", named(what)), help);
        }
        items.iter().filter_map(|item| self.tool_pattern(item, what)).collect()
    }

    /// A tool name or pattern that catalogue or stages know.
    pub fn tool_pattern(&mut self, node: &Node, what: &str) -> Option<NamePattern> {
        let name = self.text_of(node, what)?;
        self.known_tool(name, node.place)
    }

    /// A list of words out of the shape's list, for `leave_by`.
    pub fn word_list(&mut self, field: Field<'_>) -> Option<Vec<&'static str>> {
        let Shape::List(Shape::Words(words)) = field.key.shape else {
            return None;
        };
        let items = self.list(field.node, field.key.name)?;
        let found: Vec<_> = items.iter().map(|item| self.word_of(item, field.key.name, words)).collect();
        found.into_iter().collect()
    }
}

/// Keys in backticks; phrases as they are.
fn named(what: &str) -> String {
    if what.contains(' ') || what.contains('`') { what.to_owned() } else { quoted(what) }
}

/// Whether a mapping is a sentence in which a colon stands.
fn looks_like_prose(entries: &[Entry]) -> bool {
    matches!(entries, [only] if only.key.contains(' ') || matches!(only.value.kind, Kind::Scalar { .. }))
}

fn number(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Scalar { text, plain: true } if matches!(scalar_type(text), Scalar::Whole | Scalar::Fraction) => {
            Some(text)
        }
        _ => None,
    }
}

fn bounds(shape: Shape) -> Option<(u32, u32)> {
    match shape {
        Shape::Whole(low, high) => Some((low, high)),
        _ => None,
    }
}

fn words(shape: Shape) -> Option<&'static [&'static str]> {
    match shape {
        Shape::Words(words) => Some(words),
        Shape::Any(shapes) => shapes.iter().find_map(|s| words(*s)),
        _ => None,
    }
}

/// Milliseconds of `30s`, `10m`, `2h`; `None` for anything else and for nothing at all.
pub(crate) fn duration_ms(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|ms| *ms > 0 && *ms <= limits::DURATION_MS)
}

/// The reason in one line: the crate draws a picture of several.
pub(super) fn why_regex(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => format!("it would take more than {} bytes", limits::REGEX_SIZE),
        other => {
            let said = other.to_string();
            let last = said.lines().next_back().unwrap_or_default();
            last.trim_start_matches("error: ").trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_steps_are_multiplied_exactly() {
        let headroom = Decimal::parse("1.2").unwrap();
        assert_eq!(headroom.times_rounded_up(6), Some(8));
        assert_eq!(headroom.times_rounded_up(5), Some(6));
        assert_eq!(Decimal::parse("1.1").unwrap().times_rounded_up(10), Some(11));
    }

    #[test]
    fn decimals_are_read_as_written() {
        assert_eq!(Decimal::parse("0.50").and_then(Decimal::micros), Some(500_000));
        assert_eq!(Decimal::parse("3").and_then(Decimal::micros), Some(3_000_000));
        for text in ["", ".5", "5.", "1e3", "-1", "1.2345678", "1_000"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_one_unit() {
        assert_eq!(duration_ms("30s"), Some(30_000));
        assert_eq!(duration_ms("2h"), Some(7_200_000));
        for text in ["0s", "s", "30", "1h30m", "1.5h", "-1s", "99999h", "30 s", "é"] {
            assert_eq!(duration_ms(text), None, "{text}");
        }
    }
}
