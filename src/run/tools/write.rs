//! `write_file`: a whole file, or nothing.

use super::ignored::rules_at;
use super::limits::WRITE_BYTES;
use super::root::{PathError, Place, Root};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Names tried for a file beside the final one.
const TRIES: u32 = 100;

#[derive(Deserialize)]
pub(super) struct Args {
    path: String,
    content: String,
}

/// Writes the file beside its place and moves it there, so that a reader sees the old text or the new one.
pub(super) fn write(root: &Root, args: &Args) -> Result<String, String> {
    if args.content.len() > WRITE_BYTES {
        return Err(format!("the content is {} bytes long; the most is {WRITE_BYTES}", args.content.len()));
    }
    let mut place = root.find(&args.path).map_err(|e| e.to_string())?;
    rules_at(root, &place).map_err(|e| e.to_string())?;
    if place.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(".gitignore")) {
        return Err("`.gitignore` says what is kept out of reach, and is not written here".to_owned());
    }
    place.make_way().map_err(|e| e.to_string())?;
    let (name, mode) = target(&place).map_err(|e| e.to_string())?;
    put(place.dir(), &name, args.content.as_bytes(), mode, true)
        .map_err(|e| PathError::io(&place.text(), e).to_string())?;
    let what = if mode.is_some() { "replaced" } else { "new file" };
    Ok(format!("wrote {} bytes to {} ({what})", args.content.len(), place.text()))
}

/// The name to write, and the mode of the file that stands there.
fn target(place: &Place<'_>) -> Result<(std::ffi::OsString, Option<Mode>), PathError> {
    let Some(name) = &place.name else {
        return Err(PathError::Folder(place.text()));
    };
    match rustix::fs::statat(place.dir(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            Ok((name.clone(), Some(Mode::from_raw_mode(stat.st_mode & 0o777))))
        }
        Ok(_) => Err(PathError::Special(place.text())),
        Err(Errno::NOENT) => Ok((name.clone(), None)),
        Err(e) => Err(PathError::io(&place.text(), e)),
    }
}

/// Puts a file into `dir` in one piece. Without `replace`, a file that is there already is an error.
pub(super) fn put(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    mode: Option<Mode>,
    replace: bool,
) -> std::io::Result<()> {
    let (beside, mut file) = create_beside(dir)?;
    let written = file.write_all(content).and_then(|()| {
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, mode)?;
        }
        Ok(())
    });
    let moved = written.and_then(|()| {
        if replace {
            // Replaces the name itself: a symlink that was put there meanwhile is not followed.
            rustix::fs::renameat(dir, &beside, dir, name)?;
        } else {
            rustix::fs::linkat(dir, &beside, dir, name, AtFlags::empty())?;
        }
        Ok(())
    });
    if moved.is_err() || !replace {
        let _ = rustix::fs::unlinkat(dir, &beside, AtFlags::empty());
    }
    moved
}

fn create_beside(dir: BorrowedFd<'_>) -> std::io::Result<(String, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut last = Errno::EXIST;
    for _ in 0..TRIES {
        let name = format!(".stagekeeper-{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match rustix::fs::openat(dir, &name, NEW, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(e) => {
                last = e;
                break;
            }
        }
    }
    Err(last.into())
}
