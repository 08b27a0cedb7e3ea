//! A file in no known format: what it is, whether it looks like a recording all the same, and which formats are near.

use super::format::Format;
use super::known::FORMATS;
use crate::json;
use crate::json::view::{self, Value};
use crate::sanitize::clip;

/// What a file is that is in no known format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines that cannot be read, or that have something of a transcript: its reader says best what is wrong.
    Damaged,
    /// JSON Lines about something else.
    Lines,
    /// One JSON document about something else.
    Document,
}

/// What stands in the records of each format, and in hardly another.
const MARKS: &[(&str, &[&str])] = &[
    ("claude-code", &["type", "sessionId", "uuid", "message"]),
    ("claude-stream-json", &["type", "session_id", "message", "subtype", "num_turns"]),
    ("codex", &["type", "payload", "timestamp"]),
    ("codex-exec", &["type", "thread_id", "item"]),
    ("openai-chat", &["messages", "role", "content", "tool_calls"]),
    ("openai-responses", &["output", "type", "call_id", "arguments"]),
    ("anthropic-messages", &["messages", "role", "content", "tool_use_id"]),
    ("atif", &["schema_version", "steps", "agent", "tool_calls"]),
    ("mcp", &["jsonrpc", "method", "params", "result"]),
    ("otel", &["resourceSpans", "scopeSpans", "spans", "attributes"]),
    ("openinference", &["context", "span_kind", "span_id", "attributes"]),
    ("langfuse", &["trace", "observations", "startTime", "parentObservationId"]),
    ("inspect-ai", &["version", "eval", "samples", "events"]),
    ("gemini-cli", &["sessionId", "projectHash", "messages", "toolCalls"]),
    ("copilot-cli", &["type", "data", "timestamp", "toolCallId"]),
    ("opencode", &["info", "messages", "parts", "callID"]),
    ("swe-agent", &["trajectory", "history", "action", "observation"]),
    ("mini-swe-agent", &["trajectory_format", "messages", "info"]),
    ("openhands", &["id", "source", "action", "observation", "kind"]),
    ("toolreplay-capture", &["trace_id", "span_id", "sequence", "phase", "record_type"]),
];

/// Texts longer than this, in bytes, are shortened before all formats look at them.
pub(super) const LONG: usize = 64 << 10;

/// A text without its long strings, in which formats are told as well, and faster.
pub(super) fn shortened(text: &[u8]) -> Vec<u8> {
    let (mut out, mut copied, mut at) = (Vec::new(), 0, 0);
    while let Some(open) = memchr::memchr(b'"', &text[at..]) {
        let start = at + open + 1;
        let end = json::string_end(text, start);
        if end - start > 256 {
            out.extend_from_slice(&text[copied..start]);
            copied = end;
        }
        at = (end + 1).min(text.len());
    }
    out.extend_from_slice(&text[copied..]);
    out
}

/// Names that are looked at, and how deep they are looked for.
const NAMES: usize = 4_000;
const LEVELS: usize = 5;

/// What a value of no known format is, and which formats are near.
pub(super) fn described(value: Value<'_>) -> String {
    let own: Vec<String> = value.members().take(6).map(|(name, _)| format!("'{}'", clip(&name.name(), 40))).collect();
    let what = match (value.is_array(), &own[..]) {
        (true, _) => "a list".to_owned(),
        (_, []) => "an empty object".to_owned(),
        (_, names) => {
            let dots = if names.len() > 5 { ", …" } else { "" };
            format!("an object with {}{dots}", names[..names.len().min(5)].join(", "))
        }
    };
    format!("{what}; {}", nearest(value))
}

