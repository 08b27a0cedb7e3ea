//! Anthropic Messages: JSON replies and block streams.

use serde_json::{Map, Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{body, check_calls, decode_arguments, inspect_messages, open_all_arguments, text_of, typed_events};

struct Messages;

/// `POST /messages`.
pub const MESSAGES: &dyn Protocol = &Messages;

impl Protocol for Messages {
    fn name(&self) -> &'static str {
        "anthropic_messages"
    }

    fn paths(&self) -> &'static [&'static str] {
        &["/messages"]
    }

    fn inspect(&self, bytes: &[u8]) -> Result<Head, &'static str> {
        inspect_messages(bytes, head)
    }

    /// Inputs of tools are objects here already.
    fn open_request(&self, _request: &mut Value, _issues: &mut Issues) {}

    fn reply(&self, mut response: Value) -> Reply {
        let mut reply = Reply { id: text_of(&response, "id"), ..Reply::default() };
        for block in response.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            let of_agent = block.get("type").and_then(Value::as_str) == Some("tool_use");
            if of_agent && block.get("partial").is_none() && !block.get("input").is_some_and(Value::is_object) {
                open_all_arguments(block, "input", &mut reply.issues);
            }
        }
        let content = response.get("content").and_then(Value::as_array);
        let blocks = || content.into_iter().flatten();
        reply.calls = calls(blocks(), &["tool_use"]);
        reply.server_calls = calls(blocks(), &["server_tool_use", "mcp_tool_use"]);
        check_calls(&reply.calls, &mut reply.issues);
        reply.error = response.get("error").map(|error| text_of(error, "type").unwrap_or_else(|| "error".to_owned()));
        if content.is_none() && reply.error.is_none() {
            reply.issues.add("unexpected_response");
        }
        check_reason(response.get("stop_reason").and_then(Value::as_str), !reply.calls.is_empty(), &mut reply.issues);
        reply.complete = reply.error.is_none();
        reply.response = response;
        reply
    }

    fn stream(&self, limit: usize) -> Box<dyn ReplyStream> {
        Box::new(Stream {
            room: Allowance::new(limit),
            message: Map::new(),
            blocks: Vec::new(),
            stop_reason: Value::Null,
            error: None,
            issues: Issues::default(),
            ended: false,
        })
    }

    fn error(&self, status: u16, code: &str, message: &str) -> Value {
        let kind = match status {
            413 => "request_too_large",
            403 => "permission_error",
            404 => "not_found_error",
            504 => "timeout_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message, "code": code}})
    }
}

/// Reads messages from the last one back to the last reply.
fn head(stream: bool, from_last: &mut dyn Iterator<Item = Value>) -> Head {
    let mut head = Head { stream, ..Head::default() };
    for mut message in from_last {
        let from_model = message.get("role").and_then(Value::as_str) == Some("assistant");
        let blocks = message.get_mut("content").and_then(Value::as_array_mut);
        if from_model {
            head.history = calls(blocks.into_iter().flatten().map(|block| &*block), &["tool_use"]);
            break;
        }
        for block in blocks.into_iter().flatten().rev() {
            if block.get("type").and_then(Value::as_str) == Some("tool_result") {
                head.results.push(ToolResult {
                    id: text_of(block, "tool_use_id"),
                    name: None,
                    content: block.get_mut("content").map(Value::take).unwrap_or_default(),
                    is_error: block.get("is_error").and_then(Value::as_bool),
                });
            }
        }
    }
    head.results.reverse();
    head
}

fn calls<'a>(blocks: impl Iterator<Item = &'a Value>, kinds: &[&str]) -> Vec<ToolCall> {
    let of_kind =
        blocks.filter(|block| block.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind)));
    let call = |(index, block): (u64, &Value)| ToolCall {
        choice: 0,
        index,
        id: text_of(block, "id"),
        name: text_of(block, "name"),
        kind: block["type"].as_str().unwrap_or_default().to_owned(),
        arguments: block.get("input").cloned().unwrap_or_default(),
        complete: block.get("partial").is_none(),
        after_end: block.get(AFTER_END).is_some(),
    };
    (0..).zip(of_kind).map(call).collect()
}

