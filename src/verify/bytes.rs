//! The bytes of a key.

use std::hash::Hasher;

/// Bytes of a key, under way.
#[derive(Debug, Default)]
pub struct Bytes(pub Vec<u8>);

/// Every value a derived `Hash` writes, written down whole: no fingerprint, so that equal keys are equal states.
impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Bytes {
    pub fn num(&mut self, n: u32) {
        let mut n = n;
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    pub fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        let mut byte = 0_u8;
        for (at, flag) in flags.into_iter().enumerate() {
            byte |= u8::from(flag) << (at % 8);
            if at % 8 == 7 {
                self.0.push(byte);
                byte = 0;
            }
        }
        self.0.push(byte);
    }

    pub fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.num(u32::try_from(list.len()).unwrap_or(u32::MAX));
        for item in list {
            each(self, item);
        }
    }

    /// A list by stage, in which most stages have nothing: a large table would have large keys.
    pub fn sparse(&mut self, list: &[u32]) {
        let some = || list.iter().zip(0_u32..).filter(|(n, _)| **n > 0);
        self.num(u32::try_from(some().count()).unwrap_or(u32::MAX));
        for (n, at) in some() {
            self.num(at);
            self.num(*n);
        }
    }

    pub fn option(&mut self, n: Option<u32>) {
        self.num(n.map_or(0, |n| n.saturating_add(1)));
    }
}
