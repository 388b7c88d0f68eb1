//! The six built-in tools as one host.

use super::mail::{Post, SENDER};
use super::process::Ending;
use super::root::Root;
use super::{command, grep, list, mail, read, specs, write};
use crate::engine::input::ToolResult;
use crate::engine::view::ToolSpec;
use crate::run::model::{Answer, Groups, ToolCall, ToolHost};
use crate::table::{Model, StageTable};
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `list_files`, `grep_code`, `read_file`, `write_file`, `run_command` and `send_email`, confined to a folder.
///
/// The file tools never leave the folder, whatever `..`, absolute paths or symlinks they are given, and keep away from
/// what `.gitignore` names. `run_command` runs only the command lines it was given, without a shell; that list is a
/// convenience, not security: an allowed program can do whatever it can do.
#[derive(Debug)]
pub struct BuiltinTools {
    inner: Inner,
    ending: Ending,
    commands: Vec<String>,
}

/// What file work needs; cheap to clone, since the work goes to another thread.
#[derive(Clone, Debug)]
struct Inner {
    root: Arc<Root>,
    outbox: Option<Arc<Path>>,
    sender: Arc<str>,
}

impl BuiltinTools {
    /// Tools for the folder `root`, with no command allowed yet.
    ///
    /// # Errors
    /// When the folder does not exist, is no folder or may not be opened.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_without(root, &[])
    }

    /// As [`BuiltinTools::open`], with files of the folder that no file tool shows, reads or writes: such as the one the
    /// run is kept in.
    ///
    /// # Errors
    /// As [`BuiltinTools::open`].
    pub fn open_without(root: impl AsRef<Path>, off_limits: &[PathBuf]) -> io::Result<Self> {
        let root = Arc::new(Root::open(root.as_ref(), off_limits)?);
        let inner = Inner { root, outbox: None, sender: SENDER.into() };
        Ok(Self { inner, ending: Ending::default(), commands: Vec::new() })
    }

    /// Allows the command lines that the table declares for `run_command`.
    #[must_use]
    pub fn for_table(self, table: &StageTable) -> Self {
        let of = |table: &Model| table.tool_entry("run_command").and_then(|entry| entry.commands.clone());
        // The outermost table decides for its nested runs, too; where it says nothing, they do.
        let commands = of(table).unwrap_or_else(|| table.with_nested().filter_map(of).flatten().collect());
        self.commands(commands)
    }

    /// Allows exactly these command lines; a last word `*` stands for any further words.
    #[must_use]
    pub fn commands(mut self, commands: Vec<String>) -> Self {
        self.commands = commands;
        self
    }

    /// Puts mails into `folder` instead of `.stagekeeper/outbox` in the root.
    #[must_use]
    pub fn outbox(mut self, folder: impl AsRef<Path>) -> Self {
        self.inner.outbox = Some(folder.as_ref().into());
        self
    }

    /// Tells `groups` of the process groups that commands run in.
    #[must_use]
    pub fn groups(mut self, groups: Arc<dyn Groups>) -> Self {
        self.ending.groups = Some(groups);
        self
    }

    /// Sends mails as `address` instead of `stagekeeper@localhost`.
    #[must_use]
    pub fn sender(mut self, address: &str) -> Self {
        self.inner.sender = address.into();
        self
    }
}

impl ToolHost for BuiltinTools {
    fn tools(&self) -> Vec<ToolSpec> {
        specs::specs(&self.commands)
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> Answer<'a, ToolResult> {
        Box::pin(async move {
            match call.tool.as_str() {
                "list_files" => self.files(call, |inner, args, stop| list::list(&inner.root, &args, stop)).await,
                "grep_code" => self.files(call, |inner, args, stop| grep::grep(&inner.root, &args, stop)).await,
                "read_file" => self.files(call, |inner, args, _| read::read(&inner.root, &args)).await,
                "write_file" => self.files(call, |inner, args, _| write::write(&inner.root, &args)).await,
                "send_email" => {
                    let key = call.idempotency_key.clone();
                    self.files(call, move |inner, args: mail::Args, _| inner.post().send(&args, &key)).await
                }
                "run_command" => match parse(&call.arguments) {
                    Ok(args) => {
                        let key = &call.idempotency_key;
                        command::run(self.inner.root.path(), &self.commands, &args, key, &self.ending).await
                    }
                    Err(text) => ToolResult::error(text),
                },
                other => ToolResult::error(format!("there is no built-in tool `{other}`")),
            }
        })
    }

    fn close(&self) -> Answer<'_, Result<(), String>> {
        Box::pin(async {
            self.ending.all().await;
            Ok(())
        })
    }
}

impl Inner {
    fn post(&self) -> Post<'_> {
        Post { root: &self.root, outbox: self.outbox.as_deref(), sender: &self.sender }
    }
}

impl BuiltinTools {
    /// Does file work on a thread that may block; told to stop when the call is dropped.
    async fn files<A: DeserializeOwned + Send + 'static>(
        &self,
        call: &ToolCall,
        work: impl FnOnce(&Inner, A, &AtomicBool) -> Result<String, String> + Send + 'static,
    ) -> ToolResult {
        let args = match parse(&call.arguments) {
            Ok(args) => args,
            Err(text) => return ToolResult::error(text),
        };
        let stop = StopOnDrop::default();
        let (inner, flag) = (self.inner.clone(), Arc::clone(&stop.0));
        match tokio::task::spawn_blocking(move || work(&inner, args, &flag)).await {
            Ok(Ok(text)) => ToolResult::ok(text),
            Ok(Err(text)) => ToolResult::error(text),
            Err(e) => ToolResult::error(format!("the tool broke: {e}")),
        }
    }
}

#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn parse<A: DeserializeOwned>(arguments: &str) -> Result<A, String> {
    serde_json::from_str(arguments).map_err(|e| {
        let text = e.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        format!("these arguments do not fit: {text}")
    })
}
