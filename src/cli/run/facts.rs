//! `--fact NAME=VALUE`.

use crate::cli::failure::Failure;
use crate::table::StageTable;
use crate::table::model::FactFrom;
use serde_json::Value;
use std::str::FromStr;

/// A fact as given on the command line.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) struct FactArg {
    name: String,
    value: Value,
}

impl FromStr for FactArg {
    type Err = String;

    /// `VALUE` is JSON where it can be read as JSON, else the text itself.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { name: name.trim().to_owned(), value })
    }
}

/// The facts, each of which the table must declare with `from: host`.
pub(super) fn checked(args: &[FactArg], table: &StageTable) -> Result<Vec<(String, Value)>, Failure> {
    let declared = || table.with_nested().flat_map(|table| &table.facts);
    let hosts = || declared().filter(|fact| matches!(fact.from, FactFrom::Host)).map(|fact| &*fact.name);
    for FactArg { name, .. } in args {
        if hosts().any(|known| known == name) {
            continue;
        }
        let known: Vec<String> = hosts().map(|name| format!("`{name}`")).collect();
        let help =
            if known.is_empty() { "the table has none".to_owned() } else { format!("there is {}", known.join(", ")) };
        return Err(Failure::usage(format!("`{name}` is no fact with `from: host`; {help}")));
    }
    Ok(args.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_json_or_text() {
        let value = |text: &str| text.parse::<FactArg>().unwrap().value;
        assert_eq!(value("a=true"), json!(true));
        assert_eq!(value("a=[1,2]"), json!([1, 2]));
        assert_eq!(value("a=b=c"), json!("b=c"));
        assert_eq!(value("a="), json!(""));
        assert!("a".parse::<FactArg>().is_err());
    }
}
