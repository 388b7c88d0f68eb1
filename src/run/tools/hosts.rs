//! Several hosts as one.

use crate::engine::input::ToolResult;
use crate::engine::view::ToolSpec;
use crate::run::model::{Answer, ToolCall, ToolHost};
use std::sync::{Mutex, PoisonError};

/// Several hosts as one: a call goes to the first that offers its tool.
///
/// Hosts are closed in the reverse order of their first use. A host that was never used is not closed, since it
/// opens what it needs on its first call.
#[derive(Default)]
pub struct Hosts {
    hosts: Vec<(Vec<ToolSpec>, Box<dyn ToolHost>)>,
    used: Mutex<Vec<usize>>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("hosts", &self.hosts.len()).finish()
    }
}

impl Hosts {
    /// No hosts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host; tools of the same name are the earlier one's.
    #[must_use]
    pub fn with(mut self, host: impl ToolHost + 'static) -> Self {
        let known = |name: &str| self.hosts.iter().any(|(tools, _)| tools.iter().any(|tool| tool.name == name));
        let tools = host.tools().into_iter().filter(|tool| !known(&tool.name)).collect();
        self.hosts.push((tools, Box::new(host)));
        self
    }
}

impl ToolHost for Hosts {
    fn tools(&self) -> Vec<ToolSpec> {
        self.hosts.iter().flat_map(|(tools, _)| tools.iter().cloned()).collect()
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
        let found = self.hosts.iter().enumerate().find(|(_, (tools, _))| tools.iter().any(|t| t.name == call.tool));
        let Some((at, (_, host))) = found else {
            return Box::pin(std::future::ready(ToolResult::error(format!("there is no tool `{}`", call.tool))));
        };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.contains(&at) {
            used.push(at);
        }
        drop(used);
        host.call(call)
    }

    fn close(&self) -> Answer<'_, Result<(), String>> {
        Box::pin(async {
            let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
            let mut failures = Vec::new();
            for host in used.into_iter().rev().filter_map(|at| self.hosts.get(at)) {
                // One that fails, or breaks, hides nothing and keeps no other from being closed.
                if let Err(failure) = crate::run::guarded::close(host.1.as_ref()).await {
                    failures.push(failure);
                }
            }
            if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
        })
    }
}
