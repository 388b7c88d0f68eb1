//! The one walk behind `list_files` and `grep_code`: sorted, bounded, following no symlink.

use super::ignored::Rules;
use super::limits::{DEPTH, DIRECTORY, WALKED};
use super::root::{names, open_directory};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// One entry of a walk.
pub(super) struct Entry<'a> {
    /// Its directory, held open.
    pub(super) dir: BorrowedFd<'a>,
    /// Its name there.
    pub(super) name: &'a OsStr,
    /// Its path from the root.
    pub(super) path: &'a str,
    pub(super) kind: FileType,
    /// Levels below the start, from 1.
    pub(super) level: u32,
}

/// What a visitor wants next.
pub(super) enum Go {
    On,
    /// Not into this folder.
    Past,
    Stop,
}

/// A walk under way.
pub(super) struct Walk<'w, V> {
    visit: V,
    stop: &'w AtomicBool,
    seen: usize,
    /// Whether entries were left out because there are too many.
    pub(super) cut: bool,
}

impl<'w, V: FnMut(&Entry<'_>) -> Go> Walk<'w, V> {
    pub(super) fn new(stop: &'w AtomicBool, visit: V) -> Self {
        Self { visit, stop, seen: 0, cut: false }
    }

    /// Visits what is below `dir`, whose path from the root is `at` (`.` for the root).
    pub(super) fn run(&mut self, dir: BorrowedFd<'_>, at: &str, rules: &Rules) {
        let prefix = if at == "." { String::new() } else { format!("{at}/") };
        let _ = self.folder(dir, &prefix, rules, 1);
    }

    fn folder(&mut self, dir: BorrowedFd<'_>, prefix: &str, rules: &Rules, level: u32) -> ControlFlow<()> {
        // A folder that cannot be read (no permission, gone by now) is passed over.
        let Ok((entries, more)) = names(dir, DIRECTORY) else {
            return ControlFlow::Continue(());
        };
        self.cut |= more;
        for (name, kind) in entries {
            if self.stop.load(Ordering::Relaxed) || self.seen >= WALKED {
                self.cut = true;
                return ControlFlow::Break(());
            }
            self.seen += 1;
            if rules.hide(&name, kind == FileType::Directory) {
                continue;
            }
            let path = format!("{prefix}{}", name.to_string_lossy());
            match (self.visit)(&Entry { dir, name: &name, path: &path, kind, level }) {
                Go::Stop => return ControlFlow::Break(()),
                Go::On if kind == FileType::Directory => self.below(dir, &name, &path, rules, level)?,
                Go::On | Go::Past => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn below(&mut self, dir: BorrowedFd<'_>, name: &OsStr, path: &str, rules: &Rules, level: u32) -> ControlFlow<()> {
        if level as usize >= DEPTH {
            self.cut = true;
            return ControlFlow::Continue(());
        }
        let Ok(inner) = open_directory(dir, name) else {
            return ControlFlow::Continue(());
        };
        let rules = rules.below(name, inner.as_fd());
        self.folder(inner.as_fd(), &format!("{path}/"), &rules, level + 1)
    }
}
