//! Recorded runs of any agent, played through the guards of a table and scored.
//!
//! Lines in, counts out: files, threads and the terminal are the caller's. The formats are described in
//! `docs/reference/recordings.md`.

mod counts;
mod crew;
mod lines;
mod play;
mod read;
mod recording;
mod report;
pub mod suggest;

pub use counts::{By, Counts, Fired};
pub use crew::{MAX_SHOWN, Scores, Source, score};
pub use lines::MAX_LINE;
pub use play::{CannotPlay, Charged, Fate, Played, play, play_and_record};
pub use read::{Reader, Unit, Unread};
pub use recording::{Around, Recorded, RecordedCall, Recording, Turn};
pub use report::{LEGEND, json_line, text_table};
