//! `--model SPEC` and `--model ALIAS=SPEC`.

use crate::cli::failure::Failure;
use crate::provider::{Options, build as build_one, near};
use crate::run::Model;
use crate::table::StageTable;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::time::Duration;

/// What runs when no model is named.
const DEFAULT: &str = "builtin";

/// A model as given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ModelArg {
    /// For stages with `model: ALIAS`; `None` for all others.
    alias: Option<String>,
    spec: String,
}

impl FromStr for ModelArg {
    type Err = std::convert::Infallible;

    /// The part before a `=` is an alias unless it holds a `:`, as in `openai:name=with=signs`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('=') {
            Some((alias, spec)) if !alias.contains(':') => {
                Self { alias: Some(alias.trim().to_owned()), spec: spec.trim().to_owned() }
            }
            _ => Self { alias: None, spec: text.trim().to_owned() },
        })
    }
}

impl std::fmt::Display for ModelArg {
    /// As it was written.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.alias {
            Some(alias) => write!(f, "{alias}={}", self.spec),
            None => f.write_str(&self.spec),
        }
    }
}

/// How models that live on a server are reached; stored with a run.
#[derive(clap::Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::cli) struct Server {
    /// Another server for openai: or ollama:
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    base_url: Option<String>,
    /// How long that server may send nothing, such as `5m` for a slow model on this machine [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = period)]
    #[serde(default)]
    model_timeout: Option<Duration>,
}

impl Server {
    /// What is given here, else what `stored` says.
    pub(in crate::cli) fn or(&self, stored: &Self) -> Self {
        Self {
            base_url: self.base_url.clone().or_else(|| stored.base_url.clone()),
            model_timeout: self.model_timeout.or(stored.model_timeout),
        }
    }

    fn options(&self) -> Options {
        let mut options = Options { base_url: self.base_url.clone(), ..Options::from_env() };
        options.silence = self.model_timeout.unwrap_or(options.silence);
        options
    }

    /// The option that was given, if one was.
    fn given(&self) -> Option<&'static str> {
        self.base_url.as_ref().map(|_| "--base-url").or_else(|| self.model_timeout.map(|_| "--model-timeout"))
    }
}

fn period(text: &str) -> Result<Duration, String> {
    let ms = crate::table::duration_ms(text);
    ms.map(Duration::from_millis).ok_or_else(|| "write a whole number and a unit: `90s`, `5m` or `1h`".to_owned())
}

/// The models of a run.
pub(in crate::cli) struct Models {
    pub main: Box<dyn Model>,
    pub by_alias: Vec<(String, Box<dyn Model>)>,
}

impl Models {
    /// Whether each alias is one that a stage, of this table or of a nested run's, names.
    ///
    /// # Errors
    /// With exit code 2 and the alias that may be meant.
    pub(in crate::cli) fn fit(&self, table: &StageTable) -> Result<(), Failure> {
        let stages = table.with_nested().flat_map(|table| table.stages());
        let named: Vec<&str> = stages.filter_map(|stage| stage.model.as_deref()).collect();
        let Some((alias, _)) = self.by_alias.iter().find(|(alias, _)| !named.contains(&alias.as_str())) else {
            return Ok(());
        };
        let help = match near(alias, &named) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "for all stages write `--model SPEC`".to_owned(),
        };
        Err(Failure::usage(format!("no stage has `model: {alias}`; {help}")))
    }
}

/// Makes the models. What `server` says goes to those that live on one.
pub(in crate::cli) fn build(args: &[ModelArg], server: &Server) -> Result<Models, Failure> {
    let mut main = None;
    let mut by_alias: Vec<(String, Box<dyn Model>)> = Vec::new();
    let remote = |spec: &str| spec.starts_with("openai:") || spec.starts_with("ollama:");
    if let Some(option) = server.given().filter(|_| !args.iter().any(|arg| remote(&arg.spec))) {
        return Err(Failure::usage(format!("`{option}` goes with `--model openai:MODEL` and `--model ollama:MODEL`")));
    }
    for ModelArg { alias, spec } in args {
        let options = if remote(spec) { server.options() } else { Options::default() };
        let model = build_one(spec, &options).map_err(|e| Failure::usage(e.to_string()))?;
        match alias {
            Some(alias) if by_alias.iter().any(|(known, _)| known == alias) => {
                return Err(Failure::usage(format!("the alias `{alias}` is given two models")));
            }
            Some(alias) => by_alias.push((alias.clone(), model)),
            None if main.is_some() => {
                return Err(Failure::usage("two models are given without an alias; write `--model ALIAS=SPEC`"));
            }
            None => main = Some(model),
        }
    }
    let main = match main {
        Some(model) => model,
        None => build_one(DEFAULT, &Options::default()).map_err(|e| Failure::usage(e.to_string()))?,
    };
    Ok(Models { main, by_alias })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_stands_before_the_first_sign() {
        let arg = |text: &str| {
            let Ok(arg) = text.parse::<ModelArg>();
            (arg.alias, arg.spec)
        };
        assert_eq!(arg("builtin"), (None, "builtin".to_owned()));
        assert_eq!(arg("big=openai:a=b"), (Some("big".to_owned()), "openai:a=b".to_owned()));
        assert_eq!(arg("openai:a=b"), (None, "openai:a=b".to_owned()));
    }
}
