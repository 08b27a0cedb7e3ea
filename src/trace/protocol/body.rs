//! JSON bodies as they really come: with cut surrogate pairs, repeated keys and numbers of any size.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

/// A decoded copy of a body.
#[derive(Debug)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// What was repaired or is ambiguous.
    pub issues: Vec<&'static str>,
}

/// Decodes a body. Half a surrogate pair becomes U+FFFD, of repeated keys the last counts; both are marked.
///
/// # Errors
/// The text is not JSON, not UTF-8 or nested too deeply.
pub fn parse(bytes: &[u8]) -> Result<Parsed, serde_json::Error> {
    let mut issues = Vec::new();
    let keys = keys(bytes);
    if keys.mark {
        return Err(serde::de::Error::custom(
            "a key is reserved by the parser, which would take its object for a number",
        ));
    }
    let value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            let Some(repaired) = replace_lone_surrogates(bytes) else { return Err(error) };
            let value = serde_json::from_slice(&repaired)?;
            issues.push("lone_surrogates_replaced");
            value
        }
    };
    if keys.repeated {
        issues.push("repeated_json_key");
    }
    Ok(Parsed { value, issues })
}

/// Whether the bytes are one JSON text, whatever its strings and numbers hold.
#[must_use]
pub fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// The fields of a JSON object, unread. None when the bytes are no JSON object.
#[must_use]
pub fn fields(bytes: &[u8]) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_slice(bytes).ok()
}

/// The items of a JSON array, unread.
#[must_use]
pub fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Reads a part of a body.
#[must_use]
pub fn read(raw: &RawValue) -> Option<Value> {
    parse(raw.get().as_bytes()).ok().map(|parsed| parsed.value)
}

fn replace_lone_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let escape = |at: usize| -> Option<u16> {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        match escape(at) {
            Some(0xd800..0xdc00) if matches!(escape(at + 6), Some(0xdc00..0xe000)) => at += 12,
            Some(0xd800..0xe000) => {
                let out = out.get_or_insert_default();
                out.extend_from_slice(&bytes[copied..at]);
                out.extend_from_slice(b"\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at += 2,
        }
        if at >= bytes.len() {
            break;
        }
    }
    out.as_mut()?.extend_from_slice(&bytes[copied.min(bytes.len())..]);
    out
}

/// The key by which the parser, keeping numbers digit for digit, marks an object that stands for one. Recorded text that
/// holds it would be read as a number that nobody wrote.
pub(crate) const NUMBER_MARK: &str = "$serde_json::private::Number";

fn is_number_mark(key: &[u8]) -> bool {
    if !key.contains(&b'\\') {
        return key == NUMBER_MARK.as_bytes();
    }
    let literal = [b"\"", key, b"\""].concat();
    serde_json::from_slice::<String>(&literal).is_ok_and(|key| key == NUMBER_MARK)
}

/// What is to be known of the keys of a text. Where the text is no JSON the answer is of no use, but there is one.
#[derive(Default)]
struct Keys {
    /// One of them is the parser's own.
    mark: bool,
    /// One stands twice in its object, compared as they are written.
    repeated: bool,
}

/// So many keys of an object are compared one by one.
const FEW: usize = 32;

fn keys(bytes: &[u8]) -> Keys {
    let mut found = Keys::default();
    // the keys of the objects that are open, those of the innermost last, and where each of them begins
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    // those of objects with many, by where the object begins
    let mut many: HashSet<(usize, &[u8])> = HashSet::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open.push(seen.len()),
            b'}' | b']' => {
                let begins = open.pop().unwrap_or(0);
                if seen.len() - begins > FEW {
                    for key in &seen[begins..] {
                        many.remove(&(begins, key));
                    }
                }
                seen.truncate(begins);
            }
            b'"' => {
                let start = at;
                loop {
                    let Some(next) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) else {
                        return found;
                    };
                    at += next + 1;
                    if bytes[at - 1] == b'"' {
                        break;
                    }
                    at += 1;
                }
                let key = &bytes[start..at - 1];
                while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                    at += 1;
                }
                if bytes.get(at) != Some(&b':') {
                    continue;
                }
                if is_number_mark(key) {
                    found.mark = true;
                    return found;
                }
                let begins = open.last().copied().unwrap_or(0);
                let own = &seen[begins..];
                if own.len() < FEW {
                    found.repeated |= own.contains(&key);
                } else {
                    if own.len() == FEW {
                        many.extend(own.iter().map(|key| (begins, *key)));
                    }
                    found.repeated |= !many.insert((begins, key));
                }
                seen.push(key);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_object_passes_for_a_number() {
        for text in
            [r#"{"seed":{"$serde_json::private::Number":"1"}}"#, r#"[{"\u0024serde_json::private::Number" : "1"}]"#]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(br#"{"text":"$serde_json::private::Number"}"#).is_ok());
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_marked() {
        for (text, want) in [
            (r#"{"a":"\ud83d"}"#, "\u{fffd}"),
            (r#"{"a":"x\udc00\ud83d\ude00y"}"#, "x\u{fffd}😀y"),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"a":"\\ud83d \ud800"}"#, "\\ud83d \u{fffd}"),
        ] {
            let parsed = parse(text.as_bytes()).unwrap();
            assert_eq!(parsed.value["a"], want);
            assert_eq!(parsed.issues, ["lone_surrogates_replaced"]);
            assert!(is_json(text.as_bytes()));
        }
        assert!(parse(br#"{"a":"\ud83d"#).is_err());
        assert!(parse(br#"{"a":"\"#).is_err());
    }

    #[test]
    fn numbers_stay_digit_for_digit() {
        let text = r#"{"n":[123456789012345678901234567890,1e+400,-0,1.10]}"#;
        assert_eq!(parse(text.as_bytes()).unwrap().value.to_string(), text);
    }

    #[test]
    fn repeated_keys_are_marked() {
        for (text, repeated) in [
            (r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}"#, false),
            (r#"{"a":1,"a":2}"#, true),
            (r#"[{"x":{"a":"b","a" : 2}}]"#, true),
            (r#"{"a":"\"a\":","b":"a"}"#, false),
            (r#"[{"a":{"b":1},"b":2},{"b":[{"a":1}]}]"#, false),
            (r#"{"a":{"b":1,"c":{}},"d":[],"a":2}"#, true),
        ] {
            assert_eq!(!parse(text.as_bytes()).unwrap().issues.is_empty(), repeated, "{text}");
        }
    }

    #[test]
    fn repeated_keys_are_marked_among_many() {
        for count in [31, 32, 33, 34, 200] {
            let keys = |from: usize| {
                (from..count).map(|key| format!("\"k{key}\":{{\"k{key}\":0}}")).collect::<Vec<_>>().join(",")
            };
            let issues = |text: &str| parse(text.as_bytes()).unwrap().issues;
            // two objects with the same keys, one beside and one within the other
            let text = format!("[{{{}}},{{{},\"z\":{{{}}}}}]", keys(0), keys(0), keys(0));
            assert!(issues(&text).is_empty(), "{count}");
            for again in [0, count / 2, count - 1] {
                let text = format!("[{{{}}},{{{},\"k{again}\":1}}]", keys(0), keys(0));
                assert_eq!(issues(&text), ["repeated_json_key"], "{count} {again}");
            }
        }
    }

    #[test]
    fn deep_bodies_are_json_but_not_decoded() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(is_json(deep.as_bytes()));
        assert!(parse(deep.as_bytes()).is_err());
    }
}
