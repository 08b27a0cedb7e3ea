//! What strict JSON cannot hold, made so that it can: by rules that lose as little as possible, and never without note.

use crate::json::view;
use crate::json::{self, Scratch};
use sha2::Digest as _;

/// What had to change.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Repairs {
    /// Bytes that are no UTF-8 became U+FFFD.
    pub(crate) utf8: bool,
    /// Raw control characters in strings became escapes.
    pub(crate) control: bool,
    /// A backslash that escapes nothing became an escaped one.
    pub(crate) escape: bool,
    /// A number that is none, or none that a double can hold, became a string; or its digits changed.
    pub(crate) numbers: bool,
    /// An object with a key twice became its own text.
    pub(crate) duplicate: bool,
    /// There is an escape of half a surrogate pair, which stays.
    pub(crate) surrogate: bool,
}

/// A text whose grammar was checked, with strings and numbers that are strict JSON.
pub(crate) fn repaired(text: &[u8], notes: &mut Repairs) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut scratch = Scratch::default();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = repaired_string(text, at, &mut out, notes),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'+' | b'.' => {
                let end = text[at..]
                    .iter()
                    .position(|byte| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'+' | b'.'))
                    .map_or(text.len(), |len| at + len);
                let word = &text[at..end];
                if json::canonical(word, &mut scratch).is_ok() {
                    out.extend_from_slice(word);
                } else {
                    notes.numbers = true;
                    out.push(b'"');
                    out.extend_from_slice(word);
                    out.push(b'"');
                }
                at = end;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Copies a string from its opening quote, and returns where it ends.
fn repaired_string(text: &[u8], open: usize, out: &mut Vec<u8>, notes: &mut Repairs) -> usize {
    out.push(b'"');
    let mut at = open + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                break;
            }
            b'\\' => {
                let escaped = match text.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                    Some(b'u') if text.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => {
                        6
                    }
                    _ => 0,
                };
                if escaped == 0 {
                    notes.escape = true;
                    out.extend_from_slice(b"\\\\");
                    at += 1;
                } else {
                    out.extend_from_slice(&text[at..at + escaped]);
                    at += escaped;
                }
            }
            0..0x20 => {
                notes.control = true;
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                at += 1;
            }
            0x80.. => {
                let run = text[at..].iter().position(|byte| *byte < 0x80).unwrap_or(text.len() - at);
                for chunk in text[at..at + run].utf8_chunks() {
                    out.extend_from_slice(chunk.valid().as_bytes());
                    if !chunk.invalid().is_empty() {
                        notes.utf8 = true;
                        out.extend_from_slice("\u{fffd}".as_bytes());
                    }
                }
                at += run;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out.push(b'"');
    at
}

/// A text as a JSON string.
pub(crate) fn as_text(text: &[u8]) -> Vec<u8> {
    serde_json::Value::from(String::from_utf8_lossy(text)).to_string().into_bytes()
}

/// Whether canonical text holds an escape of half a surrogate pair.
pub(crate) fn has_lone_surrogate(canonical: &[u8]) -> bool {
    let mut pair_end = 0;
    for at in memchr::memmem::find_iter(canonical, b"\\ud") {
        if at < pair_end {
            continue;
        }
        // a backslash that is itself escaped escapes nothing
        let backslashes = canonical[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 1 {
            continue;
        }
        let high = matches!(canonical.get(at + 3), Some(b'8'..=b'9' | b'a'..=b'b'));
        let low_follows =
            canonical.get(at + 6..at + 9) == Some(b"\\ud") && matches!(canonical.get(at + 9), Some(b'c'..=b'f'));
        if !(high && low_follows) {
            return true;
        }
        pair_end = at + 12;
    }
    false
}

/// Whether a number of a text has digits that its canonical form does not have: more than a double holds.
pub(crate) fn numbers_change(text: &[u8]) -> bool {
    // a float has a point or an exponent, and 17 digits or fewer always read back
    let mut at = 0;
    let mut scratch = Scratch::default();
    while at < text.len() {
        match text[at] {
            b'"' => {
                let Ok((string, _)) = view::first_value(&text[at..]) else { return false };
                at += string.text().len();
            }
            b'0'..=b'9' | b'-' => {
                let len = text[at..]
                    .iter()
                    .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .unwrap_or(text.len() - at);
                let word = &text[at..at + len];
                if word.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
                    let same = json::canonical(word, &mut scratch).is_ok_and(|span| {
                        span.get(word, &scratch).as_slice().is_some_and(|own| decimal(own) == decimal(word))
                    });
                    if !same {
                        return true;
                    }
                }
                at += len.max(1);
            }
            _ => at += 1,
        }
    }
    false
}

