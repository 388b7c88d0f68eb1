//! Names, indices and name patterns.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A name as the table or the model wrote it. Cheap to clone.
pub type Name = Arc<str>;

/// The place of a stage in its table, from 0, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StageId(pub u16);

/// The place of a rule: table rules first, then each stage's, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

/// The place of a fact in its table, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(pub u16);

impl StageId {
    /// The index into the table's stages.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl RuleId {
    /// The index into the table's rules.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl FactId {
    /// The index into the table's facts.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A tool name in a table: exact, or with `*` standing for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamePattern(Box<str>);

impl NamePattern {
    /// Takes the text as written.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text names exactly one tool.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether `name` is meant. Case counts.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            match rest.find(part) {
                Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
                None => return false,
            }
        }
        true
    }
}
