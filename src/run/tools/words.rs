//! Command lines: split into words without a shell, compared with the table's list.

/// The words of a command line. Quotes and backslashes work as in a POSIX shell; nothing else does: no variables, no
/// globs, no pipes, no redirections.
///
/// # Errors
/// When a quote is not closed, a backslash stands last, or there is no word.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted(&mut chars, word.get_or_insert_default(), '\'')?,
            '"' => quoted(&mut chars, word.get_or_insert_default(), '"')?,
            '\\' => {
                let next = chars.next().ok_or("the command line ends in a backslash")?;
                word.get_or_insert_default().push(next);
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() { Err("the command line is empty".to_owned()) } else { Ok(words) }
}

fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String, quote: char) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(format!("a {quote} in the command line is not closed"))
}

/// Whether `words` is the allowed line: the same words, or, where the line's last word is `*`, any words after the
/// ones before it.
pub(super) fn allows(line: &str, words: &[String]) -> bool {
    let Ok(mut allowed) = split(line) else {
        return false;
    };
    // `*` as the only word would allow everything; a table that wants that has to name the program.
    if allowed.len() > 1 && allowed.last().is_some_and(|word| word == "*") {
        allowed.pop();
        words.starts_with(&allowed)
    } else {
        words == allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would_and_nothing_is_expanded() {
        let words = split(r#"cc  -o "my prog" 'a b'.c x\ y "" $HOME *.c ; rm"#).unwrap();
        assert_eq!(words, ["cc", "-o", "my prog", "a b.c", "x y", "", "$HOME", "*.c", ";", "rm"]);
        assert_eq!(split(r#""a\"b\n""#).unwrap(), [r#"a"b\n"#]);
        for bad in ["", "  ", "'a", "\"a", "a\\"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_is_allowed_word_for_word_or_up_to_its_star() {
        let words = |line| split(line).unwrap();
        assert!(allows("cargo clippy", &words("cargo   clippy")));
        assert!(!allows("cargo clippy", &words("cargo clippy --fix")));
        assert!(!allows("cargo clippy", &words("cargo clippyx")));
        assert!(allows("cargo test *", &words("cargo test")));
        assert!(allows("cargo test *", &words("cargo test -p a")));
        assert!(!allows("cargo test *", &words("cargo testx")));
        assert!(!allows("*", &words("rm -rf x")));
    }
}
