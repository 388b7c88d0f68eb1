//! One call, and several at once: time-outs, panics, polling. Knows nothing of sessions.

use super::bound::bounded;
use super::guarded::{Caught, caught};
use super::model::{ToolCall, ToolHost};
use crate::engine::input::{Status, ToolResult};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How long a call may take whose tool declares no `timeout`.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

/// How one call is run.
pub(super) struct Plan<'p> {
    pub(super) call: ToolCall,
    /// Whether it changes nothing, so that it may run beside others and a crash of it is known to be harmless.
    pub(super) harmless: bool,
    /// The tool's own time-out.
    pub(super) timeout: Option<Duration>,
    /// The time-out of a tool without one.
    pub(super) default_timeout: Duration,
    /// For a `poll` tool with `every` and `until`.
    pub(super) again: Option<Again<'p>>,
}

/// How a call is repeated by the host; the model sees the last result.
pub(super) struct Again<'p> {
    pub(super) every: Duration,
    /// Calls in all.
    pub(super) most: u32,
    /// Whether this result is what was waited for.
    pub(super) until: Box<dyn Fn(&ToolResult) -> bool + Send + Sync + 'p>,
}

/// Runs one call to its end. Dropping the future ends it.
pub(super) async fn run(host: &dyn ToolHost, plan: &Plan<'_>) -> ToolResult {
    match &plan.again {
        None => {
            let limit = plan.timeout.unwrap_or(plan.default_timeout);
            once(host, plan, Instant::now() + limit).await.unwrap_or_else(|| timed_out(limit))
        }
        Some(again) => repeat(host, plan, again).await,
    }
}

/// Repeats the call until the condition holds. A declared time-out bounds the whole wait, else each call.
async fn repeat(host: &dyn ToolHost, plan: &Plan<'_>, again: &Again<'_>) -> ToolResult {
    let begun = Instant::now();
    let end = plan.timeout.map(|limit| begun + limit);
    let mut last = None;
    for n in 1..=again.most.max(1) {
        let call_began = Instant::now();
        let limit = end.unwrap_or(call_began + plan.default_timeout);
        let Some(result) = once(host, plan, limit).await else {
            break;
        };
        tracing::debug!(tool = %plan.call.tool, repeat = n, "polled");
        let done = (again.until)(&result) || n == again.most;
        last = Some(result);
        let next = Instant::now() + again.every;
        if done || end.is_some_and(|end| next >= end) {
            break;
        }
        sleep_until(next).await;
    }
    last.unwrap_or_else(|| timed_out(plan.timeout.unwrap_or(plan.default_timeout)))
}

/// One attempt; `None` when the time was up.
async fn once(host: &dyn ToolHost, plan: &Plan<'_>, until: Instant) -> Option<ToolResult> {
    let broke = |panic: String| ToolResult {
        text: format!("the tool broke: {panic}"),
        // Whether a crashed write took effect, nobody knows.
        status: if plan.harmless { Status::Error } else { Status::Unknown },
    };
    let work = match caught(|| host.call(&plan.call)) {
        Ok(work) => Caught(work),
        Err(panic) => return Some(bounded(broke(panic))),
    };
    let ended = timeout_at(until, work).await.ok()?;
    Some(bounded(ended.unwrap_or_else(broke)))
}

fn timed_out(limit: Duration) -> ToolResult {
    ToolResult::unknown(format!("timed out after {limit:?}; nobody knows whether it took effect"))
}

/// Runs all at once. Each result is put into its slot as it comes, so that what is there survives a cancel.
pub(super) async fn run_together(host: &dyn ToolHost, plans: &[Plan<'_>], slots: &mut [Option<ToolResult>]) {
    if let ([plan], [slot]) = (plans, &mut *slots) {
        *slot = Some(run(host, plan).await);
        return;
    }
    let mut running: Vec<Option<Pin<Box<dyn Future<Output = ToolResult> + Send + '_>>>> =
        plans.iter().map(|plan| Some(Box::pin(run(host, plan)) as Pin<Box<dyn Future<Output = _> + Send>>)).collect();
    // A reply holds few calls (`calls_per_step`), so each wake-up may poll them all.
    poll_fn(|cx| {
        let mut open = false;
        for (future, slot) in running.iter_mut().zip(slots.iter_mut()) {
            let Some(work) = future else { continue };
            match work.as_mut().poll(cx) {
                Poll::Ready(result) => {
                    *slot = Some(result);
                    *future = None;
                }
                Poll::Pending => open = true,
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}
