//! Says in plain words what is wrong where the text is not YAML: above all the two slips every newcomer makes.

use super::lines::{behind, lines};
use crate::table::limits;
use crate::table::report::{Place, Report};
use serde_yaml::granit_parser::{ErrorKind, ScanError};

/// The first control character that no text file holds.
pub(super) fn binary(text: &str, file: u16) -> Option<Place> {
    let odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    let at = text.find(odd)?;
    let (line, column) = behind(text.get(..at).unwrap_or_default());
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(Place { file, line: narrow(line + 1), column: narrow(column + 1), width: 1 })
}

/// Reports why the parser stopped.
pub(super) fn explain(error: &ScanError, text: &str, file: u16, report: &mut Report) {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let line = error.marker().line().max(1);
    let here = Place { file, line: narrow(line), column: narrow(error.marker().col() + 1), width: 1 };
    if let Some((code, said, help)) = by_kind(error.kind()) {
        report.error(code, here, said, help);
        return;
    }
    for number in [line, line.saturating_sub(1)] {
        let Some(shown) = number.checked_sub(1).and_then(|before| lines(text).nth(before)) else {
            continue;
        };
        if let Some((slip, column, width)) = slip_in(shown) {
            let place = Place { file, line: narrow(number), column: 1, width: 1 }.part(column, width);
            report.error(slip.code(), place, slip.said(), slip.help());
            return;
        }
    }
    if let Some((above, column)) = unclosed(text, line) {
        let place = Place { file, line: narrow(above), column: 1, width: 1 }.part(column, 1);
        let help = help_for(&ErrorKind::MisplacedFlowCollectionEnd);
        report.error("yaml-syntax", place, "this is not YAML: this bracket is not closed", help);
        return;
    }
    if colon_kind(error.kind()) {
        report.error(Slip::Colon.code(), here, Slip::Colon.said(), Slip::Colon.help());
        return;
    }
    report.error("yaml-syntax", here, format!("this is not YAML: {}", error.kind()), help_for(error.kind()));
}

fn by_kind(kind: &ErrorKind) -> Option<(&'static str, String, &'static str)> {
    use ErrorKind as K;
    Some(match kind {
        K::TabNotAllowed | K::TabInBlockIndentation | K::TabAtBlockScalarStart | K::TabInIndentation => {
            ("yaml-tab", "a tab stands where YAML wants spaces".to_owned(), Slip::Tab.help())
        }
        K::RecursionLimitExceeded => {
            let said = format!("more than {} lists and mappings stand inside one another here", limits::DEPTH);
            ("yaml-nesting", said, "a stage table needs fewer than ten")
        }
        K::UnknownAnchor => (
            "yaml-alias",
            "this alias names an anchor that does not stand above it".to_owned(),
            "write `&name` at the value to repeat, or put quotes round a text that begins with `*`",
        ),
        _ => return None,
    })
}

/// A bracket that one of the lines above opens and does not close.
fn unclosed(text: &str, line: usize) -> Option<(usize, usize)> {
    let first = line.saturating_sub(LOOKED_BACK);
    let above: Vec<&str> = lines(text).skip(first.saturating_sub(1)).take(line.saturating_sub(first.max(1))).collect();
    above.iter().rev().zip(1..).find_map(|(shown, back)| Some((line - back, open_bracket(shown)?)))
}

fn colon_kind(kind: &ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(kind, K::MappingValueNotAllowed | K::InvalidColonPlacement | K::InvalidMappingValueWhitespace)
}

fn help_for(kind: &ErrorKind) -> Option<String> {
    use ErrorKind as K;
    let help = match kind {
        K::UnexpectedCharacter { .. } => "put quotes round a text that begins with a special character",
        K::UnclosedQuotedScalar | K::InvalidQuotedScalarIndent => "a quote was opened and not closed",
        K::UnclosedFlowCollection { .. } | K::UnexpectedEofFlowMapping | K::UnexpectedEofFlowSequence => {
            "a `{` or `[` was opened and not closed"
        }
        K::MismatchedFlowCollectionEnd { .. } => "a `}` or `]` stands here that nothing opened",
        K::MisplacedFlowCollectionEnd => "every `{` needs its `}`, every `[` its `]`",
        K::InvalidIndentation | K::ExpectedBlockMappingKey | K::ExpectedBlockSequenceEntry | K::SimpleKeyExpected => {
            "look at the indentation of this line and the one above"
        }
        _ => return None,
    };
    Some(help.to_owned())
}

/// Lines above an error that are searched for a bracket left open.
const LOOKED_BACK: usize = 20;

/// A slip that YAML explains badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    Tab,
    Colon,
    Quote,
}

