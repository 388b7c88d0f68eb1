//! The verbs and how each ends.

use super::failure::Failure;
use super::{audit, check, draw, exit, explain, logs, new, out, replay, resume, run, runs, schema, test, verify};
use clap::Parser as _;
use std::process::ExitCode;

/// Keeps LLM agents' tool loops on their stages.
#[derive(clap::Parser, Debug)]
#[command(
    name = "stagekeeper",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 unexpected, 2 usage, 3 table invalid, 4 stopped by a limit or guard, \
                  5 unreachable, 6 differs, 7 waits for a person, 130 cancelled.\n\
                  Logs: STAGEKEEPER_LOG=info. Colour: NO_COLOR is obeyed."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand, Debug)]
enum Verb {
    New(new::Args),
    Check(check::Args),
    Draw(draw::Args),
    Schema(schema::Args),
    Run(run::Args),
    Resume(resume::Args),
    Runs(runs::Args),
    Test(test::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    Explain(explain::Args),
    Audit(audit::Args),
}

/// Parses the command line, does what it says and gives the exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return ExitCode::from(say_usage(&e)),
    };
    if let Err(message) = logs::start() {
        out::say_failure(&Failure::usage(message));
        return ExitCode::from(exit::USAGE);
    }
    ExitCode::from(cli.verb.run().unwrap_or_else(|failure| {
        out::say_failure(&failure);
        failure.code
    }))
}

/// Help and version are data; everything else clap says is a usage error.
fn say_usage(e: &clap::Error) -> u8 {
    // A reader that went away is no reason to fail.
    let _ = e.print();
    if e.use_stderr() { exit::USAGE } else { exit::OK }
}

impl Verb {
    fn run(&self) -> Result<u8, Failure> {
        match self {
            Self::New(args) => new::run(args),
            Self::Check(args) => check::run(args),
            Self::Draw(args) => draw::run(args),
            Self::Schema(args) => schema::run(args),
            Self::Run(args) => run::run(args),
            Self::Resume(args) => resume::run(args),
            Self::Runs(args) => runs::run(args),
            Self::Test(args) => test::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Audit(args) => audit::run(args),
        }
    }
}
