//! OpenAI Chat Completions: JSON replies and streams of deltas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{body, decode_arguments, error_type, inspect_messages, open_arguments, openai_error, text_of};

struct ChatCompletions;

/// `POST /chat/completions`.
pub const CHAT_COMPLETIONS: &dyn Protocol = &ChatCompletions;

impl Protocol for ChatCompletions {
    fn name(&self) -> &'static str {
        "openai_chat_completions"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn inspect(&self, bytes: &[u8]) -> Result<Head, &'static str> {
        inspect_messages(bytes, head)
    }

    fn open_request(&self, request: &mut Value, issues: &mut Issues) {
        for message in request.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            open_message(message, issues);
        }
    }

    fn reply(&self, mut response: Value) -> Reply {
        let mut issues = Issues::default();
        let mut calls = Vec::new();
        let choices = response.get_mut("choices").and_then(Value::as_array_mut);
        let has_choices = choices.is_some();
        for (position, choice) in (0..).zip(choices.into_iter().flatten()) {
            let number = choice.get("index").and_then(Value::as_u64).unwrap_or(position);
            let reason = text_of(choice, "finish_reason");
            let before = calls.len();
            if let Some(message) = choice.get_mut("message") {
                open_message(message, &mut issues);
                calls.extend(message_calls(message, number));
                if message.get("function_call").is_some_and(|call| !call.is_null()) {
                    issues.add("legacy_function_call_not_reconstructed");
                }
            }
            check_reason(reason.as_deref(), calls.len() > before, &mut issues);
        }
        let error = response.get("error").filter(|error| !error.is_null()).map(error_type);
        let id = text_of(&response, "id");
        if !has_choices && error.is_none() {
            issues.add("unexpected_response");
        }
        Reply { response, calls, server_calls: Vec::new(), id, issues, complete: error.is_none(), error }
    }

    fn stream(&self, limit: usize) -> Box<dyn ReplyStream> {
        Box::new(Stream::new(limit))
    }

    fn error(&self, status: u16, code: &str, message: &str) -> Value {
        openai_error(status, code, message)
    }
}

/// Reads messages from the last one back to the last reply.
fn head(stream: bool, from_last: &mut dyn Iterator<Item = Value>) -> Head {
    let mut head = Head { stream, ..Head::default() };
    for mut message in from_last {
        match message.get("role").and_then(Value::as_str) {
            Some("assistant") => {
                open_message(&mut message, &mut Issues::default());
                head.history = message_calls(&message, 0);
                break;
            }
            Some("tool" | "function") => head.results.push(ToolResult {
                id: text_of(&message, "tool_call_id"),
                name: text_of(&message, "name"),
                content: message.get_mut("content").map(Value::take).unwrap_or_default(),
                is_error: None,
            }),
            _ => {}
        }
    }
    head.results.reverse();
    head
}

fn open_message(message: &mut Value, issues: &mut Issues) {
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(function) = call.get_mut("function") {
            open_arguments(function, "arguments", issues);
        }
    }
    if let Some(function) = message.get_mut("function_call") {
        open_arguments(function, "arguments", issues);
    }
}

/// The calls of a message whose arguments are decoded.
fn message_calls(message: &Value, choice: u64) -> Vec<ToolCall> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let call = |(index, call): (u64, &Value)| {
        let kind = text_of(call, "type").unwrap_or_else(|| "function".to_owned());
        let body = call.get("function").or_else(|| call.get(&kind)).unwrap_or(&Value::Null);
        let arguments = body.get("arguments").or_else(|| body.get("input")).cloned().unwrap_or_default();
        ToolCall {
            choice,
            index,
            id: text_of(call, "id"),
            name: text_of(body, "name"),
            kind,
            arguments,
            complete: true,
        }
    };
    (0..).zip(calls.into_iter().flatten()).map(call).collect()
}

fn check_reason(reason: Option<&str>, has_calls: bool, issues: &mut Issues) {
    if matches!((reason, has_calls), (Some("stop"), true) | (Some("tool_calls"), false)) {
        issues.add("finish_reason_mismatch");
    }
}

#[derive(Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    cut: bool,
}

#[derive(Default)]
struct Choice {
    role: Option<String>,
    content: Option<String>,
    refusal: Option<String>,
    calls: Vec<Call>,
    finish_reason: Option<String>,
}

struct Stream {
    room: Allowance,
    top: Map<String, Value>,
    choices: BTreeMap<u64, Choice>,
    usage: Option<Value>,
    error: Option<Value>,
    issues: Issues,
    done: bool,
    any: bool,
}

