//! Members of JSON objects whose name says that the value is a secret, found in any text: a whole document, lines of
//! them, prose with an object in it, one that was cut.

use super::checks::is_random;
use super::found::{Certainty, Found, Kind};
use super::mask;
use super::names::{LONGEST, Naming, is_secret_name, is_token_name, may_be_secret, naming};
use crate::json::string_end;
use std::ops::Range;

/// Names that say so beside the built-in ones: folded.
pub(super) type Own<'a> = &'a dyn Fn(&str) -> bool;

/// Where the last name or value of a pair `{"name": "Authorization", "value": "…"}` ended.
#[derive(Default)]
struct Pair {
    name: Option<usize>,
    value: Option<Range<usize>>,
}

/// Appends the values of secret members. `own` are further names.
pub(super) fn find(text: &[u8], own: Option<Own<'_>>, out: &mut Vec<Found>) {
    options(text, out);
    if own.is_none() && !may_be_secret(text) {
        return;
    }
    let (mut from, mut pair) = (0, Pair::default());
    for colon in memchr::memchr_iter(b':', text) {
        if colon < from {
            continue;
        }
        let Some(key) = key_before(text, from, colon) else { continue };
        let name = super::view::peeled(&text[key], 1);
        let name = String::from_utf8_lossy(&name);
        let open = skip_space(text, colon + 1);
        let Some(&first) = text.get(open) else { break };
        let secret = is_secret_name(&name) || own.is_some_and(|own| own(&name));
        if secret && !(first == b'{' && is_schema(&text[open..])) {
            from = mark(text, open, out);
            continue;
        }
        if first != b'"' {
            continue;
        }
        let content = open + 1..string_end(text, open + 1).min(text.len());
        if is_token_name(&name) && is_token(&text[content.clone()]) {
            from = mark(text, open, out);
        } else {
            pair.take(text, &name, content, own, out);
        }
    }
}

impl Pair {
    fn take(&mut self, text: &[u8], name: &str, content: Range<usize>, own: Option<Own<'_>>, out: &mut Vec<Found>) {
        let end = content.end;
        if name == "value" {
            self.value = Some(content);
        } else if matches!(name, "name" | "key" | "header") {
            let named = String::from_utf8_lossy(&text[content.start..end.min(content.start + LONGEST)]);
            self.name = (is_secret_name(&named) || own.is_some_and(|own| own(&named))).then_some(end);
        } else {
            return;
        }
        if let (Some(name), Some(value)) = (self.name, self.value.clone()) {
            let between = name.min(value.end)..name.max(value.start);
            let near = between.len() <= 1024 && memchr::memchr2(b'{', b'}', &text[between]).is_none();
            if near {
                push(text, value, out);
                *self = Pair::default();
            }
        }
    }
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// The name of a member whose colon stands at `colon`, without its quotes.
fn key_before(text: &[u8], from: usize, colon: usize) -> Option<Range<usize>> {
    let space = text[from..colon].iter().rev().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
    let end =
        (colon - space).checked_sub(1).filter(|&end| end >= from && text[end] == b'"' && !is_escaped(text, end))?;
    let first = end.saturating_sub(6 * LONGEST).max(from);
    let start =
        memchr::memrchr_iter(b'"', &text[first..end]).map(|at| first + at).find(|&at| !is_escaped(text, at))? + 1;
    Some(start..end)
}

fn is_escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take(64).take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// A JSON Schema names its properties: `{"properties": {"password": {"type": "string"}}}`.
fn is_schema(text: &[u8]) -> bool {
    let head = &text[..text.len().min(4096)];
    let head = &head[..memchr::memchr(b'}', head).unwrap_or(head.len())];
    let is = |name: &str| memchr::memmem::find(head, name.as_bytes());
    if is("\"$ref\"").is_some() || is("\"anyOf\"").is_some() || is("\"oneOf\"").is_some() {
        return true;
    }
    let Some(at) = is("\"type\"") else { return false };
    let at = skip_space(head, at + 6);
    let at = skip_space(head, at + 1);
    let value = head.get(at..).unwrap_or_default();
    ["\"string\"", "\"object\"", "\"array\"", "\"number\"", "\"integer\"", "\"boolean\"", "["]
        .iter()
        .any(|kind| value.starts_with(kind.as_bytes()))
}

/// Models write their words into fields of the name `token` as well, so the value must look like one.
pub(super) fn is_token(value: &[u8]) -> bool {
    value.len() >= 20
        && value.iter().all(u8::is_ascii_graphic)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

/// Appends every string and number of the value at `open`; returns its end.
fn mark(text: &[u8], open: usize, out: &mut Vec<Found>) -> usize {
    let (mut at, mut depth) = (open, 0_usize);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                let end = string_end(text, at + 1).min(text.len());
                let behind = skip_space(text, end + 1);
                // the name of a member stays
                if depth == 0 || text.get(behind) != Some(&b':') {
                    push(text, at + 1..end, out);
                }
                at = end + 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b'0'..=b'9' | b'-' => {
                let length =
                    text[at..].iter().position(|b| !matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
                let end = at + length.unwrap_or(text.len() - at);
                out.push(Found { id: "field", kind: Kind::Bare, range: at..end, certainty: Certainty::Possible });
                at = end;
            }
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth > 0 => at += 1,
            // a word of JSON, or no JSON
            byte if byte.is_ascii_alphabetic() && (depth > 0 || at == open) => {
                at += text[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            }
            _ => break,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(text.len())
}

fn push(text: &[u8], content: Range<usize>, out: &mut Vec<Found>) {
    let value = &text[content.clone()];
    if !value.is_empty() && !mask::is_mark(value) {
        out.push(Found { id: "field", kind: Kind::Field, range: content, certainty: Certainty::Possible });
    }
}

/// Arguments in a list: `["deploy", "--token", "…"]`.
fn options(text: &[u8], out: &mut Vec<Found>) {
    for at in memchr::memmem::find_iter(text, b"\"-") {
        let rest = &text[at + 1..text.len().min(at + 1 + LONGEST)];
        let Some(length) = memchr::memchr(b'"', rest) else { continue };
        let comma = skip_space(text, at + length + 2);
        if text.get(comma) != Some(&b',') {
            continue;
        }
        let open = skip_space(text, comma + 1);
        if text.get(open) != Some(&b'"') {
            continue;
        }
        let content = open + 1..string_end(&text[..text.len().min(open + 8192)], open + 1).min(text.len());
        let before = &text[at.saturating_sub(64)..at];
        if takes_secret(&rest[..length], before, &text[content.clone()]) {
            push(text, content, out);
        }
    }
}

/// Whether an option's argument is a secret, by its name, what stood before it and what it is.
pub(super) fn takes_secret(option: &[u8], before: &[u8], value: &[u8]) -> bool {
    if value.len() < 4 || matches!(value.first(), Some(b'-' | b'$' | b'<' | b'/')) {
        return false;
    }
    if option.starts_with(b"--") {
        return match naming(option) {
            Some(Naming::Secret) => true,
            Some(Naming::Perhaps) => is_random(value),
            None => false,
        };
    }
    let command = |names: &[&str]| names.iter().any(|name| memchr::memmem::find(before, name.as_bytes()).is_some());
    match option {
        b"-p" => command(&["login", "sshpass", "mongo"]),
        b"-a" => command(&["redis-cli"]),
        _ => false,
    }
}
