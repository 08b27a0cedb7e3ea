//! What decoders have in common: room for what is kept, arguments, ids, lists of messages, errors.

use super::body;
use super::decoder::{Head, ToolCall};
use super::issues::Issues;
use super::lenient;
use serde_json::{Value, json};

/// What a stream decoder may still keep.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) left: usize,
    pub(crate) limit: usize,
    /// Something was refused.
    pub(crate) exceeded: bool,
}

impl Allowance {
    pub(crate) fn new(limit: usize) -> Self {
        Self { left: limit, limit, exceeded: false }
    }

    pub(crate) fn held(&self) -> usize {
        self.limit - self.left
    }

    /// Asks for room; once refused, always refused, so that no text has a hole.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) if !self.exceeded => {
                self.left = left;
                true
            }
            _ => {
                self.exceeded = true;
                false
            }
        }
    }

    /// Appends `text` if there is room. Returns false when there was none.
    pub(crate) fn push(&mut self, to: &mut String, text: &str) -> bool {
        let room = self.take(text.len());
        if room {
            to.push_str(text);
        }
        room
    }
}

/// Decodes a tool call's argument text. What is no JSON stays text.
pub(crate) fn decode_arguments(text: &str, issues: &mut Issues) -> Value {
    if text.trim().is_empty() {
        issues.add("tool_arguments_empty");
        return json!({});
    }
    match body::parse(text.as_bytes()) {
        Ok(parsed) => {
            for issue in parsed.issues {
                issues.add(issue);
            }
            parsed.value
        }
        Err(_) => {
            issues.add("tool_arguments_not_json");
            Value::String(text.to_owned())
        }
    }
}

/// Marks what is odd about the ids of a reply's calls, and calls that came behind its end.
pub(crate) fn check_calls(calls: &[ToolCall], issues: &mut Issues) {
    for (at, call) in calls.iter().enumerate() {
        match &call.id {
            None => issues.add_named("tool_id_missing", call.name.as_deref().unwrap_or("")),
            Some(id) if calls[..at].iter().any(|other| other.id.as_ref() == Some(id)) => {
                issues.add_named("tool_ids_duplicate", id);
            }
            Some(_) => {}
        }
        if call.after_end {
            issues.add_named("call_after_end", call.id.as_deref().or(call.name.as_deref()).unwrap_or(""));
        }
    }
}

/// Decodes `owner[name]` in place where it is a string; what is not there is an empty object.
pub(crate) fn open_all_arguments(owner: &mut Value, name: &str, issues: &mut Issues) {
    if let Value::Object(fields) = owner {
        let slot = fields.entry(name).or_insert(Value::Null);
        match slot {
            Value::Null => {
                issues.add("tool_arguments_empty");
                *slot = json!({});
            }
            Value::String(text) => *slot = decode_arguments(text, issues),
            Value::Object(_) => issues.add("tool_arguments_object"),
            _ => {}
        }
    }
}

/// Decodes `owner[name]` in place where it is a string.
pub(crate) fn open_arguments(owner: &mut Value, name: &str, issues: &mut Issues) {
    if let Some(slot) = owner.get_mut(name)
        && let Value::String(text) = slot
    {
        *slot = decode_arguments(text, issues);
    }
}

/// Looks at a request that must have a `messages` array.
pub(crate) fn inspect_messages(
    bytes: &[u8],
    head: impl Fn(bool, &mut dyn Iterator<Item = Value>) -> Head,
) -> Result<Head, &'static str> {
    inspect_listed(bytes, "messages", "the request has no 'messages' array", head)
}

/// Looks at a request that must have its messages in the array `list`: `head` gets whether the reply is to be a stream, and
/// the messages from the last one on, which are read only as far as it asks.
pub(crate) fn inspect_listed(
    bytes: &[u8],
    list: &str,
    missing: &'static str,
    head: impl Fn(bool, &mut dyn Iterator<Item = Value>) -> Head,
) -> Result<Head, &'static str> {
    if let Some(fields) = body::fields(bytes) {
        let messages = fields.get(list).and_then(|raw| body::items(raw)).ok_or(missing)?;
        let stream = fields.get("stream").is_some_and(|raw| raw.get() == "true");
        return Ok(head(stream, &mut messages.into_iter().rev().map_while(body::read)));
    }
    // a key may hold half a surrogate pair; such a request is still one
    if !body::is_json(bytes) {
        return Err("the request body is not JSON");
    }
    let Ok(parsed) = body::parse(bytes) else { return Ok(Head::default()) };
    let messages = parsed.value.get(list).and_then(Value::as_array).ok_or(missing)?;
    Ok(head(parsed.value.get("stream") == Some(&Value::Bool(true)), &mut messages.iter().rev().cloned()))
}

pub(crate) fn text_of(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The type of the error object of OpenAI's protocols, `error` itself or a field of the reply.
pub(crate) fn error_type(error: &Value) -> String {
    let named = |name: &str| text_of(error, name);
    named("type").or_else(|| named("code")).unwrap_or_else(|| "error".to_owned())
}

/// An error of our own in the shape of OpenAI's protocols.
pub(crate) fn openai_error(status: u16, code: &str, message: &str) -> Value {
    let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// What a frame holds in a protocol whose events are objects that say their type, each with that type. The end mark of
/// OpenAI's older protocol, which some servers add, is none.
pub(crate) fn typed_events(
    event: Option<&str>,
    data: &[u8],
    ended: bool,
    issues: &mut Issues,
) -> Vec<(Option<String>, Value)> {
    let mut events = Vec::new();
    if data.trim_ascii() == b"[DONE]" {
        return events;
    }
    if ended {
        // Not dropped: there are clients that read on.
        issues.add("data_after_done");
    }
    lenient::frame(data, issues, |parsed, issues| match parsed.is_object() {
        true => events.push((text_of(&parsed, "type").or_else(|| event.map(str::to_owned)), parsed)),
        false => issues.add("invalid_sse_chunk"),
    });
    events
}
