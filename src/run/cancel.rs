//! A handle by which anybody may end a run.

use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;

/// Cancels a run from outside: clone it, hand one to the runner, keep the other. Cancelling twice is once.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// Nothing is cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Ends the run: what is running is dropped, what was opened is closed, the summary still comes.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when it is cancelled.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as we do, so waiting cannot fail.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }

    /// Waits for `work`, or gives `None` when cancelled first. Work that is ready at once costs no subscription.
    pub(super) async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.cancelled() => None,
        }
    }
}
