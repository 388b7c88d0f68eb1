//! The folder the file tools are confined to.
//!
//! Nothing here joins path texts and hopes: every step of a path is opened from the directory handle before it, never
//! following a symlink, and symlinks are read and resolved by us. So neither `..`, an absolute path, a symlink nor a
//! directory swapped for a symlink half-way leads out.

use super::limits::{DEPTH, LINKS, PATH_BYTES};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
// NONBLOCK: opening a pipe that nobody writes to must not hang.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Why a path cannot be used, in words for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("`{0}` leads out of the root folder; give a path below it, such as `src/main.rs`")]
    Outside(String),
    #[error("no such file or folder: `{0}`; list_files shows what is there")]
    Missing(String),
    #[error("`{0}` is a folder; list_files shows what is in it")]
    Folder(String),
    #[error("`{0}` is no folder")]
    NotAFolder(String),
    #[error("`{0}` is neither a file nor a folder")]
    Special(String),
    #[error("`{0}` is kept out of reach by .gitignore, or is git's or stagekeeper's own")]
    Ignored(String),
    #[error("the path is too long, too deep, holds too many symlinks or a zero byte")]
    Unusable,
    #[error("`{path}`: {problem}")]
    Io { path: String, problem: String },
}

impl PathError {
    pub(super) fn io(path: &str, problem: impl Into<std::io::Error>) -> Self {
        let problem: std::io::Error = problem.into();
        Self::Io { path: path.to_owned(), problem: problem.kind().to_string() }
    }
}

/// The root folder, held open.
#[derive(Debug)]
pub(super) struct Root {
    dir: OwnedFd,
    path: PathBuf,
    /// Files that are out of reach, by their whole paths.
    off_limits: Arc<[PathBuf]>,
}

/// Where a path leads: open directories from the root on, and the last name in the innermost.
#[derive(Debug)]
pub(super) struct Place<'r> {
    root: &'r Root,
    /// The directories on the way, the root left out.
    pub(super) way: Vec<(OsString, OwnedFd)>,
    /// Folders that are missing on the way; made only by [`Place::make_way`].
    pub(super) missing: Vec<OsString>,
    /// The last name; `None` when the path is a directory already open.
    pub(super) name: Option<OsString>,
}

