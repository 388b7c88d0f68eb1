//! Text made harmless for HTML.

/// The text for an element or a quoted attribute. Control characters and those that turn or hide text are written out,
/// so that what is read is what was there.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || hides(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn hides(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// At most `most` characters, head and tail, with what was left out said between.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(chars - half).collect();
    format!("{head}\n… {} of {chars} characters left out here; they stand in the trace …\n{tail}", chars - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("</script><b onclick='x'>&\""), "&lt;/script&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;&quot;");
        assert_eq!(escaped("a\u{202e}b\u{0}\r\n"), "a\\u{202e}b\\u{0}\\u{d}\n");
    }

    #[test]
    fn long_texts_keep_head_and_tail() {
        let text = shortened(&"é".repeat(100), 10);
        assert!(text.starts_with("ééééé\n… 90 of 100") && text.ends_with("\nééééé"), "{text}");
    }
}
