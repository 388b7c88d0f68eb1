//! Why a verb stops: an exit code and what to tell the person.

use super::exit;

/// The end of a verb that could not do its work.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub code: u8,
    /// In lower case, without a full stop; empty when everything was said already.
    pub message: String,
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { code: exit::USAGE, message: message.into() }
    }

    pub(super) fn unexpected(message: impl Into<String>) -> Self {
        Self { code: exit::UNEXPECTED, message: message.into() }
    }

    pub(super) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Everything was said already.
    pub(super) fn said(code: u8) -> Self {
        Self { code, message: String::new() }
    }
}