impl Root {
    pub(super) fn open(path: &Path, off_limits: &[PathBuf]) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let dir = rustix::fs::open(&path, DIRECTORY, Mode::empty())?;
        // They need not be there yet; the folders they stand in are.
        let whole = |file: &PathBuf| {
            let folder = std::path::absolute(file).ok()?.parent()?.canonicalize().ok()?;
            Some(folder.join(file.file_name()?))
        };
        Ok(Self { dir, path, off_limits: off_limits.iter().filter_map(whole).collect() })
    }

    pub(super) fn off_limits(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.off_limits)
    }

    /// Where it stands, without symlinks.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Follows `path` inside the root, as far as it exists.
    pub(super) fn find(&self, path: &str) -> Result<Place<'_>, PathError> {
        if path.len() > PATH_BYTES || path.contains('\0') {
            return Err(PathError::Unusable);
        }
        let mut place = Place { root: self, way: Vec::new(), missing: Vec::new(), name: None };
        let mut rest = VecDeque::new();
        self.prepend(&mut place, &mut rest, Path::new(path), path)?;
        let mut links = 0;
        while let Some(step) = rest.pop_front() {
            if step == ".." {
                place.way.pop().ok_or_else(|| PathError::Outside(path.to_owned()))?;
                continue;
            }
            match place.kind_of(&step) {
                Ok(FileType::Symlink) => {
                    links += 1;
                    if links > LINKS {
                        return Err(PathError::Unusable);
                    }
                    let target = place.link(&step).map_err(|e| PathError::io(path, e))?;
                    self.prepend(&mut place, &mut rest, Path::new(OsStr::from_bytes(&target)), path)?;
                }
                Ok(FileType::Directory) => place.enter(step, path)?,
                Ok(_) if rest.is_empty() => place.name = Some(step),
                Ok(_) => return Err(PathError::NotAFolder(place.text_with(&step))),
                Err(Errno::NOENT) if rest.is_empty() => place.name = Some(step),
                Err(Errno::NOENT) => return place.end_in_missing(step, rest),
                Err(e) => return Err(PathError::io(path, e)),
            }
        }
        Ok(place)
    }

    /// Puts the steps of `path` before the rest. An absolute path is taken when it names a place below the root.
    fn prepend(
        &self,
        place: &mut Place<'_>,
        rest: &mut VecDeque<OsString>,
        path: &Path,
        asked: &str,
    ) -> Result<(), PathError> {
        let relative = if path.is_absolute() {
            place.way.clear();
            path.strip_prefix(&self.path).map_err(|_| PathError::Outside(asked.to_owned()))?
        } else {
            path
        };
        for step in relative.components().rev() {
            match step {
                Component::Normal(name) => rest.push_front(name.to_owned()),
                Component::ParentDir => rest.push_front("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        if rest.len() > PATH_BYTES { Err(PathError::Unusable) } else { Ok(()) }
    }
}

impl Place<'_> {
    /// The rest of the path does not exist: plain names only, since nothing is there to go back from.
    fn end_in_missing(mut self, first: OsString, rest: VecDeque<OsString>) -> Result<Self, PathError> {
        self.missing.push(first);
        self.missing.extend(rest);
        if self.missing.iter().any(|name| name == "..") || self.missing.len() + self.way.len() > DEPTH {
            return Err(PathError::Unusable);
        }
        self.name = self.missing.pop();
        Ok(self)
    }

    /// Makes the folders that are missing on the way.
    pub(super) fn make_way(&mut self) -> Result<(), PathError> {
        let asked = self.text();
        for name in std::mem::take(&mut self.missing) {
            rustix::fs::mkdirat(self.dir(), &name, Mode::from_raw_mode(0o777))
                .or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(e) })
                .map_err(|e| PathError::io(&asked, e))?;
            self.enter(name, &asked)?;
        }
        Ok(())
    }

    /// The innermost open directory.
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.way.last().map_or(self.root.dir.as_fd(), |(_, dir)| dir.as_fd())
    }

    /// The path from the root, without symlinks; `.` for the root itself.
    pub(super) fn text(&self) -> String {
        let names: Vec<_> = self
            .way
            .iter()
            .map(|(name, _)| name)
            .chain(&self.missing)
            .chain(&self.name)
            .map(|n| n.to_string_lossy())
            .collect();
        if names.is_empty() { ".".to_owned() } else { names.join("/") }
    }

    fn text_with(&self, name: &OsStr) -> String {
        match self.text().as_str() {
            "." => name.to_string_lossy().into_owned(),
            text => format!("{text}/{}", name.to_string_lossy()),
        }
    }

    fn kind_of(&self, name: &OsStr) -> Result<FileType, Errno> {
        let stat = rustix::fs::statat(self.dir(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    fn link(&self, name: &OsStr) -> Result<Vec<u8>, Errno> {
        Ok(rustix::fs::readlinkat(self.dir(), name, Vec::new())?.into_bytes())
    }

    fn enter(&mut self, name: OsString, asked: &str) -> Result<(), PathError> {
        if self.way.len() >= DEPTH {
            return Err(PathError::Unusable);
        }
        // A directory swapped for a symlink since it was looked at is not followed: NOFOLLOW.
        let dir = open_directory(self.dir(), &name).map_err(|e| match e {
            Errno::LOOP | Errno::NOTDIR => PathError::Outside(asked.to_owned()),
            e => PathError::io(asked, e),
        })?;
        self.way.push((name, dir));
        Ok(())
    }

    /// Opens the file for reading: a regular file, not a folder, pipe or device.
    pub(super) fn open(&self) -> Result<File, PathError> {
        let Some(name) = &self.name else {
            return Err(PathError::Folder(self.text()));
        };
        if !self.missing.is_empty() {
            return Err(PathError::Missing(self.text()));
        }
        open_file(self.dir(), name).map_err(|e| match e {
            OpenError::Os(Errno::NOENT) => PathError::Missing(self.text()),
            OpenError::Os(Errno::LOOP) => PathError::Outside(self.text()),
            OpenError::Os(e) => PathError::io(&self.text(), e),
            OpenError::Special => PathError::Special(self.text()),
        })
    }
}

pub(super) enum OpenError {
    Os(Errno),
    Special,
}

/// Opens a regular file in `dir`, following nothing.
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &OsStr) -> Result<File, OpenError> {
    let file = rustix::fs::openat(dir, name, READ, Mode::empty()).map_err(OpenError::Os)?;
    let stat = rustix::fs::fstat(&file).map_err(OpenError::Os)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(OpenError::Special),
    }
}

/// Opens a directory in `dir`, following nothing.
pub(super) fn open_directory(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, DIRECTORY, Mode::empty())
}

/// The names in a directory with their kinds, sorted; and whether some were left out.
pub(super) fn names(dir: BorrowedFd<'_>, most: usize) -> Result<(Vec<(OsString, FileType)>, bool), Errno> {
    let mut found = Vec::new();
    let mut more = false;
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if found.len() >= most {
            more = true;
            break;
        }
        let name = OsString::from_vec(name.to_vec());
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        found.push((name, kind));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((found, more))
}
