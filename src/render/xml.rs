//! Text in XML.

/// Text for a place between tags, or in an attribute. XML 1.0 has no place for control characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The same where line ends must last: a reader takes those of an attribute for spaces.
pub(crate) fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_xml_reads_itself_is_escaped() {
        assert_eq!(escaped("a<b>&\"c\"\u{7}\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\n");
    }
}
