//! YAML text → values with places, within bounds, every slip explained.

mod node;
mod read;
mod slip;

pub(crate) use node::{Entry, Kind, Node, Scalar, scalar_type};
pub(crate) use read::read;
