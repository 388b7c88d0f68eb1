//! Lines in: tolerant of a last half line, of nothing else.

use super::header::{FORMAT, Header};
use super::limits::{HEADER_BYTES, RECORD_BYTES, RECORDS};
use super::writer::Stamped;
use crate::engine::session::{Record, Session, Unfitting};
use crate::table::StageTable;
use serde::Deserialize as _;
use std::io::BufRead;

/// A trace as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The first line.
    pub header: Header,
    /// The records in order.
    pub records: Vec<Stamped>,
    /// What was left out at the end, for people: a run that was killed leaves half a line.
    pub cut: Option<String>,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is nothing in it.
    #[error("the trace is empty; a run that wrote nothing leaves no trace to read")]
    Empty,
    /// The first line is no header.
    #[error("this is no stagekeeper trace: its first line has no `stagekeeper_trace`")]
    NotATrace,
    /// A later version wrote it.
    #[error("the trace has format {found}, this version reads up to {FORMAT}; use a newer stagekeeper")]
    Newer {
        /// Its format.
        found: u64,
    },
    /// The header has the key, but not the rest.
    #[error("the header cannot be read: {0}")]
    Header(#[source] serde_json::Error),
    /// A line that is not the last is damaged.
    #[error("line {line} cannot be read: {}", what(.source))]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A second trace begins.
    #[error("line {line} begins another trace; one file holds one trace: keep them apart")]
    Second {
        /// The line, from 1.
        line: usize,
    },
    /// Numbers do not follow one another.
    #[error("line {line} holds record {found} where {expected} belongs; lines are missing or doubled")]
    Order {
        /// The line, from 1.
        line: usize,
        /// The number found.
        found: u64,
        /// The number expected.
        expected: u64,
    },
    /// A line, or the file, is beyond the bounds.
    #[error(
        "line {line} is beyond the bounds of a trace (a header of {HEADER_BYTES} bytes, {RECORDS} records of {RECORD_BYTES} bytes)"
    )]
    TooLong {
        /// The line, from 1.
        line: usize,
    },
    /// The file cannot be read.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl Trace {
    /// Reads a whole trace. A last line that was cut is left out and said in [`Trace::cut`].
    ///
    /// # Errors
    /// When it is no trace, of a newer format, damaged before its last line, or beyond the bounds.
    pub fn read(mut input: impl BufRead) -> Result<Self, TraceError> {
        let mut line = Vec::new();
        if !next_line(&mut input, &mut line, HEADER_BYTES, 1)? {
            return Err(TraceError::Empty);
        }
        let header = read_header(&line)?;
        let (mut records, mut cut) = (Vec::new(), None);
        let mut number = 1;
        loop {
            number += 1;
            if !next_line(&mut input, &mut line, RECORD_BYTES, number)? {
                break;
            }
            if records.len() >= RECORDS {
                return Err(TraceError::TooLong { line: number });
            }
            match serde_json::from_slice::<Stamped>(&line) {
                Ok(record) => {
                    check_order(&record, records.len(), number)?;
                    records.push(record);
                }
                Err(_) if !line.ends_with(b"\n") => {
                    cut = Some(format!("line {number} is cut off after {} bytes and was left out", line.len()));
                }
                Err(_) if read_header(&line).is_ok() => return Err(TraceError::Second { line: number }),
                Err(source) => return Err(TraceError::Line { line: number, source }),
            }
        }
        Ok(Self { header, records, cut })
    }

    /// The bare records, as [`Session::replay`] takes them.
    #[must_use]
    pub fn inputs(&self) -> Vec<Record> {
        self.records.iter().map(|stamped| stamped.record.clone()).collect()
    }

    /// Feeds the records through the engine again; the events must be the recorded ones.
    ///
    /// # Errors
    /// When an input does not fit or its events differ.
    pub fn replay(&self, table: &StageTable) -> Result<Session, Unfitting> {
        Session::replay(self.header.session(table), &self.inputs())
    }
}

fn read_header(line: &[u8]) -> Result<Header, TraceError> {
    // The format is looked at before the rest, so that a newer trace is called that and not damaged.
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|_| TraceError::NotATrace)?;
    let format = value.get("stagekeeper_trace").ok_or(TraceError::NotATrace)?;
    match format.as_u64() {
        Some(found) if found > u64::from(FORMAT) => Err(TraceError::Newer { found }),
        Some(found) if found == u64::from(FORMAT) => Header::deserialize(value).map_err(TraceError::Header),
        _ => Err(TraceError::NotATrace),
    }
}

/// The parser's words without its place: to it, every line is the first.
fn what(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.clone(), |(what, _)| format!("{what} (column {})", error.column()))
}

fn check_order(record: &Stamped, before: usize, line: usize) -> Result<(), TraceError> {
    let expected = before as u64 + 1;
    if record.n == expected { Ok(()) } else { Err(TraceError::Order { line, found: record.n, expected }) }
}

/// Reads one line with its end into `line`; `false` at the end of the input.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize, number: usize) -> Result<bool, TraceError> {
    line.clear();
    std::io::Read::take(input, most as u64 + 1).read_until(b'\n', line)?;
    if line.len() > most { Err(TraceError::TooLong { line: number }) } else { Ok(!line.is_empty()) }
}
