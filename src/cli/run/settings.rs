//! What a stored run needs to go on, beside its table: the model, the folder, the outbox. No keys.

use super::{Args, Server};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The settings of a run as they are stored.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::cli) struct Settings {
    /// `--model`, as written; files of scripts by their whole path.
    #[serde(default)]
    pub model: Vec<String>,
    /// `--base-url` and `--model-timeout`.
    #[serde(flatten)]
    pub server: Server,
    /// `--root`.
    #[serde(default)]
    pub root: PathBuf,
    /// `--outbox`.
    #[serde(default)]
    pub outbox: Option<PathBuf>,
}

impl Settings {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            model: args.model.iter().map(|model| whole_path(&model.to_string())).collect(),
            server: args.server.clone(),
            root: whole(&args.root),
            outbox: args.outbox.as_deref().map(whole),
        }
    }

    pub(super) fn text(&self) -> String {
        // Texts and paths that were given as UTF-8: a path that was not is left out, and asked for again.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What was stored; nothing where that cannot be read.
    pub(in crate::cli) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// The path from the root of the file system, so that a run may be resumed from anywhere.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn whole_path(spec: &str) -> String {
    match spec.split_once("script:") {
        Some((alias, file)) if alias.is_empty() || alias.ends_with('=') => {
            format!("{alias}script:{}", whole(Path::new(file)).display())
        }
        _ => spec.to_owned(),
    }
}