fn check_reason(reason: Option<&str>, has_calls: bool, issues: &mut Issues) {
    if matches!((reason, has_calls), (Some("end_turn"), true) | (Some("tool_use"), false)) {
        issues.add("finish_reason_mismatch");
    }
}

/// Marks blocks of a rebuilt reply that came behind its end.
const AFTER_END: &str = "capture_after_end";

struct Block {
    index: Option<u64>,
    after_end: bool,
    start: Map<String, Value>,
    text: String,
    input: String,
    cut: bool,
    stopped: bool,
}

struct Stream {
    room: Allowance,
    message: Map<String, Value>,
    /// In the order they came.
    blocks: Vec<Block>,
    stop_reason: Value,
    error: Option<Value>,
    issues: Issues,
    ended: bool,
}

impl Stream {
    fn event(&mut self, kind: &str, event: &mut Value) {
        let index = event.get("index").and_then(Value::as_u64);
        match kind {
            "message_start" => {
                let Value::Object(message) = event["message"].take() else { return };
                for (name, value) in message {
                    match value {
                        // Empty as a rule; what stands there all the same is part of the reply.
                        Value::Array(blocks) if name == "content" => {
                            for block in blocks {
                                self.open(None, block, true);
                            }
                        }
                        value if self.message.contains_key(&name) => drop(value),
                        value if self.room.take(name.len() + value.as_str().map_or(64, str::len)) => {
                            self.message.insert(name, value);
                        }
                        _ => {}
                    }
                }
            }
            "content_block_start" => {
                if index.is_some() && self.place(index).is_some() {
                    // A client would mix them up or lose one; the copy has both.
                    self.issues.add("content_block_repeated");
                }
                self.open(index, event["content_block"].take(), false);
            }
            "content_block_delta" => {
                let delta = event["delta"].take();
                let Some(block) = self.place(index).and_then(|at| self.blocks.get_mut(at)) else {
                    return self.issues.add("content_block_missing");
                };
                let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
                match text("type") {
                    "text_delta" => block.cut |= !self.room.push(&mut block.text, text("text")),
                    "thinking_delta" => block.cut |= !self.room.push(&mut block.text, text("thinking")),
                    "input_json_delta" => block.cut |= !self.room.push(&mut block.input, text("partial_json")),
                    "signature_delta" => {
                        if self.room.take(text("signature").len()) {
                            block.start.insert("signature".into(), text("signature").into());
                        }
                    }
                    other => self.issues.add_named("unsupported_delta_fields", other),
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.place(index).and_then(|at| self.blocks.get_mut(at)) {
                    block.stopped = true;
                }
            }
            "message_delta" => {
                if let Some(reason) = event["delta"].get("stop_reason").filter(|reason| !reason.is_null()) {
                    self.stop_reason = reason.clone();
                }
                if let (Value::Object(usage), true) = (event["usage"].take(), self.room.take(64)) {
                    match self.message.get_mut("usage").and_then(Value::as_object_mut) {
                        Some(known) => known.extend(usage),
                        None => drop(self.message.insert("usage".into(), usage.into())),
                    }
                }
            }
            "message_stop" => self.ended = true,
            "error" => {
                self.ended = true;
                let error = event["error"].take();
                self.error =
                    Some(if self.room.take(error.to_string().len()) { error } else { json!({"type": "error"}) });
            }
            "ping" => {}
            other => self.issues.add_named("unsupported_event", other),
        }
    }

    /// The block that an event belongs to: one that names none belongs to the last that is open.
    fn place(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.blocks.iter().rposition(|block| block.index == index),
            None => self.blocks.iter().rposition(|block| !block.stopped),
        }
    }

