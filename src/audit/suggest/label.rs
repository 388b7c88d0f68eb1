//! Runs counted by whether they succeeded.

use serde::Serialize;
use std::ops::AddAssign;

/// Runs by their success label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Labels {
    /// Runs that failed.
    pub failed: u64,
    /// Runs that succeeded.
    pub successful: u64,
    /// Runs of which nobody knows.
    pub unlabelled: u64,
}

impl Labels {
    /// Counts one run.
    pub fn count(&mut self, success: Option<bool>) {
        match success {
            Some(true) => self.successful += 1,
            Some(false) => self.failed += 1,
            None => self.unlabelled += 1,
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(self) -> u64 {
        self.failed + self.successful + self.unlabelled
    }
}

impl AddAssign for Labels {
    fn add_assign(&mut self, other: Self) {
        self.failed += other.failed;
        self.successful += other.successful;
        self.unlabelled += other.unlabelled;
    }
}

impl std::fmt::Display for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [(self.failed, "failed"), (self.successful, "successful"), (self.unlabelled, "without a label")];
        let said: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        f.write_str(&if said.is_empty() { "none".to_owned() } else { said.join(", ") })
    }
}
