//! Finish markers: a text that ends the run, wherever the model writes it at the start of a line.

/// Whether `marker` stands at the start of a line of `text`, outside quoted and fenced blocks.
#[must_use]
pub fn stands(marker: &str, text: &str) -> bool {
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|m| trimmed.starts_with(m)) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_none() && line.starts_with(marker) {
            return true;
        }
    }
    false
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
    }
}
