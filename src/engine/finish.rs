//! Finish markers: a text that ends the run, wherever the model writes it at the start of a line.

/// Whether `marker` stands at the start of a line of `text`, outside quoted and fenced blocks.
#[must_use]
pub fn stands(marker: &str, text: &str) -> bool {
    // The fence that is open: its character and its length.
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        if let Some((mark, length, bare)) = fence_of(line) {
            match fence {
                None => fence = Some((mark, length)),
                Some((open, least)) if open == mark && length >= least && bare => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_none() && begins_with(line, marker) {
            return true;
        }
    }
    false
}

/// The fence that a line is, as Markdown has it: its character, its length, and whether nothing stands behind it.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let trimmed = line.trim();
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = trimmed.trim_start_matches(mark);
    let length = trimmed.len() - rest.len();
    (length >= 3).then_some((mark, length, rest.is_empty()))
}

/// Whether a line begins with the marker as a word of its own.
fn begins_with(line: &str, marker: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends_in_word = marker.chars().next_back().is_some_and(in_word);
    line.strip_prefix(marker).is_some_and(|rest| !(ends_in_word && rest.chars().next().is_some_and(in_word)))
}

#[cfg(test)]
mod tests {
    use super::stands;

    #[test]
    fn a_marker_counts_at_the_start_of_a_line_only() {
        assert!(stands("[END]", "All done.\n[END]"));
        assert!(stands("[END]", "[END] good bye"));
        assert!(!stands("[END]", "I will write [END] when done"));
        assert!(!stands("[END]", "> [END]"));
        assert!(!stands("[END]", "    [END]"));
        assert!(!stands("[END]", "```\n[END]\n```"));
        assert!(stands("[END]", "```\ncode\n```\n[END]"));
        assert!(!stands("[END]", "````md\n```\n[END]\n```\n````\nnot yet"));
        assert!(!stands("[END]", "```\n```js\n[END]\n```"));
        assert!(!stands("FAIL", "FAILOVER is set up"));
        assert!(stands("FAIL", "FAIL: two tests"));
    }
}
