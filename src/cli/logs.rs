//! The environment: `NO_COLOR`, and logs on stderr as `STAGEKEEPER_LOG` says.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// The variable that turns logs on, with the filter syntax of `tracing` (`info`, `stagekeeper=debug`).
const LOG: &str = "STAGEKEEPER_LOG";

/// Whether the user wants no colour (<https://no-color.org>: set and not empty).
pub(super) fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Starts logging when the variable is set.
///
/// # Errors
/// When its value is no filter.
pub(super) fn start() -> Result<(), String> {
    let Some(filter) = std::env::var_os(LOG) else { return Ok(()) };
    let filter = filter.to_string_lossy();
    let filter = EnvFilter::try_new(&*filter).map_err(|e| format!("`{LOG}` holds no filter: {e}"))?;
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A step or a call is one line, with its fields and how long it took.
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(super::out::stderr_has_colour())
        .try_init();
    // A second start in one process (an embedder's own) keeps the first.
    drop(started);
    Ok(())
}
