//! The text that names a model: `builtin`, `script:FILE`, `chaos:KIND`, `openai:MODEL`, `ollama:MODEL`.

use super::builtin::Builtin;
use super::chaos::{Chaos, Kind};
use super::openai::{OLLAMA_URL, OPENAI_URL, OpenAi, SILENCE};
use super::secret::Secret;
use crate::run::model::Model;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The environment variable that holds the key of `openai:`.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// How alike a wrong word must be to be taken for a slip.
const ALIKE: f64 = 0.8;
const SCHEMES: [&str; 6] = ["builtin", "script", "chaos", "openai", "ollama", "anthropic"];

/// Which model, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// The keyword agent that needs no key.
    Builtin,
    /// A file of replies.
    Script(PathBuf),
    /// An adversary.
    Chaos(Kind),
    /// A model of an OpenAI-compatible server.
    OpenAi(String),
    /// A model of Ollama on this machine.
    Ollama(String),
}

/// What a model may need beside its name.
#[derive(Clone, Debug)]
pub struct Options {
    /// Another address than the provider's own.
    pub base_url: Option<String>,
    /// The key of `openai:`. Never sent to Ollama.
    pub api_key: Option<Secret>,
    /// How long a server may send nothing.
    pub silence: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { base_url: None, api_key: None, silence: SILENCE }
    }
}

impl Options {
    /// The defaults, with the key from the environment ([`KEY_VARIABLE`]).
    #[must_use]
    pub fn from_env() -> Self {
        Self { api_key: Secret::from_env(KEY_VARIABLE), ..Self::default() }
    }
}

/// Why a model cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", .help.as_ref().map(|h| format!("; {h}")).unwrap_or_default())]
pub struct SpecError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl SpecError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (scheme, rest) = text.split_once(':').map_or((text, None), |(s, r)| (s, Some(r)));
        let needed = |what: &str| match rest {
            Some(rest) if !rest.trim().is_empty() => Ok(rest.trim().to_owned()),
            _ => Err(SpecError::new(format!("`{text}` lacks its {what}"))
                .help(format!("write `{scheme}:{}`", what.to_uppercase()))),
        };
        match scheme {
            "builtin" if rest.is_none() => Ok(Self::Builtin),
            "builtin" => Err(SpecError::new(format!("nothing goes after `builtin` in `{text}`"))),
            "script" => needed("file").map(|file| Self::Script(file.into())),
            "chaos" => needed("kind")?.parse().map(Self::Chaos),
            "openai" => needed("model").map(Self::OpenAi),
            "ollama" => needed("model").map(Self::Ollama),
            "anthropic" => Err(SpecError::new("`anthropic:` is not built yet")
                .help("use `openai:MODEL` with `--base-url` of a server that speaks OpenAI's chat completions")),
            _ => Err(SpecError::new(format!("unknown model `{text}`")).help(near(scheme, &SCHEMES).map_or_else(
                || "use `builtin`, `script:FILE`, `chaos:KIND`, `openai:MODEL` or `ollama:MODEL`".to_owned(),
                |scheme| format!("did you mean `{scheme}`?"),
            ))),
        }
    }
}

/// The known word nearest to a wrong one, if one is near.
pub(crate) fn near<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let alike = |k: &&'a str| strsim::jaro_winkler(&word, k);
    known.iter().copied().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|k| alike(k) >= ALIKE)
}

/// Makes the model that `spec` names.
///
/// # Errors
/// When the text names none, its file cannot be read, its key is missing, or an option does not go with it.
pub fn build(spec: &str, options: &Options) -> Result<Box<dyn Model>, SpecError> {
    let spec: Spec = spec.parse()?;
    if options.base_url.is_some() && !matches!(spec, Spec::OpenAi(_) | Spec::Ollama(_)) {
        return Err(SpecError::new("`--base-url` goes with `openai:MODEL` and `ollama:MODEL` only"));
    }
    Ok(match spec {
        Spec::Builtin => Box::new(Builtin::new()),
        Spec::Script(file) => Box::new(super::script::read(&file)?),
        Spec::Chaos(kind) => Box::new(Chaos::new(kind)),
        Spec::OpenAi(model) => Box::new(open_ai(&model, options)?),
        Spec::Ollama(model) => {
            let url = options.base_url.as_deref().unwrap_or(OLLAMA_URL);
            Box::new(OpenAi::ollama(&model, url, options.silence)?)
        }
    })
}

fn open_ai(model: &str, options: &Options) -> Result<OpenAi, SpecError> {
    if options.base_url.is_none() && options.api_key.is_none() {
        return Err(SpecError::new(format!("`openai:{model}` needs a key"))
            .help(format!("set the environment variable `{KEY_VARIABLE}`, or name another server with `--base-url`")));
    }
    let url = options.base_url.as_deref().unwrap_or(OPENAI_URL);
    OpenAi::new(model, url, options.api_key.clone(), options.silence)
}
