//! Every text said to the model: a name, an English default, the names it may use. `messages:` replaces any.

/// One text said to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageText {
    /// Its name in `messages:`.
    pub name: &'static str,
    /// The English default, a minijinja template.
    pub default: &'static str,
    /// The names it may read, beside `task`, `facts`, `products`, `stage`, `run`.
    pub names: &'static [&'static str],
}

/// All texts.
pub const MESSAGES: &[MessageText] =
    &[MessageText { name: "last_step", default: "This is the last step of this stage.", names: &[] }];