impl Stream {
    fn new(limit: usize) -> Self {
        Self {
            room: Allowance::new(limit),
            top: Map::new(),
            choices: BTreeMap::new(),
            usage: None,
            error: None,
            issues: Issues::default(),
            done: false,
            any: false,
        }
    }

    fn chunk(&mut self, chunk: &mut Map<String, Value>) {
        for name in ["id", "model", "created", "system_fingerprint", "service_tier"] {
            if let Some(value) = chunk.get(name) {
                let empty = value.is_null() || value.as_str() == Some("");
                if !empty && !self.top.contains_key(name) && self.room.take(value.as_str().map_or(8, str::len)) {
                    self.top.insert(name.to_owned(), value.clone());
                }
            }
        }
        if let Some(usage) = chunk.get_mut("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.take());
        }
        if let Some(error) = chunk.get_mut("error").filter(|error| !error.is_null()) {
            self.error.get_or_insert(error.take());
        }
        for choice in chunk.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
            self.choice(choice);
        }
    }

    fn choice(&mut self, choice: &Value) {
        let number = choice.get("index").and_then(Value::as_u64).unwrap_or(0);
        // Each number takes room, so that a stream of invented choices stays bounded.
        if !self.choices.contains_key(&number) && !self.room.take(64) {
            return;
        }
        let state = self.choices.entry(number).or_default();
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if reason.is_empty() {
                self.issues.add("finish_reason_empty");
            } else {
                // Kept also where the copy's limit is reached: how a reply ended fits into what its choice took.
                state.finish_reason = Some(reason.chars().take(32).collect());
            }
        }
        for name in ["logprobs", "content_filter_results"] {
            if choice.get(name).is_some_and(|value| !value.is_null()) {
                self.issues.add_named("unsupported_choice_fields", name);
            }
        }
        let Some(delta) = choice.get("delta").and_then(Value::as_object) else { return };
        for (name, value) in delta {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                ("role", Value::String(role)) => {
                    if state.role.is_none() && !role.is_empty() && self.room.take(role.len()) {
                        state.role = Some(role.clone());
                    }
                }
                ("content", Value::String(text)) => drop(self.room.push(state.content.get_or_insert_default(), text)),
                ("refusal", Value::String(text)) => drop(self.room.push(state.refusal.get_or_insert_default(), text)),
                ("tool_calls", Value::Array(deltas)) => {
                    for delta in deltas {
                        call_delta(state, delta, &mut self.room, &mut self.issues);
                    }
                }
                ("function_call", _) => self.issues.add("legacy_function_call_not_reconstructed"),
                _ => self.issues.add_named("unsupported_delta_fields", name),
            }
        }
    }

    fn whole_calls(&self, issues: &mut Issues) -> Vec<ToolCall> {
        let mut all = Vec::new();
        for (&number, choice) in &self.choices {
            let mut calls: Vec<&Call> = choice.calls.iter().collect();
            calls.sort_by_key(|call| call.index);
            for (index, call) in (0..).zip(calls) {
                let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
                let finished = self.done || choice.finish_reason.is_some();
                let complete = finished && !call.cut && self.error.is_none();
                let arguments = if complete || body::is_json(call.arguments.as_bytes()) {
                    decode_arguments(&call.arguments, issues)
                } else {
                    Value::String(call.arguments.clone())
                };
                all.push(ToolCall {
                    choice: number,
                    index,
                    id: text(&call.id),
                    name: text(&call.name),
                    kind: "function".to_owned(),
                    arguments,
                    complete,
                });
            }
        }
        all
    }
}

