//! A YAML value that knows where it stands.

use crate::table::report::Place;

/// One value of the file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub place: Place,
}

/// What the value is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar as it reads after unescaping.
    Scalar {
        text: String,
        /// Without quotes, so that `7` is a number and `true` is yes.
        plain: bool,
    },
    List(Vec<Node>),
    /// In file order; no key stands twice.
    Map(Vec<Entry>),
}

/// One `key: value`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub value: Node,
}

impl Node {
    /// What a person would call it: `a list`, `a whole number` …
    pub fn called(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
            Kind::Scalar { plain: false, .. } => "text",
            Kind::Scalar { text, plain: true } => match scalar_type(text) {
                Scalar::Whole => "a whole number",
                Scalar::Fraction => "a fraction",
                Scalar::Switch(_) => "yes or no",
                Scalar::Text => "text",
            },
        }
    }

    /// The scalar's text, quoted or not.
    pub fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// What a plain scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Whole,
    Fraction,
    Switch(bool),
    Text,
}

/// The type of a plain scalar by YAML's core schema.
pub(crate) fn scalar_type(text: &str) -> Scalar {
    match text {
        "true" | "True" | "TRUE" => return Scalar::Switch(true),
        "false" | "False" | "FALSE" => return Scalar::Switch(false),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "-.inf" | "+.inf" => return Scalar::Fraction,
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.starts_with("0x") || digits.starts_with("0o") {
        return Scalar::Whole;
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.contains(|c: char| c.is_ascii_digit()) {
        return Scalar::Text;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return Scalar::Whole;
    }
    if text.parse::<f64>().is_ok() { Scalar::Fraction } else { Scalar::Text }
}

/// Whether a plain scalar is YAML's way of writing nothing.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        for (text, scalar) in [
            ("7", Scalar::Whole),
            ("-7", Scalar::Whole),
            ("0x1f", Scalar::Whole),
            ("1.2", Scalar::Fraction),
            ("1e3", Scalar::Fraction),
            ("true", Scalar::Switch(true)),
            ("30s", Scalar::Text),
            ("...", Scalar::Text),
            ("yes", Scalar::Text),
        ] {
            assert_eq!(scalar_type(text), scalar, "{text}");
        }
    }
}
