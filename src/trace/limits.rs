//! Bounds of traces. A writer keeps them too, so that whatever was written can be read.

/// Longest header line, in bytes: a table, its included files and the host's tools, escaped.
pub const HEADER_BYTES: usize = 64 * 1024 * 1024;
/// Longest record line, in bytes.
pub const RECORD_BYTES: usize = 32 * 1024 * 1024;
/// Most records of one trace.
pub const RECORDS: usize = 1_000_000;
