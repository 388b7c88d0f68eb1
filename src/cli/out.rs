//! Where output goes. A reader that went away is no error; a full disk is.

use super::failure::Failure;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// How what is told is printed.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For people
    Text,
    /// JSON, one object a line
    Json,
}

/// Data, to stdout.
///
/// # Errors
/// When it cannot be written, except that nobody reads any more: then the exit code still speaks.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::unexpected(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Everything else, to stderr. If that cannot be written there is nobody to tell.
pub(super) fn say(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Says why a verb stopped.
pub(super) fn say_failure(failure: &Failure) {
    if !failure.message.is_empty() {
        let word = if stderr_has_colour() { "\u{1b}[1;31merror\u{1b}[0m" } else { "error" };
        say(&format!("{word}: {}\n", visible(&failure.message)));
    }
}

/// Whether stderr is a terminal whose user has nothing against colour.
pub(super) fn stderr_has_colour() -> bool {
    std::io::stderr().is_terminal() && !super::logs::no_colour()
}

/// Text from a model or a tool, safe on a terminal: control characters and those that turn the writing direction are
/// shown as `\u{…}`. Line ends and tabs stay.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if hidden {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\r\nc\td\u{202e}e"), "a\\u{1b}[2Jb\\u{d}\nc\td\\u{202e}e");
    }
}
