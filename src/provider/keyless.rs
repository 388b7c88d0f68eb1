//! Tools whose results do not hold the key: what a tool reads goes to the model, into traces and onto pages.

use super::secret::Secret;
use crate::engine::input::ToolResult;
use crate::engine::view::ToolSpec;
use crate::run::model::{Answer, ToolCall, ToolHost};
use std::borrow::Cow;

/// A host behind which every occurrence of a key in a result is replaced.
pub struct Keyless<H> {
    host: H,
    key: Option<Secret>,
}

impl<H> Keyless<H> {
    /// The host as it is when there is no key.
    #[must_use]
    pub fn new(host: H, key: Option<Secret>) -> Self {
        Self { host, key }
    }
}

impl<H> std::fmt::Debug for Keyless<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyless").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<H: ToolHost> ToolHost for Keyless<H> {
    fn tools(&self) -> Vec<ToolSpec> {
        self.host.tools()
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
        Box::pin(async move {
            let mut result = self.host.call(call).await;
            if let Some(Cow::Owned(hidden)) = self.key.as_ref().map(|key| key.redact(&result.text)) {
                result.text = hidden;
            }
            result
        })
    }

    fn close(&self) -> Answer<'_, Result<(), String>> {
        self.host.close()
    }
}
