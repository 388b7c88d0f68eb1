//! `run_command`: only the command lines the table allows.

use super::limits::COMMAND_BYTES;
use super::process::{self, Ending};
use super::words;
use crate::engine::input::ToolResult;
use serde::Deserialize;
use std::io;
use std::path::Path;

#[derive(Deserialize)]
pub(super) struct Args {
    command: String,
}

/// Runs an allowed command line in the root folder. Any exit code but 0 is an error.
pub(super) async fn run(folder: &Path, allowed: &[String], args: &Args, key: &str, ending: &Ending) -> ToolResult {
    match words_of(allowed, &args.command) {
        Err(text) => ToolResult::error(text),
        Ok((program, rest)) => match process::run(&program, &rest, folder, key, ending).await {
            Ok(ended) if ended.status.success() => ToolResult::ok(ended.output),
            Ok(ended) => ToolResult::error(format!("{} ({})", ended.output, how(ended.status)).trim_start().to_owned()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                ToolResult::error(format!("`{program}` is not installed on this machine"))
            }
            Err(e) => ToolResult::error(format!("`{program}` could not be run: {e}")),
        },
    }
}

fn words_of(allowed: &[String], line: &str) -> Result<(String, Vec<String>), String> {
    if line.len() > COMMAND_BYTES {
        return Err(format!("the command line is {} bytes long; the most is {COMMAND_BYTES}", line.len()));
    }
    let words = words::split(line)?;
    if !allowed.iter().any(|one| words::allows(one, &words)) {
        return Err(match allowed {
            [] => "no command line is allowed here".to_owned(),
            list => format!("`{line}` is not allowed; the allowed command lines are: {}", list.join(" · ")),
        });
    }
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    Ok((program, words.collect()))
}

fn how(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
