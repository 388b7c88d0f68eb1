//! Pure text out: one output format a file.

pub mod effective;
pub mod problems;
pub mod story;
