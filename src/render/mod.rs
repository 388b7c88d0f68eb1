//! Pure text out: one output format a file.

pub mod draw;
pub mod effective;
pub mod explain;
pub mod html;
pub mod problems;
pub mod story;
pub(crate) mod xml;

pub use draw::{Picture, draw};
