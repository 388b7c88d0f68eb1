//! Processes: who holds a run, and whether they still live. Reads `/proc`; elsewhere nobody is known to be dead.

use super::Group;
use crate::run::CALL_VARIABLE;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::path::Path;

/// Longest line read of `/proc`, in characters.
const SHOWN: usize = 200;

/// A process that holds a run: the machine's start, the pid namespace, the pid and when the process was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder(pub String);

impl Holder {
    /// This process.
    #[must_use]
    pub fn here() -> Self {
        let pid = std::process::id();
        Self(format!("{}/{pid}/{}", machine(), started(pid).unwrap_or_default()))
    }

    /// Whether the process is known to be gone.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        let mut parts = self.0.rsplitn(3, '/');
        let (Some(start), Some(pid), Some(at)) = (parts.next(), parts.next(), parts.next()) else { return false };
        let (Ok(start), Ok(pid)) = (start.parse::<u64>(), pid.parse::<u32>()) else { return false };
        let here = machine();
        // Of another machine, or where nothing can be known, the lease alone decides.
        at == here && !here.is_empty() && start > 0 && started(pid) != Some(start)
    }

    /// The process in words.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.0.rsplit('/').nth(1) {
            Some(pid) if !pid.is_empty() => format!("process {pid}"),
            _ => "another process".to_owned(),
        }
    }
}

fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let names = fs::read_link("/proc/self/ns/pid").map(|p| p.display().to_string()).unwrap_or_default();
    if boot.trim().is_empty() { String::new() } else { format!("{} {names}", boot.trim()) }
}

/// When a process was started, in ticks since the machine was; `None` when there is none of that id (a zombie is none).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, blanks and brackets too; it ends with the last bracket.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().take(SHOWN).collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    fields.get(19)?.parse().ok()
}

impl Group {
    /// The group that a process leads.
    #[must_use]
    pub fn of_leader(id: i32) -> Option<Self> {
        Some(Self { id, started: started(u32::try_from(id).ok()?)? })
    }
}

/// Whether the leader of a group still lives and is the one that was noted.
#[must_use]
pub fn is_alive(group: Group) -> bool {
    Group::of_leader(group.id) == Some(group)
}

/// Ends a group that a dead run left: its leader is still the process that was noted, or is gone and a member says by its
/// environment that it belongs to the run. `true` = it was there.
pub fn end_group(group: Group, run: &str) -> bool {
    let leader = u32::try_from(group.id).ok().and_then(started);
    let ours = leader == Some(group.started) || (leader.is_none() && has_member(group.id, run));
    ours && Pid::from_raw(group.id).is_some_and(|id| kill_process_group(id, Signal::KILL).is_ok())
}

/// Whether a process of the group was begun by a call of the run.
fn has_member(group: i32, run: &str) -> bool {
    let mark = format!("{CALL_VARIABLE}={run}-").into_bytes();
    let is_one = |process: &Path| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let of = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(2)?.parse().ok());
        of == Some(group)
            && fs::read(process.join("environ"))
                .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one.starts_with(&mark)))
    };
    fs::read_dir("/proc").is_ok_and(|all| all.flatten().any(|entry| is_one(&entry.path())))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_with_its_pid_but_another_start_is_dead() {
        let here = Holder::here();
        assert!(!here.is_dead(), "{here:?}");
        let (front, _) = here.0.rsplit_once('/').unwrap();
        assert!(Holder(format!("{front}/1")).is_dead());
        assert!(!Holder("elsewhere/1/1".to_owned()).is_dead());
        assert!(!Holder(String::new()).is_dead());
    }

    #[test]
    fn a_group_whose_leader_was_started_at_another_time_is_left_alone() {
        let id = i32::try_from(std::process::id()).unwrap();
        let here = Group::of_leader(id).unwrap();
        assert!(is_alive(here));
        assert!(!end_group(Group { started: here.started + 1, ..here }, "run"));
    }
}
