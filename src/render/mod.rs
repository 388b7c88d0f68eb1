//! Pure text out: pictures, problems, stories.

pub mod draw;

pub use draw::{Picture, draw};
