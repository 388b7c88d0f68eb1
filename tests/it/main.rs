//! One binary for all integration tests: one module a subject.

mod provider;