/// The formats whose marks a value has most of, and what it lacks of them.
fn nearest(value: Value<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    collect(value, LEVELS, &mut names);
    let mut near: Vec<(usize, &str, Vec<&str>, Vec<&str>)> = MARKS
        .iter()
        .map(|(id, marks)| {
            let (has, lacks): (Vec<&str>, Vec<&str>) =
                marks.iter().partition(|mark| names.iter().any(|name| name == *mark));
            (has.len() * 60 / marks.len(), *id, has, lacks)
        })
        .filter(|(share, _, has, _)| *share >= 30 && has.len() > 1)
        .collect();
    near.sort_by_key(|(share, ..)| std::cmp::Reverse(*share));
    let said: Vec<String> = near
        .iter()
        .take(2)
        .map(|(_, id, has, lacks)| match lacks[..] {
            [] => format!("{id} (it has {}, but not as that format has them)", quoted(has)),
            _ => format!("{id} (it has {}, and lacks {})", quoted(has), quoted(lacks)),
        })
        .collect();
    match said.is_empty() {
        true => "no format is near".to_owned(),
        false => format!("nearest: {}; --from reads it as one of them", said.join(" and ")),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// The names of members, also of those further in.
fn collect(value: Value<'_>, levels: usize, names: &mut Vec<String>) {
    if levels == 0 || names.len() >= NAMES {
        return;
    }
    value.items().take(20).for_each(|item| collect(item, levels - 1, names));
    for (name, inner) in value.members().take(200) {
        names.push(clip(&name.name(), 40).into_owned());
        collect(inner, levels - 1, names);
    }
}

/// How much of a damaged text is looked at, in bytes.
const START: usize = 64 << 10;
/// How many objects of it are tried.
const TRIES: usize = 64;

/// The format that a damaged text would be in, were it whole: a document that breaks off, or one whose first bytes are
/// lost.
pub(super) fn looks_like(text: &[u8]) -> Option<&'static Format> {
    let short = shortened(&text[..text.len().min(4 * LONG)]);
    let start = &short[..short.len().min(START)];
    let told = |text: &[u8], document: bool| {
        let closed = closed(text);
        let value = view::only_value(&closed).ok()?;
        let mut fits = FORMATS.iter().filter(|format| (format.recognise)(value, document).is_some());
        fits.next().copied()
    };
    told(start, true).or_else(|| {
        let objects = memchr::memchr_iter(b'{', start).take(TRIES);
        objects.filter_map(|at| told(&start[at..], false).or_else(|| told(&start[at..], true))).next()
    })
}

/// A text that breaks off, cut behind its last whole value, with all that is open closed.
fn closed(text: &[u8]) -> Vec<u8> {
    let (mut open, mut at, mut end) = (Vec::new(), 0, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = crate::json::string_end(text, at + 1),
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                end = at + 1;
            }
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    break;
                }
                end = at + 1;
                if open.is_empty() {
                    break;
                }
            }
            b',' => end = at,
            _ => {}
        }
        at += 1;
    }
    let mut whole = text[..end].to_vec();
    whole.extend(open.iter().rev());
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_marks() {
        let of_formats: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
        let marked: Vec<&str> = MARKS.iter().map(|(id, _)| *id).collect();
        assert_eq!(marked, of_formats, "a row for each format, in their order");
    }

    #[test]
    fn a_document_that_breaks_off_is_closed() {
        for (text, whole) in [
            (r#"{"a":1,"b":[1,{"c":"d"#, r#"{"a":1,"b":[1,{}]}"#),
            (r#"{"a":1,"b":"brea"#, r#"{"a":1}"#),
            (r#"{"a":{"b":2}"#, r#"{"a":{"b":2}}"#),
            (r#"[{"a":1},{"b":tr"#, r#"[{"a":1},{}]"#),
            (r#"{"a":1}}"#, r#"{"a":1}"#),
            ("nothing", ""),
        ] {
            assert_eq!(String::from_utf8(closed(text.as_bytes())).unwrap(), whole);
        }
    }

    #[test]
    fn what_is_near_is_said_with_what_is_missing() {
        let value =
            view::only_value(br#"[{"type":"user","message":{"role":"user","content":"x"},"subtype":"init"}]"#).unwrap();
        let said = described(value);
        assert!(
            said.starts_with("a list; nearest: claude-stream-json (it has 'type', 'message', 'subtype', and lacks"),
            "{said}"
        );
        let value = view::only_value(br#"{"name":"x","version":"1"}"#).unwrap();
        assert_eq!(described(value), "an object with 'name', 'version'; no format is near");
    }

    #[test]
    fn a_damaged_recording_is_told_by_its_start() {
        let atif = br#"{"schema_version":"ATIF-v1.2","agent":{"name":"x"},"steps":[{"step_id":1,"mess"#;
        assert_eq!(looks_like(atif).map(|format| format.id), Some("atif"));
        assert_eq!(looks_like(&atif[1..]).map(|format| format.id), None);
        let list = br#"XX{"id":1,"source":"agent","action":"run","args":{"command":"ls"}},{"id":"#;
        assert_eq!(looks_like(list).map(|format| format.id), Some("openhands"));
        for other in [
            &b"// comment\n{\"compilerOptions\":{\"strict\":true"[..],
            b"{\"name\":\"x\",\"version\":\"1",
            b"",
            b"\0\0\0",
        ] {
            assert!(looks_like(other).is_none());
        }
    }
}
