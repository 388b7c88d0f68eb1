//! `list_files`: what is there.

use super::ignored::rules_at;
use super::limits::{LIST_DEPTH, LISTED};
use super::root::{PathError, Root};
use super::walk::{Go, Walk};
use rustix::fs::FileType;
use serde::Deserialize;
use std::sync::atomic::AtomicBool;

#[derive(Deserialize)]
pub(super) struct Args {
    path: Option<String>,
    depth: Option<u32>,
}

/// The paths below a folder, one a line, sorted; folders that were not entered end in `/`.
pub(super) fn list(root: &Root, args: &Args, stop: &AtomicBool) -> Result<String, String> {
    let place = root.find(args.path.as_deref().unwrap_or(".")).map_err(|e| e.to_string())?;
    let rules = rules_at(root, &place).map_err(|e| e.to_string())?;
    if place.name.is_some() {
        // A file lists as itself, as `ls` does.
        return match place.open() {
            Ok(_) | Err(PathError::Special(_)) => Ok(place.text()),
            Err(e) => Err(e.to_string()),
        };
    }
    let depth = args.depth.unwrap_or(LIST_DEPTH).max(1);
    let (mut lines, mut left_out) = (Vec::new(), 0_usize);
    let mut walk = Walk::new(stop, |entry| {
        let folder = entry.kind == FileType::Directory;
        if folder && entry.level < depth {
            return Go::On;
        }
        if lines.len() < LISTED {
            lines.push(if folder { format!("{}/", entry.path) } else { entry.path.to_owned() });
        } else {
            left_out += 1;
        }
        Go::Past
    });
    walk.run(place.dir(), &place.text(), &rules);
    let cut = walk.cut;
    if left_out > 0 || cut {
        let more = if cut { "more than " } else { "" };
        lines.push(format!("({more}{left_out} further entries not shown; give `path` to look into one folder)"));
    }
    Ok(lines.join("\n"))
}
