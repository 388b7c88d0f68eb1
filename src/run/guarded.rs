//! Futures of others that may panic or hang: what they do wrong becomes a value.

use crate::run::model::ToolHost;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long one host may take to close.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A future whose panic becomes `Err` with what it said.
pub(super) struct Caught<F>(pub(super) F);

impl<F: Future + Unpin> Future for Caught<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A future that panicked is not polled again: the caller drops it on `Ready`.
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.0).poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(said(panic.as_ref()))),
        }
    }
}

/// Calls `make`; a panic becomes `Err` with what it said.
pub(super) fn caught<T>(make: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(make)).map_err(|panic| said(panic.as_ref()))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// Closes a host within [`CLOSE_TIMEOUT`]; a panic or a hang is a failure like any other.
pub(super) async fn close(host: &dyn ToolHost) -> Result<(), String> {
    let closing = caught(|| host.close()).map(Caught)?;
    match tokio::time::timeout(CLOSE_TIMEOUT, closing).await {
        Ok(Ok(closed)) => closed,
        Ok(Err(panic)) => Err(format!("closing broke: {panic}")),
        Err(_) => Err(format!("closing took longer than {} s", CLOSE_TIMEOUT.as_secs())),
    }
}