/// Adds one tool call delta to the call it belongs to.
fn call_delta(state: &mut Choice, delta: &Value, room: &mut Allowance, issues: &mut Issues) {
    let kind = delta.get("type").and_then(Value::as_str).unwrap_or("function");
    if !matches!(kind, "function" | "") || delta.get("custom").is_some_and(|custom| !custom.is_null()) {
        issues.add_named("non_function_tool_not_reconstructed", kind);
        return;
    }
    let id = delta.get("id").and_then(Value::as_str).unwrap_or_default();
    let at = match delta.get("index").and_then(Value::as_u64) {
        Some(index) => {
            let same = state.calls.iter().rposition(|call| call.index == index);
            let other =
                same.is_some_and(|at| !id.is_empty() && !state.calls[at].id.is_empty() && state.calls[at].id != id);
            if other {
                issues.add("tool_call_index_reused");
            }
            same.filter(|_| !other).or_else(|| open_call(state, index, room))
        }
        None => {
            issues.add("tool_call_index_missing");
            let last = state.calls.len().checked_sub(1);
            let continues = |at: &usize| id.is_empty() || state.calls[*at].id == id;
            match last.filter(continues) {
                Some(at) => Some(at),
                None => {
                    let next = state.calls.iter().map(|call| call.index.saturating_add(1)).max().unwrap_or(0);
                    open_call(state, next, room)
                }
            }
        }
    };
    let Some(call) = at.and_then(|at| state.calls.get_mut(at)) else { return };
    if call.id.is_empty() {
        call.cut |= !room.push(&mut call.id, id);
    }
    for (name, value) in delta.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "index" | "id" | "type" | "function") && !value.is_null() {
            issues.add_named("unsupported_delta_fields", &format!("tool_calls.{name}"));
        }
    }
    let Some(function) = delta.get("function") else { return };
    if let Some(name) = function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        if call.name.is_empty() {
            call.cut |= !room.push(&mut call.name, name);
        } else if call.name != name {
            issues.add("tool_name_conflict");
        }
    }
    match function.get("arguments") {
        Some(Value::String(text)) => call.cut |= !room.push(&mut call.arguments, text),
        // Some servers send the arguments whole, as an object.
        Some(object @ Value::Object(_)) => call.cut |= !room.push(&mut call.arguments, &object.to_string()),
        _ => {}
    }
}

fn open_call(state: &mut Choice, index: u64, room: &mut Allowance) -> Option<usize> {
    room.take(64).then(|| {
        state.calls.push(Call { index, ..Call::default() });
        state.calls.len() - 1
    })
}

impl ReplyStream for Stream {
    fn frame(&mut self, event: Option<&str>, data: &[u8]) {
        if self.done {
            self.issues.add("data_after_done");
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        self.any = true;
        let text = String::from_utf8_lossy(data);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.issues.add("invalid_utf8");
        }
        let mut chunk = match body::parse(text.as_bytes()) {
            Ok(parsed) => {
                parsed.issues.into_iter().for_each(|issue| self.issues.add(issue));
                parsed.value
            }
            Err(_) => {
                self.issues.add("invalid_sse_chunk");
                return;
            }
        };
        if event == Some("error") && chunk.get("error").is_none() {
            chunk = json!({"error": chunk});
        }
        match &mut chunk {
            Value::Object(chunk) => self.chunk(chunk),
            _ => self.issues.add("invalid_sse_chunk"),
        }
    }

    fn ended(&self) -> bool {
        self.done
    }

    fn calls(&self) -> Vec<ToolCall> {
        let mut calls = self.whole_calls(&mut Issues::default());
        calls.retain(|call| call.complete);
        calls
    }

    fn response_id(&self) -> Option<String> {
        self.top.get("id").and_then(Value::as_str).map(str::to_owned)
    }

    fn held(&self) -> usize {
        self.room.held()
    }

    fn finish(self: Box<Self>, _clean: bool) -> Reply {
        let mut issues = self.issues.clone();
        let calls = self.whole_calls(&mut issues);
        if self.room.exceeded {
            issues.add("capture_byte_limit");
        }
        if !self.done {
            issues.add("missing_stream_done");
        }
        let mut complete = self.done || !self.choices.is_empty();
        let mut choices = Vec::new();
        for (number, choice) in &self.choices {
            let own: Vec<&ToolCall> = calls.iter().filter(|call| call.choice == *number).collect();
            check_reason(choice.finish_reason.as_deref(), !own.is_empty(), &mut issues);
            if choice.finish_reason.is_none() {
                issues.add("finish_reason_missing");
                complete &= self.done;
            }
            let mut message = json!({"role": choice.role.as_deref().unwrap_or("assistant"), "content": choice.content});
            if let Some(refusal) = &choice.refusal {
                message["refusal"] = json!(refusal);
            }
            if !own.is_empty() {
                message["tool_calls"] = own
                    .iter()
                    .map(|call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}))
                    .collect();
            }
            choices.push(json!({"index": number, "message": message, "finish_reason": choice.finish_reason}));
        }
        let id = self.response_id();
        let error = self.error.as_ref().map(error_type);
        let mut response = self.top;
        response.insert("object".into(), "chat.completion".into());
        response.insert("choices".into(), choices.into());
        if let Some(usage) = self.usage {
            response.insert("usage".into(), usage);
        }
        if let Some(error) = self.error {
            response.insert("error".into(), error);
        }
        Reply {
            response: Value::Object(response),
            calls,
            server_calls: Vec::new(),
            id,
            issues,
            complete: complete && error.is_none(),
            error,
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