/// A decimal number as its significant digits and the power of ten of the last one.
fn decimal(word: &[u8]) -> (Vec<u8>, i64) {
    let (mut digits, mut exponent, mut fraction) = (Vec::new(), 0_i64, false);
    for (at, byte) in word.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits.push(*byte);
                exponent -= i64::from(fraction);
            }
            b'.' => fraction = true,
            b'e' | b'E' => {
                let power = std::str::from_utf8(&word[at + 1..]).ok().and_then(|text| text.parse::<i64>().ok());
                exponent = exponent.saturating_add(power.unwrap_or(0));
                break;
            }
            _ => {}
        }
    }
    while digits.last() == Some(&b'0') {
        digits.pop();
        exponent += 1;
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.drain(..zeros);
    if digits.is_empty() {
        exponent = 0;
    }
    (digits, exponent)
}

/// A text without its long base64 strings, each replaced by its hash and size; `None` where there is none.
pub(crate) fn without_binaries(text: &[u8], longest: usize) -> Option<(Vec<u8>, u64)> {
    let (mut out, mut copied, mut count) = (Vec::new(), 0, 0);
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &text[at..]) {
        let start = at + open;
        let Ok((string, _)) = view::first_value(&text[start..]) else { break };
        at = start + string.text().len();
        let inner = &string.text()[1..string.text().len() - 1];
        let is_key = text.get(view::skip_space(text, at)) == Some(&b':');
        if inner.len() > longest && !is_key && is_base64(inner) {
            out.extend_from_slice(&text[copied..start]);
            let hash = hex::encode(sha2::Sha256::digest(inner));
            out.extend_from_slice(
                format!("{{\"$import\":{{\"bytes\":{},\"sha256\":\"{hash}\"}}}}", inner.len()).as_bytes(),
            );
            copied = at;
            count += 1;
        }
    }
    if count == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some((out, count))
}

/// Base64 text, also in a `data:` URL, also with its slashes and line ends escaped.
fn is_base64(text: &[u8]) -> bool {
    let data = match text.strip_prefix(b"data:") {
        Some(rest) => match memchr::memmem::find(&rest[..rest.len().min(200)], b";base64,") {
            Some(at) => &rest[at + 8..],
            None => return false,
        },
        None => text,
    };
    data.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_strict_is_mended() {
        let mut notes = Repairs::default();
        let text = b"{\"a\":NaN,\"b\":[1e999,-Infinity,01,2],\"c\":\"x\ty\\q\xe9z\"}";
        let fixed = repaired(text, &mut notes);
        assert_eq!(
            String::from_utf8(fixed).unwrap(),
            "{\"a\":\"NaN\",\"b\":[\"1e999\",\"-Infinity\",\"01\",2],\"c\":\"x\\u0009y\\\\q\u{fffd}z\"}"
        );
        assert!(notes.numbers && notes.control && notes.escape && notes.utf8);
    }

    #[test]
    fn lone_surrogates_are_told_from_pairs() {
        for (text, lone) in [
            ("\"\\ud83d\\ude00\"", false),
            ("\"\\ud83d\"", true),
            ("\"\\ude00 \"", true),
            ("\"\\ude00\\ud83d\"", true),
            ("\"\\\\ud83d\"", false),
            ("\"\\ud83d\\ude00\\ud83d\"", true),
        ] {
            assert_eq!(has_lone_surrogate(text.as_bytes()), lone, "{text}");
        }
    }

    #[test]
    fn only_digits_that_are_lost_count() {
        for (text, change) in [
            ("{\"a\":[1.50,1E2,100.0,0.1,18446744073709551616]}", false),
            ("{\"a\":0.1000000000000000055511151231257827}", true),
            ("{\"a\":\"0.1000000000000000055511151231257827\"}", false),
        ] {
            assert_eq!(numbers_change(text.as_bytes()), change, "{text}");
        }
    }

    #[test]
    fn long_base64_becomes_its_hash() {
        let data = "iVBOR/w+".repeat(10);
        let text = format!("[{{\"type\":\"image\",\"data\":\"{data}\"}},{{\"t\":\"{}\"}}]", "words here ".repeat(10));
        let (out, count) = without_binaries(text.as_bytes(), 40).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(count == 1 && out.contains("{\"$import\":{\"bytes\":80,\"sha256\":\"") && out.contains("words here"));
        assert!(without_binaries(text.as_bytes(), 400).is_none());
    }
}
