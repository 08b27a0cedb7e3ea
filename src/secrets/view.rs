//! Text inside text: what the strings of a JSON text hold, and where each byte of it stands.
//!
//! A recording nests: a file in a string in an argument in a string. Each level is read by undoing every escape at once,
//! wherever it stands, so that prose with JSON in it, cut JSON and several texts in a row are read alike.

use std::borrow::Cow;
use std::ops::Range;

/// A text without its escapes.
pub(super) struct Unescaped {
    pub(super) text: Vec<u8>,
    /// The escapes, in order.
    marks: Vec<Mark>,
}

/// An escape: what it became, what it was.
struct Mark {
    to: Range<usize>,
    from: Range<usize>,
}

impl Unescaped {
    /// The stretch of the escaped text that a stretch of the other stands for. It cuts no escape.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start, false)..self.place(range.end, true)
    }

    fn place(&self, at: usize, end: bool) -> usize {
        let behind = self.marks.partition_point(|mark| mark.to.start < at || !end && mark.to.start == at);
        match behind.checked_sub(1).map(|last| &self.marks[last]) {
            None => at,
            Some(mark) if at < mark.to.end => {
                if end && at > mark.to.start {
                    mark.from.end
                } else {
                    mark.from.start
                }
            }
            Some(mark) => mark.from.end + (at - mark.to.end),
        }
    }
}

/// Undoes the escapes of JSON strings; `None` if there is none. What is no escape stays.
pub(super) fn unescaped(text: &[u8]) -> Option<Unescaped> {
    let mut slash = memchr::memchr(b'\\', text)?;
    let mut out = Unescaped { text: Vec::with_capacity(text.len()), marks: Vec::new() };
    let mut copied = 0;
    loop {
        let start = out.text.len() + (slash - copied);
        let (char, length) = match text.get(slash + 1) {
            Some(b'n') => (Some('\n'), 2),
            Some(b't') => (Some('\t'), 2),
            Some(b'r') => (Some('\r'), 2),
            Some(b'b') => (Some('\u{8}'), 2),
            Some(b'f') => (Some('\u{c}'), 2),
            Some(&byte @ (b'"' | b'\\' | b'/')) => (Some(byte as char), 2),
            Some(b'u') => unicode(&text[slash..]),
            _ => (None, 1),
        };
        if let Some(char) = char {
            out.text.extend_from_slice(&text[copied..slash]);
            out.text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            out.marks.push(Mark { to: start..out.text.len(), from: slash..slash + length });
            copied = slash + length;
        }
        match text.get(slash + length..).and_then(|rest| memchr::memchr(b'\\', rest)) {
            Some(next) => slash += length + next,
            None => break,
        }
    }
    out.text.extend_from_slice(&text[copied..]);
    (!out.marks.is_empty()).then_some(out)
}

/// The character of `\uXXXX`, or of two that are halves of one, and how long that is.
fn unicode(text: &[u8]) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0_u32, |unit, &digit| Some(unit << 4 | (digit as char).to_digit(16)?))
    };
    match (unit(0), unit(6)) {
        (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
            (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
        }
        (Some(unit), _) => match char::from_u32(unit) {
            Some(char) => (Some(char), 6),
            None => (None, 6),
        },
        (None, _) => (None, 2),
    }
}

/// A text without its escapes, so many levels deep.
pub(super) fn peeled(text: &[u8], levels: u8) -> Cow<'_, [u8]> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..levels {
        match unescaped(&text) {
            Some(inner) => text = Cow::Owned(inner.text),
            None => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stretch_is_found_again() {
        let text = br#"a\nb\u00e9\ud83d\ude00c\/d\x\"e\ud83d."#;
        let inner = unescaped(text).unwrap();
        assert_eq!(String::from_utf8_lossy(&inner.text), "a\nb\u{e9}\u{1f600}c/d\\x\"e\\ud83d.");
        let find = |part: &str| {
            let at = memchr::memmem::find(&inner.text, part.as_bytes()).unwrap();
            String::from_utf8_lossy(&text[inner.origin(&(at..at + part.len()))]).into_owned()
        };
        assert_eq!(find("a"), "a");
        assert_eq!(find("b"), "b");
        assert_eq!(find("\u{1f600}"), r"\ud83d\ude00");
        assert_eq!(find("c/d"), r"c\/d");
        assert_eq!(find("\"e"), r#"\"e"#);
        assert!(unescaped(b"plain").is_none() && unescaped(br"C:\x").is_none());
        assert_eq!(&*peeled(br#"{\\\"a\\\"}"#, 2), br#"{"a"}"#);
    }

    proptest! {
        #[test]
        fn escapes_are_undone_as_readers_do(text in any::<String>(), cut in any::<proptest::sample::Index>()) {
            let json = serde_json::to_string(&text).unwrap();
            let inner = &json.as_bytes()[1..json.len() - 1];
            prop_assert_eq!(&*peeled(inner, 1), text.as_bytes());
            // any cut of it is read without a panic, and every place lies inside
            let cut = &inner[..cut.index(inner.len() + 1)];
            if let Some(read) = unescaped(cut) {
                for at in 0..=read.text.len() {
                    prop_assert!(read.origin(&(0..at)).end <= cut.len() && read.origin(&(at..read.text.len())).start <= cut.len());
                }
            }
        }
    }
}
