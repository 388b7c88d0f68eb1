//! `script:FILE`: a model that replies what a scenario file says. The parser and the state machine are
//! [`crate::testing`]'s; here a file is read and failures get their kind.

use super::spec::SpecError;
use crate::engine::input::Reply;
use crate::engine::view::View;
use crate::run::model::{Answer, Model, ModelError, ModelErrorKind};
use crate::testing::script::Failure;
use crate::testing::{Script, ScriptedModel};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest script file, in bytes.
pub const LARGEST_FILE: u64 = 8 * 1024 * 1024;

/// Reads a script file; a whole scenario file will do.
///
/// # Errors
/// When it cannot be read, is too large, is no text, or holds a problem.
pub fn read(path: &Path) -> Result<Scripted, SpecError> {
    let name = path.display().to_string();
    let cannot = |why: &dyn std::fmt::Display| SpecError::new(format!("cannot read the script `{name}`: {why}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| cannot(&e))?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|e| cannot(&e))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(cannot(&format_args!("it is larger than {} MiB", LARGEST_FILE >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|_| cannot(&"it is no UTF-8 text"))?;
    let script = Script::parse(&text, &name).map_err(|e| SpecError::new(format!("the script has problems:\n{e}")))?;
    Ok(Scripted::new(script))
}

/// A model that replies what a script says, then nothing (or its last entry again). What the script has the host do
/// (`user`, `approve`, `wait`, …) is passed over: beside a real host there is no one to do it.
#[derive(Clone, Debug)]
pub struct Scripted {
    model: ScriptedModel,
}

impl Scripted {
    /// A model at the start of its script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { model: ScriptedModel::new(script) }
    }
}

impl Model for Scripted {
    fn goes_on_behind(&mut self, replies: usize) {
        for _ in 0..replies {
            // A failure takes its turn as a reply does.
            let _ = self.model.next_reply();
        }
    }

    fn reply<'a>(&'a mut self, _view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let reply =
            self.model.next_reply().map_err(|failure| ModelError { kind: kind(failure), message: failure.to_string() });
        Box::pin(async move { reply })
    }
}

/// The kind a real server's status of that number has.
fn kind(failure: Failure) -> ModelErrorKind {
    match failure {
        Failure::Overflow | Failure::Status(413) => ModelErrorKind::Overflow,
        Failure::Status(408 | 409 | 425 | 429 | 500..) => ModelErrorKind::Unreachable,
        Failure::Status(_) => ModelErrorKind::Refused,
    }
}
