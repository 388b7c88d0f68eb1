//! Lines of bounded length, out of plain or gzip input.

use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is read, in bytes; a longer one is left out and reported.
pub const MAX_LINE: usize = 32 * 1024 * 1024;
/// Longest document that is not line by line (a JSON array over many lines), in bytes.
pub const MAX_DOCUMENT: usize = 128 * 1024 * 1024;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BUFFER: usize = 64 * 1024;

/// What one look at the input gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A line is in the buffer.
    Line,
    /// The line was longer than [`MAX_LINE`]; it was passed over.
    TooLong,
    /// The input is at its end.
    End,
}

/// Reads lines and counts them.
pub struct Lines<'a> {
    input: Box<dyn BufRead + 'a>,
    /// The number of the last line, from 1.
    pub number: u64,
}

impl<'a> Lines<'a> {
    /// Looks at the first bytes: gzip is unpacked, whatever the file is called.
    ///
    /// # Errors
    /// When the input cannot be read at all.
    pub fn new(mut input: impl BufRead + 'a) -> std::io::Result<Self> {
        let gzip = input.fill_buf()?.starts_with(&GZIP);
        let input: Box<dyn BufRead + 'a> =
            if gzip { Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input))) } else { Box::new(input) };
        Ok(Self { input, number: 0 })
    }

    /// Puts the next line, without its end, into `line`.
    ///
    /// # Errors
    /// When the input cannot be read on, as with damaged gzip.
    pub fn next(&mut self, line: &mut Vec<u8>) -> std::io::Result<Next> {
        line.clear();
        let read = (&mut self.input).take(MAX_LINE as u64 + 1).read_until(b'\n', line)?;
        if read == 0 {
            return Ok(Next::End);
        }
        self.number += 1;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > MAX_LINE {
            line.clear();
            self.skip_line()?;
            return Ok(Next::TooLong);
        }
        Ok(Next::Line)
    }

    /// Appends the rest of the input to `text`; `false` when it is longer than [`MAX_DOCUMENT`].
    ///
    /// # Errors
    /// When the input cannot be read on.
    pub fn rest(&mut self, text: &mut Vec<u8>) -> std::io::Result<bool> {
        let most = MAX_DOCUMENT.saturating_sub(text.len()) as u64;
        (&mut self.input).take(most + 1).read_to_end(text)?;
        Ok(text.len() <= MAX_DOCUMENT)
    }

    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, done) = match buffer.iter().position(|&b| b == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if done {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn plain_and_gzip_give_the_same_lines() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"a\n\nb").unwrap();
        let packed = packed.finish().unwrap();
        for input in [b"a\n\nb".as_slice(), packed.as_slice()] {
            let mut lines = Lines::new(input).unwrap();
            let mut seen = Vec::new();
            let mut line = Vec::new();
            while lines.next(&mut line).unwrap() == Next::Line {
                seen.push((lines.number, String::from_utf8(line.clone()).unwrap()));
            }
            assert_eq!(seen, [(1, "a".to_owned()), (2, String::new()), (3, "b".to_owned())]);
        }
    }

    #[test]
    fn an_endless_line_is_passed_over_and_the_next_one_read() {
        let input = std::io::repeat(b'x').take(MAX_LINE as u64 + 10).chain(b"\nnext\n".as_slice());
        let mut lines = Lines::new(BufReader::new(input)).unwrap();
        let mut line = Vec::new();
        assert_eq!(lines.next(&mut line).unwrap(), Next::TooLong);
        assert_eq!(lines.next(&mut line).unwrap(), Next::Line);
        assert_eq!((lines.number, line.as_slice()), (2, b"next".as_slice()));
    }
}
