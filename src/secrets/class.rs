//! Which characters a secret is made of.

use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u8);

const DIGIT: u8 = 1;
const LOWER: u8 = 2;
const UPPER: u8 = 4;
/// `_` and `-`.
const DASH: u8 = 8;
/// `.`, `=`, `+` and `/`.
const BASE64: u8 = 16;
const HEX: u8 = 32;
const TILDE: u8 = 64;

impl Class {
    pub(super) const ALNUM: Class = Class(DIGIT | LOWER | UPPER);
    pub(super) const UPPER: Class = Class(DIGIT | UPPER);
    pub(super) const HEX: Class = Class(HEX);
    /// Letters, digits, `_` and `-`.
    pub(super) const URL: Class = Class(DIGIT | LOWER | UPPER | DASH);
    /// Those and `.`, `=`, `+`, `/`.
    pub(super) const WIDE: Class = Class(DIGIT | LOWER | UPPER | DASH | BASE64);
    /// Those and `~`.
    pub(super) const BEARER: Class = Class(DIGIT | LOWER | UPPER | DASH | BASE64 | TILDE);

    #[inline]
    pub(super) fn holds(self, byte: u8) -> bool {
        TABLE[byte as usize] & self.0 != 0
    }

    /// Hands on every stretch of at least `least` bytes of the set, as far as each goes. Of a text in which those are
    /// rare most bytes are not looked at.
    pub(super) fn long_runs(self, text: &[u8], least: usize, mut each: impl FnMut(Range<usize>)) {
        let mut start = 0;
        // nothing of the set stands right before `start`
        while let Some(window) = text.get(start..start + least) {
            match window.iter().rposition(|&byte| !self.holds(byte)) {
                Some(last) => start += last + 1,
                None => {
                    let end = start + least + self.run(&text[start + least..]);
                    each(start..end);
                    start = end + 1;
                }
            }
        }
    }

    /// How many bytes of the set start `text`.
    pub(super) fn run(self, text: &[u8]) -> usize {
        text.iter().position(|&byte| !self.holds(byte)).unwrap_or(text.len())
    }
}

const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT | HEX,
            b'a'..=b'f' => LOWER | HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'F' => UPPER | HEX,
            b'G'..=b'Z' => UPPER,
            b'_' | b'-' => DASH,
            b'.' | b'=' | b'+' | b'/' => BASE64,
            b'~' => TILDE,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// A letter, a digit or `_`.
#[inline]
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a secret may begin at `start`: it is not the tail of a word, except of a colour code (`ESC [ 32 m`) or of
/// an escaped byte (`%3D`), which are glued to what they precede.
pub(super) fn begins_word(text: &[u8], start: usize) -> bool {
    let before = &text[..start];
    match before {
        // a mark between letters is the inside of a name, or of base64
        [.., first, b'-'] => !is_word(*first),
        [.., last] if !is_word(*last) => true,
        [] => true,
        // the escape of a line's end, in a text that was not read yet
        [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [rest @ .., b'm'] => {
            let code = rest.iter().rev().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
            rest[..rest.len() - code].ends_with(b"\x1b[")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn long_runs_are_all_found(text in "[ab. ~]{0,80}", least in 1_usize..9) {
            let text = text.as_bytes();
            let mut found = Vec::new();
            Class::URL.long_runs(text, least, |run| found.push(run));
            let mut expected = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let length = Class::URL.run(&text[at..]);
                if length >= least {
                    expected.push(at..at + length);
                }
                at += length + 1;
            }
            prop_assert_eq!(found, expected);
        }
    }
}
