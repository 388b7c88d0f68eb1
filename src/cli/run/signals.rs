//! What asks a run to end: Ctrl-C, SIGTERM, SIGHUP.

use crate::cli::failure::Failure;
use crate::cli::files;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A request to end the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Ctrl-C: a person is there and may press it again.
    CtrlC,
    /// SIGTERM, or SIGHUP when the terminal went away. Either may come more than once from those who end programs.
    Otherwise,
}

/// The signals, caught from when this is made.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where it is ignored, as under `nohup`.
    hangup: Option<Signal>,
}

impl Signals {
    /// # Errors
    /// When they cannot be caught, or outside a runtime.
    pub(super) fn catch() -> Result<Self, Failure> {
        let caught = |kind| signal(kind).map_err(|e| Failure::unexpected(format!("cannot catch signals: {e}")));
        let hangup = if files::hangup_is_ignored() { None } else { Some(caught(SignalKind::hangup())?) };
        Ok(Self { interrupt: caught(SignalKind::interrupt())?, terminate: caught(SignalKind::terminate())?, hangup })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Asked {
        let hangup = async {
            match &mut self.hangup {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Asked::CtrlC,
            _ = self.terminate.recv() => Asked::Otherwise,
            _ = hangup => Asked::Otherwise,
        }
    }
}
