//! Reads replies the way lenient clients do, so that no client finds a call in a reply that its copy could not be read
//! for: a byte order mark, UTF-16 and UTF-32, bytes that are no UTF-8, `NaN`, and levels without end.

use std::borrow::Cow;

use serde_json::Value;

use super::body;
use super::issues::Issues;

/// Levels that are decoded. What lies deeper is left out and marked, so that a call around it is known all the same.
const LEVELS: usize = 100;

/// Why a text could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    /// It ends before it should.
    pub cut: bool,
}

/// The text in UTF-8, whatever Unicode encoding it came in. Told by its byte order mark or by where its zero bytes are, as
/// JSON readers do.
#[must_use]
pub fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let zero = |at: usize| bytes.get(at) == Some(&0);
    let (width, big, skip) = match bytes {
        [0xff, 0xfe, 0, 0, ..] => (4, false, 4),
        [0, 0, 0xfe, 0xff, ..] => (4, true, 4),
        [0xff, 0xfe, ..] => (2, false, 2),
        [0xfe, 0xff, ..] => (2, true, 2),
        [0xef, 0xbb, 0xbf, rest @ ..] => return Cow::Borrowed(rest),
        [0, 0, 0, _, ..] => (4, true, 0),
        [_, 0, 0, 0, ..] => (4, false, 0),
        [0, _, ..] if !zero(1) => (2, true, 0),
        [_, 0, ..] => (2, false, 0),
        _ => return Cow::Borrowed(bytes),
    };
    let bytes = &bytes[skip..];
    let text: String = if width == 2 {
        let units = bytes.chunks(2).map(|unit| match *unit {
            [a, b] if big => u16::from_be_bytes([a, b]),
            [a, b] => u16::from_le_bytes([a, b]),
            // half a unit at the end
            _ => 0xfffd,
        });
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    } else {
        let units = bytes.chunks(4).map(|unit| match *unit {
            [a, b, c, d] if big => u32::from_be_bytes([a, b, c, d]),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => u32::MAX,
        });
        units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    Cow::Owned(text.into_bytes())
}

/// Reads a JSON text. What had to be repaired is marked.
///
/// # Errors
/// No client could read it either.
pub fn parse(bytes: &[u8], issues: &mut Issues) -> Result<Value, Unreadable> {
    let text = utf8(bytes);
    if matches!(text, Cow::Owned(_)) {
        issues.add("reply_not_utf8");
    }
    let text = String::from_utf8_lossy(&text);
    if matches!(text, Cow::Owned(_)) && std::str::from_utf8(bytes).is_err() {
        issues.add("invalid_utf8");
    }
    let (parsed, repaired) = match body::parse(text.as_bytes()) {
        Ok(parsed) => (parsed, Vec::new()),
        Err(error) => {
            let unreadable = Unreadable { cut: error.is_eof() };
            let (repaired, what) = repair(text.as_bytes()).ok_or(unreadable)?;
            (body::parse(&repaired).map_err(|error| Unreadable { cut: error.is_eof() })?, what)
        }
    };
    parsed.issues.into_iter().chain(repaired).for_each(|issue| issues.add(issue));
    Ok(parsed.value)
}

/// Reads the data of one event, which may be several texts, one a line, where a server forgot the blank lines between them.
/// What is no JSON at all is marked.
pub(crate) fn frame(data: &[u8], issues: &mut Issues, mut each: impl FnMut(Value, &mut Issues)) {
    if let Ok(value) = parse(data, issues) {
        return each(value, issues);
    }
    let lines = || data.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let done = |line: &[u8]| line == b"[DONE]";
    let apart = lines().count() > 1 && lines().all(|line| done(line) || parse(line, &mut Issues::default()).is_ok());
    if !apart {
        return issues.add("invalid_sse_chunk");
    }
    issues.add("sse_frames_joined");
    for line in lines().filter(|line| !done(line)) {
        if let Ok(value) = parse(line, issues) {
            each(value, issues);
        }
    }
}

