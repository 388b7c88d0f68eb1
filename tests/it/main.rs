//! All integration tests in one binary.

mod table_valid;
//! One binary for all integration tests: one module a subject.

mod provider;
