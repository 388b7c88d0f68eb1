//! The whole key tree of a stage table, described once: the loader, the JSON Schema and the reference read it.

mod guarantees;
mod guards;
mod tree;

pub(crate) use guarantees::*;
pub(crate) use guards::*;
pub(crate) use tree::*;

use super::limits;

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Text as it is.
    Text,
    /// Text for the model: a template.
    Template,
    /// An expression; yes, no and numbers are expressions too.
    Expression,
    /// A regular expression.
    Regex,
    /// A name of the user's own choice.
    Name,
    /// The name of a declared stage.
    Stage,
    /// The name of a tool, or a pattern with `*`.
    Tool,
    /// A duration: `30s`, `10m`, `2h`.
    Duration,
    /// A number with a fraction, exact: at least the first, at most the second.
    Decimal(u32, u32),
    /// Yes or no.
    Switch,
    /// A whole number within bounds.
    Whole(u32, u32),
    /// One of these words.
    Words(&'static [&'static str]),
    /// `on` or `off`, as a word or as YAML's yes or no, or `observe`.
    Mode,
    /// A list.
    List(&'static Shape),
    /// A mapping of the user's own names to values.
    Map(&'static str, &'static Shape),
    /// A mapping of these keys.
    Object(&'static Object),
    /// Any of these.
    Any(&'static [Shape]),
}

/// A mapping with a closed set of keys.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its name in the schema's `$defs` and in messages.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    pub keys: &'static [Key],
    /// Names that other frameworks use, with what to write here.
    pub peers: &'static [(&'static str, &'static str)],
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    /// One or two sentences for the reference and for editors.
    pub about: &'static str,
    /// What holds when it is left out, in words.
    pub default: &'static str,
}

impl Object {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}

/// Names nobody may give.
pub(crate) const RESERVED: &[&str] = &["end", "next", "back", "retry_fresh", "all", "advance"];
/// Names that begin so are ours.
pub(crate) const RESERVED_PREFIX: &str = "stagekeeper_";

const STEPS: Shape = Shape::Whole(1, limits::STEPS);
const COUNT: Shape = Shape::Whole(1, limits::COUNT);
