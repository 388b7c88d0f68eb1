//! An API key: sent to its server, and written nowhere else.

use std::borrow::Cow;
use std::fmt;

/// What stands where a key stood.
const HIDDEN: &str = "***";
/// Shorter keys are dummies (`none`, `ollama`): hiding them in replies would tear ordinary words.
const SHORTEST_HIDDEN: usize = 8;

/// An API key. Neither printable nor serialisable; its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: String,
    /// The key as it stands in JSON, where that differs: servers echo it in raw arguments too.
    escaped: Vec<String>,
}

impl Secret {
    /// Takes a key without the blanks around it; `None` when nothing is left.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let key = text.trim();
        if key.is_empty() {
            return None;
        }
        let quoted = key.replace('\\', "\\\\").replace('"', "\\\"");
        let slashes = quoted.replace('/', "\\/");
        let escaped = [slashes, quoted].into_iter().filter(|text| text != key).collect();
        Some(Self { key: key.to_owned(), escaped })
    }

    /// The key in the environment variable `name`, if it is set, readable and not blank.
    #[must_use]
    pub fn from_env(name: &str) -> Option<Self> {
        std::env::var(name).ok().as_deref().and_then(Self::new)
    }

    /// The key itself, for the one header that needs it.
    pub(super) fn expose(&self) -> &str {
        &self.key
    }

    /// The text with every occurrence of the key replaced: a server may echo it.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.key.len() < SHORTEST_HIDDEN {
            return Cow::Borrowed(text);
        }
        let forms = self.escaped.iter().chain([&self.key]);
        forms.fold(Cow::Borrowed(text), |text, form| match text.contains(form) {
            true => Cow::Owned(text.replace(form, HIDDEN)),
            false => text,
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({HIDDEN})")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_key_is_hidden_in_debug_and_in_echoed_text() {
        let key = Secret::new(" sk-very-secret-1 \n").unwrap();
        assert_eq!(format!("{key:?}"), "Secret(***)");
        assert_eq!(key.redact("you sent sk-very-secret-1!"), "you sent ***!");
    }

    #[test]
    fn a_key_is_hidden_as_json_writes_it() {
        let key = Secret::new(r#"sk-a/b"c\d"#).unwrap();
        assert_eq!(key.redact(r#"sk-a/b"c\d sk-a/b\"c\\d sk-a\/b\"c\\d"#), "*** *** ***");
    }

    #[test]
    fn a_blank_key_is_no_key_and_a_dummy_tears_no_words() {
        assert!(Secret::new(" \t").is_none());
        assert_eq!(Secret::new("ollama").unwrap().redact("pull it with ollama"), "pull it with ollama");
    }
}
