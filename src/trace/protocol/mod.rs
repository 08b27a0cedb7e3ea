//! Decoders for the protocols between agents and models. No I/O: bytes and JSON in, what they mean out.
//!
//! A decoder serves the live proxy and importers alike. It never fails: what it cannot read it marks in
//! [`Issues`], because whatever is decoded here is a copy of something that has already been sent on.

mod anthropic;
pub mod body;
mod chat;
mod gemini;
pub mod lenient;
mod responses;
pub mod sse;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

pub use self::anthropic::MESSAGES;
pub use self::chat::CHAT_COMPLETIONS;
pub use self::gemini::GENERATE_CONTENT;
pub use self::responses::RESPONSES;

/// Every protocol with a decoder. To add one: a file beside this one and a line here.
pub const PROTOCOLS: &[&dyn Protocol] = &[CHAT_COMPLETIONS, RESPONSES, MESSAGES, GENERATE_CONTENT];

/// One model protocol.
pub trait Protocol: Send + Sync {
    /// The name in captures.
    fn name(&self) -> &'static str;

    /// The paths below the base URL, with their leading slash. `{}` stands for any text without a slash: for a model,
    /// say, that the path names.
    fn paths(&self) -> &'static [&'static str];

    /// What must be known of a request before it is sent on. An error says why it is no request of this protocol.
    ///
    /// # Errors
    /// The body is no JSON object or lacks what the protocol cannot be without.
    fn inspect(&self, body: &[u8]) -> Result<Head, &'static str>;

    /// Decodes the argument strings of tool calls in a copy of a request, so that field rules reach into them.
    fn open_request(&self, request: &mut Value, issues: &mut Issues);

    /// Reads a whole JSON reply.
    fn reply(&self, body: Value) -> Reply;

    /// A decoder for a streamed reply that keeps at most about `limit` bytes.
    fn stream(&self, limit: usize) -> Box<dyn ReplyStream>;

    /// An error of our own in the protocol's shape.
    fn error(&self, status: u16, code: &str, message: &str) -> Value;
}

/// Rebuilds a streamed reply.
pub trait ReplyStream: Send {
    /// Takes in one SSE frame.
    fn frame(&mut self, event: Option<&str>, data: &[u8]);

    /// The protocol's own end mark has been seen. More may follow all the same.
    fn ended(&self) -> bool;

    /// The reply has said why it ends: a client may act on its calls from here on, and need not wait for the end mark.
    fn settled(&self) -> bool;

    /// The calls that are complete, once [`Self::settled`].
    fn calls(&self) -> Vec<ToolCall>;

    /// The reply's id, as far as it is known.
    fn response_id(&self) -> Option<String>;

    /// Bytes held.
    fn held(&self) -> usize;

    /// What came of it. `clean` says that the stream ended by itself, not by an abort.
    fn finish(self: Box<Self>, clean: bool) -> Reply;
}

/// What a request says before any reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// The client asked for a stream.
    pub stream: bool,
    /// The reply that this request continues, by its id.
    pub previous_response: Option<String>,
    /// The tool results that the agent reports with this request: those after the last reply in its history.
    pub results: Vec<ToolResult>,
    /// The calls that the history's last reply asked for.
    pub history: Vec<ToolCall>,
}

/// A tool result that an agent reported.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: Option<String>,
    /// The tool's name, where the protocol repeats it.
    pub name: Option<String>,
    /// What the tool returned.
    pub content: Value,
    /// The agent's word that the tool failed, where the protocol has one.
    pub is_error: Option<bool>,
}

impl ToolResult {
    /// The result as captures hold it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".into(), json!(self.id));
        if let Some(name) = &self.name {
            fields.insert("name".into(), json!(name));
        }
        fields.insert("content".into(), self.content.clone());
        if let Some(is_error) = self.is_error {
            fields.insert("is_error".into(), json!(is_error));
        }
        Value::Object(fields)
    }
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Which of several alternative replies asked for it.
    pub choice: u64,
    /// Its place among that reply's calls.
    pub index: u64,
    /// Its id. Unique in theory.
    pub id: Option<String>,
    /// The tool.
    pub name: Option<String>,
    /// `function`, or the protocol's word for another kind.
    pub kind: String,
    /// The arguments, decoded; the text as it came where it is not JSON.
    pub arguments: Value,
    /// False when the reply was cut inside it.
    pub complete: bool,
    /// It came behind the end of the reply.
    pub after_end: bool,
}

impl ToolCall {
    /// The call as captures hold it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut call = json!({
            "choice": self.choice, "index": self.index, "id": self.id, "name": self.name,
            "type": self.kind, "arguments": self.arguments,
        });
        if !self.complete {
            call["partial"] = Value::Bool(true);
        }
        if self.after_end {
            call["after_end"] = Value::Bool(true);
        }
        call
    }
}

/// What came of a reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The reply, rebuilt where it was streamed, with decoded arguments.
    pub response: Value,
    /// The calls that the agent is asked to execute.
    pub calls: Vec<ToolCall>,
    /// The calls that the model's server executed itself.
    pub server_calls: Vec<ToolCall>,
    /// The reply's id.
    pub id: Option<String>,
    /// What could not be read or does not fit together.
    pub issues: Issues,
    /// The type of the error that the reply carries.
    pub error: Option<String>,
    /// False when the reply was cut.
    pub complete: bool,
}

/// What a capture could not read, by code, with counts and names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issues(BTreeMap<&'static str, (u64, BTreeSet<String>)>);

impl Issues {
    /// Marks `code` once more.
    pub fn add(&mut self, code: &'static str) {
        self.0.entry(code).or_default().0 += 1;
    }

    /// Marks `code` once more, naming what it is about. At most 32 names are kept.
    pub fn add_named(&mut self, code: &'static str, name: &str) {
        let (count, names) = self.0.entry(code).or_default();
        *count += 1;
        if names.len() < 32 {
            names.insert(name.chars().take(64).collect());
        }
    }

    /// Adds everything marked in `other`.
    pub fn merge(&mut self, other: Self) {
        for (code, (count, names)) in other.0 {
            let entry = self.0.entry(code).or_default();
            entry.0 += count;
            entry.1.extend(names);
        }
    }

    /// Whether `code` is marked.
    #[must_use]
    pub fn has(&self, code: &str) -> bool {
        self.0.contains_key(code)
    }

    /// Whether nothing is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The codes, sorted.
    #[must_use]
    pub fn codes(&self) -> Value {
        self.0.keys().copied().collect()
    }

    /// Counts and names by code.
    #[must_use]
    pub fn details(&self) -> Value {
        let detail = |(code, (count, names)): (&&str, &(u64, BTreeSet<String>))| {
            let mut detail = json!({"count": count});
            if !names.is_empty() {
                detail["names"] = names.iter().map(String::as_str).collect();
            }
            ((*code).to_owned(), detail)
        };
        Value::Object(self.0.iter().map(detail).collect())
    }
}

/// What a stream decoder may still keep.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: usize,
    limit: usize,
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
