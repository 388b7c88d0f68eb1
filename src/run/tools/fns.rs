//! Tools made of closures: for embedders and tests.

use crate::engine::input::ToolResult;
use crate::engine::view::ToolSpec;
use crate::run::model::{Answer, ToolCall, ToolHost};
use indexmap::IndexMap;

type Run = Box<dyn for<'a> Fn(&'a ToolCall) -> Answer<'a, ToolResult> + Send + Sync>;

/// A host whose tools are closures.
///
/// ```
/// use stagekeeper::ToolResult;
/// use stagekeeper::run::FnTools;
///
/// let tools = FnTools::new().tool("look", |call| ToolResult::ok(format!("saw {}", call.arguments)));
/// ```
#[derive(Default)]
pub struct FnTools {
    tools: IndexMap<String, (ToolSpec, Run)>,
}

impl std::fmt::Debug for FnTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

impl FnTools {
    /// No tools yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool that answers at once, without a schema of its arguments.
    #[must_use]
    pub fn tool(self, name: &str, run: impl Fn(&ToolCall) -> ToolResult + Send + Sync + 'static) -> Self {
        self.slow_tool(ToolSpec::named(name), move |call| Box::pin(std::future::ready(run(call))))
    }

    /// Adds a tool that takes time: `run` gives a boxed future. Dropping the future must end the work.
    #[must_use]
    pub fn slow_tool(
        mut self,
        spec: ToolSpec,
        run: impl for<'a> Fn(&'a ToolCall) -> Answer<'a, ToolResult> + Send + Sync + 'static,
    ) -> Self {
        self.tools.insert(spec.name.clone(), (spec, Box::new(run)));
        self
    }
}

impl ToolHost for FnTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.values().map(|(spec, _)| spec.clone()).collect()
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
        match self.tools.get(&call.tool) {
            Some((_, run)) => run(call),
            None => Box::pin(std::future::ready(ToolResult::error(format!("there is no tool `{}`", call.tool)))),
        }
    }
}
