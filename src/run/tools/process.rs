//! One child process in a group of its own: its output bounded, its group ended with it.

use crate::run::model::Groups;

use super::limits::{DRAIN, GRACE, OUTPUT_BYTES};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// The environment variable that tells a command the idempotency key of its call, `RUN-NUMBER`.
pub const CALL_VARIABLE: &str = "STAGEKEEPER_CALL";
/// How often a group that got TERM is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Groups that are being ended: TERM was sent, KILL follows after the grace time. Ended for good by [`Ending::all`].
#[derive(Clone, Default)]
pub(super) struct Ending {
    tasks: Arc<Mutex<JoinSet<()>>>,
    /// Who wants to know of the groups.
    pub(super) groups: Option<Arc<dyn Groups>>,
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").finish_non_exhaustive()
    }
}

/// Tells that a group ended, once nothing of it is left.
struct Noted {
    id: i32,
    groups: Arc<dyn Groups>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.groups.ended(self.id);
    }
}

impl Ending {
    /// Waits until every group has ended; at most the grace time and a little.
    pub(super) async fn all(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    fn end(&self, mut group: Group) {
        if !group.signal(Signal::TERM) && group.child.is_none() {
            group.id = None;
            return;
        }
        if tokio::runtime::Handle::try_current().is_ok() {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(group.end());
        }
        // Without a runtime the group is killed at once, by its drop.
    }
}

/// A process group with its leader; killed when dropped.
struct Group {
    id: Option<Pid>,
    child: Option<Child>,
    /// Dropped last: the group is killed by then.
    _noted: Option<Noted>,
}

impl Group {
    /// Whether there is anything left to signal.
    fn signal(&self, signal: Signal) -> bool {
        self.id.is_some_and(|id| kill_process_group(id, signal).is_ok())
    }

    async fn end(mut self) {
        let gone = async {
            if let Some(child) = &mut self.child {
                let _ = child.wait().await;
            }
            while self.id.is_some_and(|id| test_kill_process_group(id).is_ok()) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let ended = tokio::time::timeout(GRACE, gone).await.is_ok();
        if !ended {
            self.signal(Signal::KILL);
            if let Some(child) = &mut self.child {
                let _ = child.wait().await;
            }
        }
        self.id = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Hands a running group over to `Ending` when the call is dropped: a time-out, a cancel.
struct Running<'e> {
    group: Option<Group>,
    ending: &'e Ending,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            self.ending.end(group);
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Standard output and error as they came, bounded.
    pub(super) output: String,
}

/// Runs `program` in `folder` without input and waits for it, and for its output as long as it lives.
pub(super) async fn run(
    program: &str,
    args: &[String],
    folder: &Path,
    key: &str,
    ending: &Ending,
) -> io::Result<Ended> {
    let (reader, writer) = io::pipe()?;
    let mut output = pipe::Receiver::from_owned_fd(reader.into())?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .env(CALL_VARIABLE, key);
    for name in secrets() {
        command.env_remove(name);
    }
    let child = command.spawn()?;
    // The command holds the writing ends of the pipe: without this the output would never end.
    drop(command);
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let noted = id.zip(ending.groups.as_ref()).map(|(id, groups)| {
        let id = id.as_raw_nonzero().get();
        groups.began(id);
        Noted { id, groups: Arc::clone(groups) }
    });
    let mut running = Running { group: Some(Group { id, child: Some(child), _noted: noted }), ending };
    let mut kept = Kept::default();
    let status = wait(&mut running, &mut output, &mut kept).await?;
    // What the command left behind is ended now; a pipe it holds is waited for a moment only.
    let _ = tokio::time::timeout(DRAIN, read(&mut output, &mut kept)).await;
    if let Some(group) = &mut running.group {
        group.child = None;
    }
    Ok(Ended { status, output: kept.text() })
}

async fn wait(running: &mut Running<'_>, output: &mut pipe::Receiver, kept: &mut Kept) -> io::Result<ExitStatus> {
    let Some(child) = running.group.as_mut().and_then(|group| group.child.as_mut()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let exited = child.wait();
    tokio::pin!(exited);
    let mut open = true;
    loop {
        tokio::select! {
            status = &mut exited => return status,
            more = read(output, kept), if open => open = more,
        }
    }
}

/// Reads until the output ends. Cancel safe: what was read is kept.
async fn read(output: &mut pipe::Receiver, kept: &mut Kept) -> bool {
    let mut buffer = [0; 8 * 1024];
    loop {
        match output.read(&mut buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(n) => kept.push(buffer.get(..n).unwrap_or_default()),
        }
    }
}

/// Names of environment variables that look like secrets; a child of the model does not get them.
fn secrets() -> Vec<std::ffi::OsString> {
    const MARKS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| {
            let name = name.to_string_lossy().to_uppercase();
            MARKS.iter().any(|mark| name.contains(mark))
        })
        .collect()
}

/// The head and the tail of an output.
#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        const HALF: usize = OUTPUT_BYTES / 2;
        let (head, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn text(mut self) -> String {
        if self.left_out == 0 {
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let tail: Vec<u8> = self.tail.into();
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n… ({} bytes left out) …\n{tail}", self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_head_and_its_tail() {
        let mut kept = Kept::default();
        for n in 0..100_000 {
            kept.push(format!("{n}\n").as_bytes());
        }
        let text = kept.text();
        assert!(text.starts_with("0\n1\n"), "{}", &text[..20]);
        assert!(text.ends_with("99998\n99999\n"));
        assert!(text.len() < OUTPUT_BYTES + 100, "{}", text.len());
        assert!(text.contains("(523354 bytes left out)"), "{}", text.len());
    }

    #[test]
    fn a_short_output_is_whole() {
        let mut kept = Kept::default();
        kept.push(b"a\xffb");
        assert_eq!(kept.text(), "a\u{fffd}b");
    }
}
