//! Lines as YAML counts them.

/// The lines of a text without their ends. Unlike [`str::lines`], a carriage return alone ends one too.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.strip_suffix('\n').unwrap_or(text);
    // Nothing at all is no line; an empty line before an end is one.
    let parts = (!text.is_empty()).then(|| whole.split('\n'));
    parts.into_iter().flatten().flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// Line and column, both from 0, of what stands behind `before`.
pub(crate) fn behind(before: &str) -> (usize, usize) {
    let ended = lines(before).count();
    if before.ends_with(['\n', '\r']) {
        return (ended, 0);
    }
    (ended.saturating_sub(1), lines(before).last().unwrap_or_default().chars().count())
}

#[cfg(test)]
mod tests {
    use super::{behind, lines};

    #[test]
    fn every_line_end_of_yaml_ends_a_line() {
        let split = |text| lines(text).collect::<Vec<_>>();
        assert_eq!(split("a\nb\r\nc\rd"), ["a", "b", "c", "d"]);
        assert_eq!(split("a\r\r\n\nb\n"), ["a", "", "", "b"]);
        assert_eq!(split("\n"), [""]);
        assert_eq!(split("a"), ["a"]);
        assert!(split("").is_empty());
    }

    #[test]
    fn a_place_is_counted_from_the_text_before_it() {
        assert_eq!(behind(""), (0, 0));
        assert_eq!(behind("ab"), (0, 2));
        assert_eq!(behind("a\nbc"), (1, 2));
        assert_eq!(behind("a\r\nb\n"), (2, 0));
        assert_eq!(behind("a\r\rb"), (2, 1));
        assert_eq!(behind("a\r"), (1, 0));
    }
}
