//! What tools give back, made fit to be kept and shown: bounded, and without control characters.

use crate::engine::input::ToolResult;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Most bytes of one tool result that reach the engine, half of them its head and half its tail.
pub const RESULT_BYTES: usize = 256 * 1024;

/// Cuts a result to [`RESULT_BYTES`] and makes it safe for terminals. A plain result of ordinary size is not copied.
pub(super) fn bounded(mut result: ToolResult) -> ToolResult {
    if result.text.len() > RESULT_BYTES {
        result.text = cut(&result.text);
    }
    if let Cow::Owned(safe) = safe(&result.text) {
        result.text = safe;
    }
    result
}

fn cut(text: &str) -> String {
    const HALF: usize = RESULT_BYTES / 2;
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=HALF).rev().find(boundary).unwrap_or_default();
    let tail = (text.len() - HALF..text.len()).find(boundary).unwrap_or(text.len());
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{start}\n… ({} of {} bytes left out) …\n{end}", tail - head, text.len())
}

/// The text without what a terminal would obey: colour sequences are taken out, a lone carriage return
/// (which writes over its line) becomes a line end, other control characters written out as `\u{1b}`.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| (b' '..0x7f).contains(&b) || b == b'\n' || b == b'\t';
    if text.bytes().all(plain) || !text.chars().any(unsafe_char) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => out.push(if chars.peek() == Some(&'\n') { '\r' } else { '\n' }),
            '\u{1b}' if chars.peek() == Some(&'[') => skip_sequence(&mut chars),
            c if unsafe_char(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn unsafe_char(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Passes over `[`, parameters and the final letter of a control sequence.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    chars.next();
    while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_not_copied() {
        for text in ["", "a\tb\nc", "Ärger, 你好 🦀"] {
            assert!(matches!(safe(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn control_characters_are_taken_out_or_written_out() {
        assert_eq!(safe("a\x1b[1;31mred\x1b[0m\r\nb\rc\x07\u{9b}1m\x7f"), "ared\r\nb\nc\\u{7}\\u{9b}1m\\u{7f}");
        assert_eq!(safe("\x1b]0;title\x07"), "\\u{1b}]0;title\\u{7}");
        assert_eq!(safe("\x1b["), "");
    }

    #[test]
    fn a_result_of_50_mb_keeps_head_and_tail_on_character_boundaries() {
        let text = format!("head{}tail", "é".repeat(25 * 1024 * 1024));
        let result = bounded(ToolResult::ok(text));
        assert!(result.text.len() < RESULT_BYTES + 100);
        assert!(result.text.starts_with("headé") && result.text.ends_with("étail"));
        assert!(result.text.contains("of 52428808 bytes left out"));
    }
}
