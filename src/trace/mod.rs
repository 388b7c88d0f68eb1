//! The trace: everything that went in and what was decided, one JSON object a line. Lines in and out, no files.

mod compare;
mod explain;
mod header;
pub mod limits;
mod reader;
mod writer;

pub use compare::{Comparison, Difference, GoesOn, MOST_KEPT, Otherwise, Parting, compare, go_on, replay};
pub use explain::{Explanation, explain};
pub use header::{FORMAT, Header, TableText, table_hash};
pub use reader::{Trace, TraceError};
pub use writer::{Stamped, TooLong, write_header, write_record};
