//! All integration tests in one binary.

mod table_valid;