/// The text with `"NaN"` for NaN and the like, and without its deepest levels; none where there is nothing to repair.
fn repair(text: &[u8]) -> Option<(Vec<u8>, Vec<&'static str>)> {
    let mut out = Vec::with_capacity(text.len());
    let mut what = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => at = string_end(text, at)?,
            b'[' | b'{' => {
                depth += 1;
                if depth > LEVELS {
                    what.push("reply_too_deep");
                    at = container_end(text, at)?;
                    depth -= 1;
                    out.extend_from_slice(br#"{"capture_omitted":"levels"}"#);
                    continue;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'N' | b'I' | b'-' => {
                let word =
                    [&b"NaN"[..], b"-Infinity", b"Infinity"].into_iter().find(|word| text[start..].starts_with(word));
                if let Some(word) = word {
                    at = start + word.len();
                    what.push("not_a_number");
                    out.push(b'"');
                    out.extend_from_slice(word);
                    out.push(b'"');
                    continue;
                }
            }
            _ => {}
        }
        out.extend_from_slice(&text[start..at]);
    }
    what.sort_unstable();
    what.dedup();
    (!what.is_empty()).then_some((out, what))
}

/// Where the string ends whose first character is at `at`.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Where the container ends whose bracket stands before `at`.
fn container_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut open = 1_usize;
    while open > 0 {
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'"' => at = string_end(text, at)?,
            b'[' | b'{' => open += 1,
            b']' | b'}' => open -= 1,
            _ => {}
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Value, Vec<String>) {
        let mut issues = Issues::default();
        let value = parse(bytes, &mut issues).unwrap();
        let codes = issues.codes().as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect();
        (value, codes)
    }

    #[test]
    fn every_unicode_encoding() {
        let text = "{\"a\":\"é🌦\"}";
        let wide = |mark: bool, big: bool| -> Vec<u8> {
            let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            let mark = mark.then_some(0xfeff);
            mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        let wider = |mark: bool, big: bool| -> Vec<u8> {
            let bytes = |unit: char| if big { u32::from(unit).to_be_bytes() } else { u32::from(unit).to_le_bytes() };
            let mark = mark.then_some('\u{feff}');
            mark.into_iter().chain(text.chars()).flat_map(bytes).collect()
        };
        for (mark, big) in [(true, true), (true, false), (false, true), (false, false)] {
            for bytes in [wide(mark, big), wider(mark, big)] {
                let (value, issues) = read(&bytes);
                assert_eq!((value["a"].as_str(), issues), (Some("é🌦"), vec!["reply_not_utf8".to_owned()]), "{bytes:?}");
            }
        }
        assert_eq!(read(format!("\u{feff}{text}").as_bytes()), (serde_json::json!({"a": "é🌦"}), vec![]));
        assert_eq!(read(b"{\"a\":\"\xff\"}").1, ["invalid_utf8"]);
        for odd in [&b"\xff\xfe{"[..], b"\0", b"\0\0", b"{\0", b"\xff\xfe\0\0x", b""] {
            assert!(parse(odd, &mut Issues::default()).is_err());
        }
    }

    #[test]
    fn what_is_no_number_and_what_is_too_deep() {
        let (value, issues) = read(br#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN [ \" {","d":-1}"#);
        assert_eq!(value.to_string(), r#"{"a":"NaN","b":["-Infinity","Infinity"],"c":"NaN [ \" {","d":-1}"#);
        assert_eq!(issues, ["not_a_number"]);
        let deep = |levels: usize| format!("{{\"a\":{}\"]\"{},\"b\":1}}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(deep(90).as_bytes()).1.is_empty());
        for levels in [200, 5000] {
            let (value, issues) = read(deep(levels).as_bytes());
            assert_eq!((value["b"].as_u64(), issues), (Some(1), vec!["reply_too_deep".to_owned()]));
            assert!(value["a"].to_string().contains("capture_omitted"));
        }
    }

    #[test]
    fn what_nobody_can_read_is_not_read() {
        let cut = |text: &str| parse(text.as_bytes(), &mut Issues::default()).unwrap_err().cut;
        assert!(cut("{\"a\":") && cut("{\"a\":NaN") && cut(""));
        assert!(!cut("<html>") && !cut("{\"a\":Nan}") && !cut("{}x"));
        let deep = "[".repeat(5000);
        assert!(parse(deep.as_bytes(), &mut Issues::default()).is_err());
    }

    #[test]
    fn texts_one_a_line_are_read_one_by_one() {
        let read = |data: &str| {
            let (mut issues, mut seen) = (Issues::default(), 0);
            frame(data.as_bytes(), &mut issues, |_, _| seen += 1);
            (seen, issues.codes().to_string())
        };
        assert_eq!(read("{\"a\":\n1}"), (1, "[]".to_owned()));
        assert_eq!(read("{}\n{}\n[DONE]"), (2, "[\"sse_frames_joined\"]".to_owned()));
        assert_eq!(read("{}\n{"), (0, "[\"invalid_sse_chunk\"]".to_owned()));
        assert_eq!(read(": keepalive"), (0, "[\"invalid_sse_chunk\"]".to_owned()));
    }
}
