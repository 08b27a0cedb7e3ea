//! A recording with its secrets masked: every other byte stays.

use super::finder::Finder;
use super::mask::{self, Masker};
use super::masked::masked;
use crate::json::view::{Value, only_value};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

/// How often a line is gone through again: what stood beside a secret may show only when that is gone.
const ROUNDS: usize = 8;

/// What was masked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// How many values.
    pub values: u64,
    /// On how many lines.
    pub lines: u64,
    /// The marks that stand for them, each with how often it stands there and the first line, counted from 1.
    pub marks: BTreeMap<String, (u64, u64)>,
}

/// Why nothing was masked.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// The recording cannot be read.
    #[error("cannot be read: {0}")]
    Read(io::Error),
    /// The result cannot be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// A changed link would break the chain.
    #[error(
        "line {line} is sealed, and a mask would break its chain; redact the transcript it was made from, then seal the result"
    )]
    Sealed {
        /// The first sealed line.
        line: u64,
    },
    /// No text.
    #[error("{0} was found, expected text; unpack or convert it, then redact what comes out")]
    Packed(&'static str),
}

/// Copies a recording with its secrets replaced by marks: a line at a time where each line is a value of its own, else
/// as one document.
///
/// # Errors
/// What cannot be read, written or masked; then `out` is not whole.
pub fn redact(
    source: &mut dyn BufRead,
    finder: &Finder,
    masker: &Masker,
    out: &mut dyn Write,
) -> Result<Changes, RedactError> {
    let mut changes = Changes::default();
    let (mut line, mut number, mut told) = (Vec::new(), 0, false);
    loop {
        line.clear();
        if source.read_until(b'\n', &mut line).map_err(RedactError::Read)? == 0 {
            return Ok(changes);
        }
        number += 1;
        if number == 1
            && let Some(what) = packed(&line)
        {
            return Err(RedactError::Packed(what));
        }
        let blank = line.trim_ascii().is_empty();
        if !told && !blank {
            told = true;
            // the beginning of a document that goes on
            if only_value(without_mark(&line)).is_err() {
                source.read_to_end(&mut line).map_err(RedactError::Read)?;
            }
        }
        if is_sealed(&line) {
            return Err(RedactError::Sealed { line: number });
        }
        match clean(&line, finder, masker) {
            None => out.write_all(&line).map_err(RedactError::Write)?,
            Some(clean) => {
                changes.note(&line, &clean, number);
                out.write_all(&clean).map_err(RedactError::Write)?;
            }
        }
    }
}

/// A text with its secrets masked, JSON as such; `None`: there are none.
pub(crate) fn clean(text: &[u8], finder: &Finder, masker: &Masker) -> Option<Vec<u8>> {
    let mut clean: Option<Vec<u8>> = None;
    let json = only_value(without_mark(text)).is_ok();
    for _ in 0..ROUNDS {
        let text = clean.as_deref().unwrap_or(text);
        let found = if json { finder.find_in_json(text) } else { finder.find(text) };
        if found.is_empty() {
            break;
        }
        let mut next = Vec::with_capacity(text.len());
        masked(text, &found, masker, &mut next);
        clean = Some(next);
    }
    clean
}

impl Changes {
    fn note(&mut self, before: &[u8], after: &[u8], number: u64) {
        // marks that were there already are no change
        let mut old: BTreeMap<&[u8], u64> = BTreeMap::new();
        for mark in mask::marks(before) {
            *old.entry(&before[mark]).or_default() += 1;
        }
        let (mut at, mut number, mut last) = (0, number, 0);
        for mark in mask::marks(after) {
            number += memchr::memchr_iter(b'\n', &after[at..mark.start]).count() as u64;
            at = mark.start;
            if let Some(count) = old.get_mut(&after[mark.clone()]).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            let text = String::from_utf8_lossy(&after[mark]).into_owned();
            self.marks.entry(text).or_insert((0, number)).0 += 1;
            self.values += 1;
            self.lines += u64::from(number != last);
            last = number;
        }
    }
}

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// What a file is that is no text, by its first bytes.
fn packed(text: &[u8]) -> Option<&'static str> {
    let magics: [(&[u8], &str); 7] = [
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    magics.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, what)| *what)
}

/// Whether a line is a link of a sealed transcript.
fn is_sealed(line: &[u8]) -> bool {
    let may = |name: &[u8]| memchr::memmem::find(line, name).is_some();
    if !(may(b"digest") && may(b"prev")) {
        return false;
    }
    let names = ["args", "digest", "index", "prev", "response", "tool"];
    let all = |value: Value<'_>| value.members().count() == 6 && value.fields(&names).iter().all(Option::is_some);
    only_value(without_mark(line)).is_ok_and(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &[u8]) -> Result<(Vec<u8>, Changes), RedactError> {
        let mut out = Vec::new();
        redact(&mut &text[..], &Finder::default(), &Masker::new([5; 32]), &mut out).map(|changes| (out, changes))
    }

    #[test]
    fn every_other_byte_stays() {
        let text = b"\xef\xbb\xbf{\"a\" : \"x \\u00e9\",\t\"password\":\"q\"}\r\n\n \n{\"b\": 1e5, \"c\": \"hunter\xff\", \"d\":\"https://u:s3cretly@db.host.io/\"}\nnot json\n{\"password\":\"q\"}";
        let (out, changes) = run(text).unwrap();
        assert_eq!((changes.values, changes.lines), (3, 3));
        let mark = |id: &str| changes.marks.iter().find(|(mark, _)| mark.contains(id)).unwrap();
        assert_eq!((mark(":field:").1, mark(":url-password:").1), (&(2, 1), &(1, 4)));
        let mut back = String::from_utf8_lossy(&out).into_owned();
        back = back.replace(mark(":field:").0, "q").replace(mark(":url-password:").0, "s3cretly");
        assert_eq!(back, String::from_utf8_lossy(text));
        // and once more: nothing is left to be done
        let (again, none) = run(&out).unwrap();
        assert_eq!((again, none), (out, Changes::default()));
    }

    #[test]
    fn a_document_is_one_text() {
        let text = b"{\n  \"credentials\": {\n    \"user\": \"u-1\",\n    \"n\": 5\n  },\n  \"z\": \"kept\"\n}\n";
        let (out, changes) = run(text).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains("u-1") && out.contains("kept") && out.lines().count() == 7, "{out}");
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok());
        assert_eq!(changes.lines, 2);
        assert!(changes.marks.values().any(|place| *place == (1, 3)));
    }

    #[test]
    fn what_cannot_be_masked_is_refused() {
        let link = br#"{"args":{},"digest":"00","index":0,"prev":"00","response":{},"tool":"t"}"#;
        assert!(matches!(run(link), Err(RedactError::Sealed { line: 1 })));
        assert!(matches!(run(&[b"{}\n", &link[..]].concat()), Err(RedactError::Sealed { line: 2 })));
        assert!(matches!(run(b"\x1f\x8b\x08"), Err(RedactError::Packed("gzip data"))));
        assert!(matches!(run(b"\xff\xfe{\0"), Err(RedactError::Packed(_))));
        assert_eq!(run(b"").unwrap().0, b"");
    }
}
