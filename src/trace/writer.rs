//! Lines out.

use super::header::Header;
use super::limits::{HEADER_BYTES, RECORD_BYTES};
use crate::engine::session::Record;
use serde::{Deserialize, Serialize};

/// One record with its number and its time stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped<R = Record> {
    /// Its number, from 1.
    pub n: u64,
    /// Milliseconds since the run began. Decides nothing.
    pub at_ms: u64,
    /// What went in and what was decided.
    #[serde(flatten)]
    pub record: R,
}

/// A line that a reader would not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of {bytes} bytes is too long for a trace; the most is {most}")]
pub struct TooLong {
    /// Its length.
    pub bytes: usize,
    /// The most it may be.
    pub most: usize,
}

/// Puts the header and a line end into `line`, replacing what it held.
///
/// # Errors
/// When the header is longer than a reader takes.
pub fn write_header(line: &mut Vec<u8>, header: &Header) -> Result<(), TooLong> {
    write_line(line, header, HEADER_BYTES)
}

/// Puts one record and a line end into `line`, replacing what it held: one buffer serves a whole run.
///
/// # Errors
/// When the record is longer than a reader takes.
pub fn write_record(line: &mut Vec<u8>, n: u64, at_ms: u64, record: &Record) -> Result<(), TooLong> {
    write_line(line, &Stamped { n, at_ms, record }, RECORD_BYTES)
}

fn write_line(line: &mut Vec<u8>, value: &impl Serialize, most: usize) -> Result<(), TooLong> {
    line.clear();
    // Strings, numbers, lists and maps with text keys: nothing here can fail to become JSON.
    let made = serde_json::to_writer(&mut *line, value);
    debug_assert!(made.is_ok(), "{made:?}");
    line.push(b'\n');
    if line.len() > most { Err(TooLong { bytes: line.len(), most }) } else { Ok(()) }
}
