//! What `.gitignore` hides, asked one directory at a time on the way down.

use super::limits::IGNORE_BYTES;
use super::root::{PathError, Place, Root, open_file};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders no file tool shows, reads or writes: git's own (a hook written there would run), and ours.
const OWN: [&str; 2] = [".git", ".stagekeeper"];

/// The rules that hold in one directory: its own last, those of the directories above it before.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    at: PathBuf,
    stack: Vec<Gitignore>,
    off_limits: Arc<[PathBuf]>,
}

impl Rules {
    /// The rules in the root itself. A root inside a git repository obeys the `.gitignore` files above it too, up to
    /// the repository's top; global settings of the user are left out, so that every machine shows the same.
    pub(super) fn of_root(root: &Root) -> Self {
        let mut rules = Self { at: root.path().to_owned(), stack: Vec::new(), off_limits: root.off_limits() };
        let above = root.path().ancestors().skip(1);
        let in_repository = |top: &Path| top.join(".git").exists();
        if !in_repository(root.path())
            && let Some(depth) = above.clone().position(in_repository)
        {
            let mut folders: Vec<_> = above.take(depth + 1).collect();
            folders.reverse();
            rules.stack.extend(folders.iter().filter_map(|folder| of_file(folder, &folder.join(".gitignore"))));
        }
        let exclude = root.path().join(".git/info/exclude");
        rules.stack.extend(of_file(root.path(), &exclude));
        rules.add(root.fd());
        rules
    }

    /// The rules in the directory `name` below this one.
    pub(super) fn below(&self, name: &OsStr, dir: BorrowedFd<'_>) -> Self {
        let mut rules = Self { at: self.at.join(name), ..self.clone() };
        rules.add(dir);
        rules
    }

    fn add(&mut self, dir: BorrowedFd<'_>) {
        if let Ok(file) = open_file(dir, OsStr::new(".gitignore")) {
            self.stack.extend(parse(&self.at, file));
        }
    }

    /// Whether `name` in this directory is out of reach.
    pub(super) fn hide(&self, name: &OsStr, is_dir: bool) -> bool {
        if OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return true;
        }
        let path = self.at.join(name);
        if self.off_limits.contains(&path) {
            return true;
        }
        let decided = self.stack.iter().rev().map(|one| one.matched(&path, is_dir)).find(|found| !found.is_none());
        decided.is_some_and(|found| found.is_ignore())
    }
}

/// The rules in the innermost directory of `place`.
///
/// # Errors
/// When the place itself, or a directory on the way to it, is out of reach: nothing was made or opened for it then.
pub(super) fn rules_at(root: &Root, place: &Place<'_>) -> Result<Rules, PathError> {
    let hidden = || PathError::Ignored(place.text());
    let mut rules = Rules::of_root(root);
    for (name, dir) in &place.way {
        if rules.hide(name, true) {
            return Err(hidden());
        }
        rules = rules.below(name, dir.as_fd());
    }
    let inner = rules.clone();
    for name in &place.missing {
        if rules.hide(name, true) {
            return Err(hidden());
        }
        rules.at.push(name);
    }
    match &place.name {
        Some(name) if rules.hide(name, false) => Err(hidden()),
        _ => Ok(inner),
    }
}

fn of_file(folder: &Path, file: &Path) -> Option<Gitignore> {
    parse(folder, std::fs::File::open(file).ok()?)
}

fn parse(folder: &Path, file: std::fs::File) -> Option<Gitignore> {
    let mut text = Vec::new();
    file.take(IGNORE_BYTES).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no pattern hides nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
