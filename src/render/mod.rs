//! Pure text out: one output format a file.

pub mod draw;
pub mod story;

pub use draw::{Picture, draw};
pub mod problems;
