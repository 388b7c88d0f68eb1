//! Trying again: bounded in number and in time, with growing pauses.

use crate::run::model::ModelError;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Most attempts at one request.
pub const ATTEMPTS: u32 = 5;
/// Most attempts where a repeat seldom helps: an unreadable reply, a server that does not listen.
pub const FEW_ATTEMPTS: u32 = 3;
/// The first pause; each later one is twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause of our own.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// The longest pause a server's `Retry-After` is granted.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// All attempts and pauses of one request take at most so many times the silence that is borne.
pub const TOTAL_SILENCES: u32 = 3;

/// Whether a failure is worth another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It will fail the same way.
    Never,
    /// Perhaps: up to [`FEW_ATTEMPTS`].
    Few,
    /// Yes: up to [`ATTEMPTS`], after the pause the server asks for, if it asks.
    Yes(Option<Duration>),
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    /// What to report if it was the last.
    pub error: ModelError,
    /// Whether it need be.
    pub again: Again,
}

/// Makes attempts until one succeeds, none is left, or `total` is over. `late` is the failure of an attempt that
/// `total` cuts off. Pauses carry no random part: one run asks one request at a time, and runs stay reproducible.
pub(super) async fn with_retries<T, F>(
    total: Duration,
    late: impl Fn() -> ModelError,
    mut attempt: impl FnMut() -> F,
) -> Result<T, ModelError>
where
    F: Future<Output = Result<T, Failure>>,
{
    let deadline = Instant::now() + total;
    let mut pause = FIRST_PAUSE;
    let mut made = 1;
    loop {
        let failure = match timeout_at(deadline, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(failure)) => failure,
            Err(_) => Failure { error: late(), again: Again::Never },
        };
        let wait = match failure.again {
            Again::Few if made < FEW_ATTEMPTS => pause,
            Again::Yes(asked) if made < ATTEMPTS => asked.map_or(pause, |a| a.min(LONGEST_RETRY_AFTER)),
            _ => return Err(told(failure.error, made)),
        };
        if Instant::now() + wait >= deadline {
            return Err(told(failure.error, made));
        }
        tracing::warn!(attempt = made, wait_ms = wait.as_millis() as u64, "{}; trying again", failure.error.message);
        sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        made += 1;
    }
}

fn told(mut error: ModelError, made: u32) -> ModelError {
    if made > 1 {
        error.message = format!("{} (tried {made} times)", error.message);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::model::ModelErrorKind;
    use std::cell::RefCell;

    fn error(message: &str) -> ModelError {
        ModelError { kind: ModelErrorKind::Unreachable, message: message.to_owned() }
    }

    /// Plays failures in order (the last repeats), then counts the seconds at which attempts were made.
    async fn play(total_s: u64, plan: &[Again], succeed_at: Option<usize>) -> (Result<usize, ModelError>, Vec<f64>) {
        let start = Instant::now();
        let times = RefCell::new(Vec::new());
        let result = with_retries(
            Duration::from_secs(total_s),
            || error("too late"),
            || {
                let n = times.borrow().len();
                times.borrow_mut().push(start.elapsed().as_secs_f64());
                let again = plan.get(n).or(plan.last()).copied().unwrap_or(Again::Never);
                async move { if succeed_at == Some(n) { Ok(n) } else { Err(Failure { error: error("no"), again }) } }
            },
        )
        .await;
        (result, times.into_inner().iter().map(|t| (t * 10.0).round() / 10.0).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_and_attempts_end() {
        let (result, times) = play(180, &[Again::Yes(None)], None).await;
        assert_eq!(times, [0.0, 0.5, 1.5, 3.5, 7.5]);
        assert_eq!(result.unwrap_err().message, "no (tried 5 times)");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_may_ask_for_a_pause_up_to_a_minute() {
        let (result, times) = play(
            180,
            &[Again::Yes(Some(Duration::from_secs(7))), Again::Yes(Some(Duration::from_secs(86_400)))],
            Some(2),
        )
        .await;
        assert_eq!(times, [0.0, 7.0, 67.0]);
        assert_eq!(result, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_is_bounded_even_when_the_server_asks_for_more() {
        let (result, times) = play(100, &[Again::Yes(Some(Duration::from_secs(60)))], None).await;
        assert_eq!(times, [0.0, 60.0]);
        assert!(result.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_change_is_tried_once_and_what_may_change_three_times() {
        assert_eq!(play(180, &[Again::Never], None).await.1, [0.0]);
        assert_eq!(play(180, &[Again::Few], None).await.1, [0.0, 0.5, 1.5]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_never_ends_is_cut_off() {
        let result: Result<(), _> =
            with_retries(Duration::from_secs(180), || error("too late"), std::future::pending).await;
        assert_eq!(result.unwrap_err().message, "too late");
    }
}