impl Slip {
    fn code(self) -> &'static str {
        match self {
            Self::Tab => "yaml-tab",
            Self::Colon => "yaml-colon",
            Self::Quote => "yaml-quote",
        }
    }

    fn said(self) -> &'static str {
        match self {
            Self::Tab => "a tab stands where YAML wants spaces",
            Self::Colon => "a colon followed by a space stands inside a text, so YAML takes it for a key",
            Self::Quote => "a value begins with a quote and goes on after it",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Tab => "indent with spaces",
            Self::Colon => "put the whole text in quotes, or write `>` after the key and the text on the next line",
            Self::Quote => {
                "put quotes of the other kind round the whole value, or write `>` after the key and the text on the next line"
            }
        }
    }
}

/// The slip of one line, with its column from 0 and its width in characters.
fn slip_in(line: &str) -> Option<(Slip, usize, usize)> {
    let chars: Vec<char> = line.trim_end().chars().collect();
    let indent = chars.iter().take_while(|c| c.is_whitespace()).count();
    if let Some(tab) = chars.iter().take(indent).position(|c| *c == '\t') {
        return Some((Slip::Tab, tab, 1));
    }
    let at = |i: usize| chars.get(i).copied();
    let mut i = indent;
    while at(i) == Some('-') && at(i + 1) == Some(' ') {
        i += 2;
    }
    let (mut colons, mut flow, mut fresh) = (0, 0_usize, true);
    while let Some(c) = at(i) {
        match c {
            '"' | '\'' if fresh => {
                let end = quote_end(&chars, i)?;
                let rest = chars.iter().skip(end).find(|c| !c.is_whitespace());
                if rest.is_some_and(|c| !matches!(c, ',' | '}' | ']' | '#' | ':')) {
                    return Some((Slip::Quote, i, chars.len() - i));
                }
                (i, fresh) = (end, false);
                continue;
            }
            '{' | '[' if fresh => (flow, colons) = (flow + 1, 0),
            ',' if flow > 0 => (colons, fresh) = (0, true),
            '}' | ']' if flow > 0 => (flow, colons, fresh) = (flow - 1, 0, false),
            '#' if i > 0 && at(i - 1).is_some_and(char::is_whitespace) => return None,
            ':' if at(i + 1).is_none_or(char::is_whitespace) => {
                colons += 1;
                if colons == 2 {
                    return Some((Slip::Colon, i, 1));
                }
                fresh = true;
            }
            c if c.is_whitespace() => {}
            _ => fresh = false,
        }
        i += 1;
    }
    None
}

/// The column from 0 of a bracket at the start of a value that the line does not close.
fn open_bracket(line: &str) -> Option<usize> {
    let chars: Vec<char> = line.chars().collect();
    let mut open: Vec<usize> = Vec::new();
    let (mut fresh, mut i) = (true, 0);
    while let Some(c) = chars.get(i) {
        match c {
            '"' | '\'' if fresh => {
                i = quote_end(&chars, i)?;
                fresh = false;
                continue;
            }
            '{' | '[' if fresh => open.push(i),
            ',' if !open.is_empty() => fresh = true,
            '}' | ']' => {
                open.pop();
                fresh = false;
            }
            '#' if i > 0 && chars.get(i - 1).is_some_and(|c| c.is_whitespace()) => break,
            ':' | '-' if chars.get(i + 1).is_some_and(|c| c.is_whitespace()) => fresh = true,
            c if c.is_whitespace() => {}
            _ => fresh = false,
        }
        i += 1;
    }
    open.last().copied()
}

/// The index after the closing quote of the one at `start`.
fn quote_end(chars: &[char], start: usize) -> Option<usize> {
    let quote = *chars.get(start)?;
    let mut i = start + 1;
    while let Some(c) = chars.get(i) {
        if *c == '\\' && quote == '"' {
            i += 2;
        } else if *c != quote {
            i += 1;
        } else if quote == '\'' && chars.get(i + 1) == Some(&'\'') {
            i += 2;
        } else {
            return Some(i + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_slips_are_found_in_block_and_flow_style() {
        assert_eq!(slip_in("    goal: First: look"), Some((Slip::Colon, 15, 1)));
        assert_eq!(slip_in("  a: { b: No one: put it }"), Some((Slip::Colon, 16, 1)));
        assert_eq!(slip_in("when: \"x\" in result.text"), Some((Slip::Quote, 6, 18)));
        assert_eq!(slip_in("- deny: 'a' b"), Some((Slip::Quote, 8, 5)));
        assert_eq!(slip_in("a: { b: \"x\" in y }"), Some((Slip::Quote, 8, 10)));
        assert_eq!(slip_in("\tgoal: x"), Some((Slip::Tab, 0, 1)));
    }

    #[test]
    fn what_is_right_is_no_slip() {
        for line in ["goal: a # b: c: d", "a: { b: c, d: e }", "a: \"b: c\"", "- 'a: b': c", "url: http://x/y:z"] {
            assert_eq!(slip_in(line), None, "{line}");
        }
    }
}
