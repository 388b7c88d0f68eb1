//! Bounds of the built-in tools. Whatever is cut says so in its result.

use std::time::Duration;

/// Most entries `list_files` shows.
pub const LISTED: usize = 400;
/// Levels that `list_files` shows without `depth`.
pub const LIST_DEPTH: u32 = 3;
/// Most matches `grep_code` shows.
pub const MATCHES: usize = 200;
/// Longest matching line shown, in characters.
pub const MATCH_CHARS: usize = 300;
/// Largest file `grep_code` looks into, in bytes.
pub const GREP_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Most bytes `grep_code` reads in one call.
pub const GREP_BYTES: u64 = 512 * 1024 * 1024;
/// Most bytes of text `read_file` shows in one call.
pub const READ_BYTES: usize = 64 * 1024;
/// Most bytes `read_file` passes over to reach `offset`.
pub const SKIP_BYTES: usize = 64 * 1024 * 1024;
/// Largest file `write_file` writes, in bytes.
pub const WRITE_BYTES: usize = 4 * 1024 * 1024;
/// Most directory entries one walk looks at.
pub const WALKED: usize = 200_000;
/// Most entries of one directory.
pub const DIRECTORY: usize = 50_000;
/// Deepest directory below the root.
pub const DEPTH: usize = 64;
/// Symlinks followed on the way to one file.
pub const LINKS: usize = 40;
/// Longest path, in bytes.
pub const PATH_BYTES: usize = 4096;
/// Largest `.gitignore` that is read, in bytes.
pub const IGNORE_BYTES: u64 = 1024 * 1024;
/// Compiled size of a regex or glob, in bytes.
pub const PATTERN_BYTES: usize = 1 << 20;
/// Bytes of a command's output that are kept, half of them its head and half its tail.
pub const OUTPUT_BYTES: usize = 64 * 1024;
/// Longest command line, in bytes.
pub const COMMAND_BYTES: usize = 16 * 1024;
/// How long a group of processes has between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a command's output is waited for once the command itself has ended.
pub const DRAIN: Duration = Duration::from_millis(250);
/// Longest mail body, in bytes.
pub const MAIL_BYTES: usize = 1024 * 1024;
/// Longest mail subject, in characters.
pub const SUBJECT_CHARS: usize = 250;
/// Most recipients of one mail.
pub const RECIPIENTS: usize = 20;
