//! Time that goes by, told to the engine in whole milliseconds.

use crate::engine::session::Session;
use std::time::Duration;
use tokio::time::Instant;

/// Measures what the engine is told with `tick`. Tests pause it with tokio's clock.
#[derive(Debug)]
pub(super) struct Clock {
    told: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { told: Instant::now() }
    }

    /// Tells what went by since the last time; what is less than a millisecond is kept for the next.
    pub(super) fn tick(&mut self, session: &mut Session, waiting: bool) {
        let ms = u64::try_from(self.told.elapsed().as_millis()).unwrap_or(u64::MAX);
        if ms > 0 {
            self.told += Duration::from_millis(ms);
            session.tick(ms, waiting);
        }
    }
}