    fn open(&mut self, index: Option<u64>, block: Value, stopped: bool) {
        let Value::Object(start) = block else { return self.issues.add("invalid_sse_chunk") };
        let size = Value::Object(start.clone()).to_string().len();
        if self.room.take(size + 64) {
            let text = start.get("text").or_else(|| start.get("thinking")).and_then(Value::as_str);
            let text = text.unwrap_or_default().to_owned();
            let after_end = self.ended;
            self.blocks.push(Block { index, after_end, start, text, input: String::new(), cut: false, stopped });
        }
    }

    fn content(&self, issues: &mut Issues) -> Vec<Value> {
        let mut content = Vec::new();
        for block in &self.blocks {
            let mut built = block.start.clone();
            let is_json = body::is_json(block.input.as_bytes());
            let mut whole = (block.stopped || self.ended && (is_json || block.input.is_empty())) && !block.cut;
            match built.get("type").and_then(Value::as_str) {
                Some("text") => drop(built.insert("text".into(), block.text.clone().into())),
                Some("thinking") => drop(built.insert("thinking".into(), block.text.clone().into())),
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") if !block.input.is_empty() => {
                    // a reply that may not be longer ends where it is
                    whole &= is_json || self.stop_reason != "max_tokens";
                    let input = if whole || is_json {
                        decode_arguments(&block.input, issues)
                    } else {
                        block.input.clone().into()
                    };
                    let before = built.insert("input".into(), input);
                    if before.is_some_and(|before| {
                        before.as_object().is_some_and(|before| !before.is_empty()) && before != built["input"]
                    }) {
                        issues.add("tool_arguments_replaced");
                    }
                }
                Some("tool_use")
                    if !whole
                    // what was never seen is not an empty object
                    && built.get("input").and_then(Value::as_object).is_some_and(Map::is_empty) =>
                {
                    built.insert("input".into(), Value::Null);
                }
                _ => {}
            }
            if !whole {
                built.insert("partial".into(), true.into());
            }
            if block.after_end {
                built.insert(AFTER_END.into(), true.into());
            }
            content.push(Value::Object(built));
        }
        content
    }
}

impl ReplyStream for Stream {
    fn frame(&mut self, event: Option<&str>, data: &[u8]) {
        for (named, mut parsed) in typed_events(event, data, self.ended, &mut self.issues) {
            match named.as_deref() {
                _ if event == Some("error") && parsed.get("error").is_none() => {
                    self.event("error", &mut json!({"error": parsed}));
                }
                _ if parsed.get("error").is_some_and(Value::is_object) => self.event("error", &mut parsed),
                Some(kind) => self.event(kind, &mut parsed),
                None => self.issues.add("invalid_sse_chunk"),
            }
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn settled(&self) -> bool {
        self.ended || !self.stop_reason.is_null()
    }

    fn calls(&self) -> Vec<ToolCall> {
        if self.error.is_some() {
            return Vec::new();
        }
        let content = self.content(&mut Issues::default());
        let mut calls = calls(content.iter(), &["tool_use"]);
        calls.retain(|call| call.complete);
        calls
    }

    fn response_id(&self) -> Option<String> {
        self.message.get("id").and_then(Value::as_str).map(str::to_owned)
    }

    fn held(&self) -> usize {
        self.room.held()
    }

    fn finish(mut self: Box<Self>, _clean: bool) -> Reply {
        let mut issues = std::mem::take(&mut self.issues);
        let content = self.content(&mut issues);
        let mut response = std::mem::take(&mut self.message);
        response.insert("content".into(), content.into());
        response.insert("stop_reason".into(), self.stop_reason.take());
        if let Some(error) = self.error.take() {
            response.insert("error".into(), error);
        }
        let mut reply = MESSAGES.reply(Value::Object(response));
        if !self.ended {
            issues.add("missing_stream_end");
            reply.complete = false;
            reply.calls.iter_mut().for_each(|call| call.complete &= !reply.response["stop_reason"].is_null());
        }
        if self.room.exceeded {
            issues.add("capture_byte_limit");
        }
        reply.issues.merge(issues);
        reply
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
