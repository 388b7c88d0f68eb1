//! Pure text out: one output format a file.

pub mod story;
