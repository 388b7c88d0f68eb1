//! YAML text → values with places, within bounds, every slip explained.

mod lines;
mod node;
mod read;
mod slip;

pub(crate) use lines::{behind, lines};
pub(crate) use node::{Entry, Kind, Node, Scalar, scalar_type};
pub(crate) use read::read;
