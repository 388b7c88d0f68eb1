//! Ids of runs, made at the edge: the engine never makes one.

use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 (UTC); 0 for a clock that is set before.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new run id: the UTC time, so that ids sort by age, and six random hex digits.
#[must_use]
pub fn new_run_id() -> String {
    // The standard library's hash keys are random per process and differ per use.
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{:06x}", stamp(now_ms()), random & 0xff_ffff)
}

/// `20251130-162005` for a time in milliseconds since 1970.
fn stamp(ms: u64) -> String {
    let seconds = ms / 1000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Year, month and day of a number of days since 1970, by counting whole 400-year eras from March on.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_write_them() {
        assert_eq!(stamp(0), "19700101-000000");
        assert_eq!(stamp(951_782_400_000), "20000229-000000");
        assert_eq!(stamp(1_764_519_605_999), "20251130-162005");
        assert_eq!(stamp(4_107_542_399_000), "21000228-235959");
    }

    #[test]
    fn ids_differ() {
        assert_ne!(new_run_id(), new_run_id());
    }
}
