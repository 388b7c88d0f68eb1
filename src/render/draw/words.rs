//! Texts made short and plain enough for a box.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of `text` on a terminal.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// One line: runs of white space and control characters become one space.
pub(super) fn flat(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Neither a control character nor one that turns the writing direction or is forbidden in XML.
fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// At most `columns` columns; what is cut shows as `…`.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    let text = flat(text);
    if width(&text) <= columns {
        return text;
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// Lines of at most `columns` columns, broken between words where that is possible, at most `lines` of them.
pub(super) fn wrap(text: &str, columns: usize, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = flat(text);
    while !rest.is_empty() {
        if out.len() + 1 == lines {
            out.push(shorten(&rest, columns));
            break;
        }
        let at = break_at(&rest, columns);
        let tail = rest.split_off(at);
        out.push(rest.trim_end().to_owned());
        rest = tail.trim_start().to_owned();
    }
    out
}

/// Where to break: after the last space that fits, else after the last character that fits.
fn break_at(text: &str, columns: usize) -> usize {
    let (mut used, mut end, mut space) = (0, 0, None);
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if c == ' ' && used <= columns + 1 {
            space = Some(at);
        }
        if used > columns {
            return space.unwrap_or(if end == 0 { at + c.len_utf8() } else { end });
        }
        end = at + c.len_utf8();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_never_exceed_the_columns() {
        let text = "Read the candidate files one after another, averyveryveryveryverylongword too. 先列目录再读文件。";
        for columns in 4..40 {
            for line in wrap(text, columns, 99) {
                assert!(width(&line) <= columns, "{columns}: {line:?}");
            }
            assert!(width(&shorten(text, columns)) <= columns);
        }
    }

    #[test]
    fn nothing_is_lost_by_wrapping() {
        let text = "one two three four five";
        assert_eq!(wrap(text, 9, 99).join(" "), text);
        assert_eq!(wrap(text, 9, 2), ["one two", "three fo…"]);
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(flat("a\u{1b}[31mb\n\tc\u{202e}d"), "a [31mb c d");
    }
}
