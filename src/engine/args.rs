//! Arguments of a call: one JSON object, checked and brought into one canonical form.
//!
//! Our own reader, because the identity of a call needs what JSON libraries throw away: numbers as written (two
//! 20-digit ids never collide) and the fact that a key stands twice.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// Deepest nesting of arguments.
pub const MAX_DEPTH: usize = 64;
/// Longest arguments of one call, in bytes.
pub const MAX_ARGUMENTS: usize = 1 << 20;

/// Tool and canonical arguments in 128 bits: equal for equal calls, whatever the order of keys or the white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub u128);

/// The identity of a call of `tool`.
///
/// `ignored` names top-level keys that are mere presentation.
///
/// # Errors
/// What is wrong with the arguments, for the model: they are not one JSON object, or a key stands twice.
pub fn identity(tool: &str, arguments: &str, ignored: &[String]) -> Result<Identity, String> {
    let mut canonical = Vec::with_capacity(arguments.len() + 16);
    if arguments.len() > MAX_ARGUMENTS {
        return Err(format!("they are {} bytes long; the most is {MAX_ARGUMENTS}", arguments.len()));
    }
    let mut reader = Reader { bytes: arguments.as_bytes(), at: 0 };
    reader.space();
    if reader.at < reader.bytes.len() {
        if reader.peek() != Some(b'{') {
            return Err("they are not a JSON object".into());
        }
        reader.object(&mut canonical, ignored, 0)?;
        reader.space();
        if reader.at < reader.bytes.len() {
            return Err(format!("something follows the JSON object at byte {}", reader.at));
        }
    } else {
        canonical.extend_from_slice(b"{}");
    }
    let mut hasher = SipHasher13::new();
    hasher.write(tool.as_bytes());
    hasher.write_u8(0);
    hasher.write(&canonical);
    Ok(Identity(hasher.finish128().as_u128()))
}

/// A fingerprint of a text, for comparing results.
#[must_use]
pub fn fingerprint(text: &str) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    hasher.finish128().as_u128()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Read = Result<(), String>;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn wrong(&self, what: &str) -> String {
        match self.peek() {
            None => format!("they end too early: {what} was expected"),
            Some(_) => format!("they are not JSON: {what} was expected at byte {}", self.at),
        }
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Read {
        if depth > MAX_DEPTH {
            return Err(format!("they are nested deeper than {MAX_DEPTH}"));
        }
        match self.peek() {
            Some(b'{') => self.object(out, &[], depth),
            Some(b'[') => self.array(out, depth),
            Some(b'"') => {
                let text = self.string()?;
                put_string(out, &text);
                Ok(())
            }
            Some(b't') => self.word(out, b"true"),
            Some(b'f') => self.word(out, b"false"),
            Some(b'n') => self.word(out, b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(out),
            _ => Err(self.wrong("a value")),
        }
    }

    fn word(&mut self, out: &mut Vec<u8>, word: &[u8]) -> Read {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            out.extend_from_slice(word);
            return Ok(());
        }
        Err(self.wrong("a value"))
    }

    fn digits(&mut self) -> Read {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { Err(self.wrong("a digit")) } else { Ok(()) }
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Read {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        out.extend_from_slice(self.bytes.get(from..self.at).unwrap_or_default());
        Ok(())
    }

    /// Finds the string's end, then lets the JSON library undo its escapes.
    fn string(&mut self) -> Result<String, String> {
        let from = self.at;
        self.at += 1;
        let mut plain = true;
        loop {
            match self.peek() {
                None => return Err(self.wrong("a closing quote")),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    self.at += 2;
                }
                Some(0..=0x1f) => return Err(self.wrong("an escaped control character")),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.bytes.get(from..self.at).unwrap_or_default();
        if plain {
            let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            return Ok(String::from_utf8_lossy(inside).into_owned());
        }
        serde_json::from_slice(quoted).map_err(|e| format!("a text in them cannot be read: {e}"))
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Read {
        self.at += 1;
        out.push(b'[');
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            out.push(b']');
            return Ok(());
        }
        loop {
            self.space();
            self.value(out, depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => out.push(b','),
                Some(b']') => break,
                _ => return Err(self.wrong("`,` or `]`")),
            }
            self.at += 1;
        }
        self.at += 1;
        out.push(b']');
        Ok(())
    }

    fn object(&mut self, out: &mut Vec<u8>, ignored: &[String], depth: usize) -> Read {
        self.at += 1;
        out.push(b'{');
        let body = out.len();
        let mut members: Vec<(String, usize, usize)> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            out.push(b'}');
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key in quotes"));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.wrong("`:`"));
            }
            self.at += 1;
            self.space();
            let from = out.len();
            put_string(out, &key);
            self.value(out, depth + 1)?;
            members.push((key, from, out.len()));
            self.space();
            match self.peek() {
                Some(b',') => {}
                Some(b'}') => break,
                _ => return Err(self.wrong("`,` or `}`")),
            }
            self.at += 1;
        }
        self.at += 1;
        let in_order = members.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0));
        if !in_order || !ignored.is_empty() {
            members.sort_by(|a, b| a.0.cmp(&b.0));
            if let Some([a, _]) = members.windows(2).find(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
                return Err(format!("the key `{}` stands twice", a.0));
            }
            let written = out.split_off(body);
            for (key, from, to) in members {
                if !ignored.contains(&key) {
                    out.extend_from_slice(written.get(from - body..to - body).unwrap_or_default());
                }
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// A text with its length before it, so that no two different values look alike.
fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(args: &str) -> Identity {
        identity("t", args, &[]).unwrap()
    }

    #[test]
    fn order_of_keys_and_white_space_do_not_matter() {
        assert_eq!(id(r#"{"a":1,"b":[true,null]}"#), id(" { \"b\" : [ true , null ], \"a\": 1 } "));
        assert_eq!(id(r#"{"a":"A"}"#), id(r#"{"a":"\u0041"}"#));
        assert_eq!(id(""), id("{}"));
    }

    #[test]
    fn numbers_are_compared_as_written() {
        assert_ne!(id(r#"{"id":12345678901234567890}"#), id(r#"{"id":12345678901234567891}"#));
        assert_ne!(id(r#"{"id":1}"#), id(r#"{"id":"1"}"#));
        assert_ne!(id(r#"{"n":1}"#), id(r#"{"n":1.0}"#));
    }

    #[test]
    fn ignored_keys_do_not_count_at_the_top_only() {
        let ignored = ["label".to_owned()];
        let with = |args| identity("t", args, &ignored).unwrap();
        assert_eq!(with(r#"{"cmd":"x","label":"1"}"#), with(r#"{"label":"2","cmd":"x"}"#));
        assert_ne!(with(r#"{"o":{"label":"1"}}"#), with(r#"{"o":{"label":"2"}}"#));
    }

    #[test]
    fn what_is_not_one_object_is_said() {
        let no = |args| identity("t", args, &[]).unwrap_err();
        assert_eq!(no("[1]"), "they are not a JSON object");
        assert_eq!(no(r#"{"a":1,"a":2}"#), "the key `a` stands twice");
        assert_eq!(no(r#"{"a":1"#), "they end too early: `,` or `}` was expected");
        assert_eq!(no(r#"{"a":1} {"b":2}"#), "something follows the JSON object at byte 8");
        assert_eq!(no("{'a':1}"), "they are not JSON: a key in quotes was expected at byte 1");
        assert!(no(&format!("{{\"a\":{}1{}}}", "[".repeat(70), "]".repeat(70))).contains("deeper than 64"));
    }
}
