//! `read_file`: the text of a file, or some of its lines.

use super::ignored::rules_at;
use super::limits::{READ_BYTES, SKIP_BYTES};
use super::root::Root;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};

/// Bytes at a file's beginning that are looked at for a zero byte.
const BINARY_LOOK: usize = 8 * 1024;

#[derive(Deserialize)]
pub(super) struct Args {
    path: String,
    /// The first line, from 1.
    offset: Option<u64>,
    /// How many lines.
    limit: Option<u64>,
}

/// Whether the bytes are no text: a zero byte near the beginning, as git decides it.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_LOOK).any(|b| *b == 0)
}

/// The plain text, without line numbers; what was left out is said on a last line of its own.
pub(super) fn read(root: &Root, args: &Args) -> Result<String, String> {
    let place = root.find(&args.path).map_err(|e| e.to_string())?;
    rules_at(root, &place).map_err(|e| e.to_string())?;
    let file = place.open().map_err(|e| e.to_string())?;
    let size = file.metadata().map(|m| m.len()).unwrap_or_default();
    let name = place.text();
    let mut input = BufReader::with_capacity(BINARY_LOOK, file);
    if is_binary(input.fill_buf().map_err(|e| format!("`{name}`: {e}"))?) {
        return Err(format!("`{name}` is a binary file of {size} bytes; it cannot be read as text"));
    }
    lines(input, args, &name).map_err(|e| format!("`{name}`: {e}"))
}

fn lines(mut input: impl BufRead, args: &Args, name: &str) -> std::io::Result<String> {
    let first = args.offset.unwrap_or(1).max(1);
    let most = args.limit.unwrap_or(u64::MAX);
    let Some(passed) = skip(&mut input, first - 1)? else {
        return Ok(format!("(line {first} of `{name}` is too far in; use grep_code to find the place)"));
    };
    if passed < first - 1 {
        let lines = if passed == 1 { "1 line".to_owned() } else { format!("{passed} lines") };
        return Ok(format!("(`{name}` ends before line {first}: it has {lines})"));
    }
    let (mut kept, mut count) = (Vec::new(), 0);
    while count < most && kept.len() < READ_BYTES {
        let room = (READ_BYTES - kept.len()) as u64;
        if input.by_ref().take(room).read_until(b'\n', &mut kept)? == 0 {
            return Ok(String::from_utf8_lossy(&kept).into_owned());
        }
        count += 1;
    }
    if input.fill_buf()?.is_empty() {
        return Ok(String::from_utf8_lossy(&kept).into_owned());
    }
    let whole = kept.ends_with(b"\n");
    if let Err(e) = std::str::from_utf8(&kept)
        && e.error_len().is_none()
    {
        // Cut on a character boundary.
        kept.truncate(e.valid_up_to());
    }
    let mut text = String::from_utf8_lossy(&kept).into_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    // A line that was cut in the middle is given whole next time.
    let next = if whole { first + count } else { (first + count - 1).max(first + 1) };
    text.push_str(&format!("(more follows; continue with offset {next})"));
    Ok(text)
}

/// Passes over `lines` lines; how many there were, or `None` when they are too long to pass over.
fn skip(input: &mut impl BufRead, lines: u64) -> std::io::Result<Option<u64>> {
    let (mut passed, mut bytes, mut open) = (0, 0, false);
    while passed < lines {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(Some(passed + u64::from(open)));
        }
        let used = match buffer.iter().position(|b| *b == b'\n') {
            Some(at) => {
                passed += 1;
                open = false;
                at + 1
            }
            None => {
                open = true;
                buffer.len()
            }
        };
        input.consume(used);
        bytes += used;
        if bytes > SKIP_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(passed))
}
