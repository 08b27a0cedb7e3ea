//! OpenAI Responses: JSON replies and typed event streams.
//!
//! A stream's last event repeats the whole reply, so what is rebuilt from deltas counts only when that event is
//! missing. Items that carry a `call_id` are calls for the agent; other `…_call` items ran on the model's server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{body, decode_arguments, error_type, open_arguments, openai_error, text_of};

struct Responses;

/// `POST /responses`.
pub const RESPONSES: &dyn Protocol = &Responses;

impl Protocol for Responses {
    fn name(&self) -> &'static str {
        "openai_responses"
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn inspect(&self, bytes: &[u8]) -> Result<Head, &'static str> {
        if !body::is_json(bytes) {
            return Err("the request body is not JSON");
        }
        if let Some(fields) = body::fields(bytes) {
            let previous = fields.get("previous_response_id").and_then(|raw| body::read(raw));
            let stream = fields.get("stream").is_some_and(|raw| raw.get() == "true");
            // `input` may be text, or missing where a stored prompt or a conversation supplies it.
            let items = fields.get("input").and_then(|raw| body::items(raw)).unwrap_or_default();
            return Ok(head(stream, previous.as_ref(), items.into_iter().rev().map_while(body::read)));
        }
        let Ok(parsed) = body::parse(bytes) else { return Ok(Head::default()) };
        if !parsed.value.is_object() {
            return Err("the request body is not a JSON object");
        }
        let items = parsed.value.get("input").and_then(Value::as_array);
        Ok(head(
            parsed.value.get("stream") == Some(&Value::Bool(true)),
            parsed.value.get("previous_response_id"),
            items.into_iter().flatten().rev().cloned(),
        ))
    }

    fn open_request(&self, request: &mut Value, issues: &mut Issues) {
        for item in request.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten() {
            open_arguments(item, "arguments", issues);
        }
    }

    fn reply(&self, mut response: Value) -> Reply {
        let mut reply = Reply { id: text_of(&response, "id"), ..Reply::default() };
        let output = response.get_mut("output").and_then(Value::as_array_mut);
        let has_output = output.is_some();
        for (index, item) in (0..).zip(output.into_iter().flatten()) {
            let complete = !matches!(item.get("status").and_then(Value::as_str), Some("incomplete" | "in_progress"));
            open_arguments(item, "arguments", &mut reply.issues);
            match item_call(item, index, complete) {
                Some((call, true)) => reply.calls.push(call),
                Some((call, false)) => reply.server_calls.push(call),
                None => {}
            }
        }
        let status = response.get("status").and_then(Value::as_str).unwrap_or("completed").to_owned();
        reply.error = response.get("error").filter(|error| !error.is_null()).map(error_type);
        if reply.error.is_none() && matches!(status.as_str(), "failed" | "cancelled") {
            reply.error = Some(format!("response_{status}"));
        }
        if status == "incomplete" {
            reply.issues.add("response_incomplete");
        }
        if !has_output && reply.error.is_none() {
            reply.issues.add("unexpected_response");
        }
        reply.complete = reply.error.is_none() && !matches!(status.as_str(), "in_progress" | "queued");
        reply.response = response;
        reply
    }

    fn stream(&self, limit: usize) -> Box<dyn ReplyStream> {
        Box::new(Stream {
            room: Allowance::new(limit),
            items: BTreeMap::new(),
            start: Value::Null,
            end: None,
            error: None,
            issues: Issues::default(),
            ended: false,
        })
    }

    fn error(&self, status: u16, code: &str, message: &str) -> Value {
        openai_error(status, code, message)
    }
}

/// Reads input items from the last one back to what the model asked for last.
fn head(stream: bool, previous: Option<&Value>, from_last: impl Iterator<Item = Value>) -> Head {
    let mut head =
        Head { stream, previous_response: previous.and_then(Value::as_str).map(str::to_owned), ..Head::default() };
    for mut item in from_last {
        let kind = text_of(&item, "type").unwrap_or_else(|| "message".to_owned());
        if kind.ends_with("_output") {
            // Some clients put each result right behind its call, so results may stand on either side of calls.
            head.results.push(ToolResult {
                id: text_of(&item, "call_id").or_else(|| text_of(&item, "id")),
                name: None,
                content: item.get_mut("output").map(Value::take).unwrap_or_default(),
                is_error: None,
            });
            continue;
        }
        open_arguments(&mut item, "arguments", &mut Issues::default());
        if let Some((call, true)) = item_call(&item, 0, true) {
            head.history.push(call);
        } else if kind == "message" {
            let from_model = item.get("role").and_then(Value::as_str) == Some("assistant");
            let behind_results = !head.results.is_empty() || !head.history.is_empty();
            // Text that the model wrote along with its calls belongs to the same reply.
            if from_model && head.history.is_empty() || !from_model && behind_results {
                break;
            }
        }
    }
    head.results.reverse();
    head.history.reverse();
    head
}

/// The call that an output item is, and whether the agent is to execute it.
fn item_call(item: &Value, index: u64, complete: bool) -> Option<(ToolCall, bool)> {
    let kind = item.get("type")?.as_str()?;
    let bare = kind.strip_suffix("_call")?;
    let call_id = text_of(item, "call_id");
    let for_agent = call_id.is_some();
    let arguments =
        ["arguments", "input", "action", "operation", "queries", "code"].iter().find_map(|name| item.get(*name));
    let name = text_of(item, "name").unwrap_or_else(|| bare.to_owned());
    let call = ToolCall {
        choice: 0,
        index,
        id: call_id.or_else(|| text_of(item, "id")),
        name: Some(name),
        kind: bare.to_owned(),
        arguments: arguments.cloned().unwrap_or_default(),
        complete,
    };
    Some((call, for_agent))
}

struct Stream {
    room: Allowance,
    /// Output items by `output_index`, as far as they have come; texts grow in place.
    items: BTreeMap<u64, Partial>,
    start: Value,
    end: Option<Value>,
    error: Option<Value>,
    issues: Issues,
    ended: bool,
}

struct Partial {
    item: Value,
    text: String,
    arguments: String,
    done: bool,
}

/// About what a value takes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 8,
        Value::Array(items) => 8 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 8 + fields.iter().map(|(name, field)| name.len() + size(field)).sum::<usize>(),
        _ => 8,
    }
}

impl Stream {
    fn event(&mut self, kind: &str, event: &mut Value) {
        let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                let response = event["response"].take();
                // Instructions and tools repeat the request; the id and the model do not.
                let kept =
                    json!({"id": response["id"], "model": response["model"], "created_at": response["created_at"]});
                if self.start.is_null() && self.room.take(size(&kept)) {
                    self.start = kept;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.ended = true;
                let response = event["response"].take();
                // The deltas said the same; their room is free again.
                self.room = Allowance { exceeded: false, ..Allowance::new(self.room.limit) };
                if self.room.take(size(&response)) {
                    self.items.clear();
                    self.end = Some(response);
                } else if kind == "response.failed" {
                    self.error = Some(json!({"type": "response_failed"}));
                }
            }
            "error" => {
                self.ended = true;
                let error = event.get("error").filter(|error| error.is_object()).unwrap_or(event).clone();
                if self.room.take(size(&error)) {
                    self.error = Some(error);
                } else {
                    self.error = Some(json!({"type": "error"}));
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                let item = event["item"].take();
                if self.room.take(size(&item)) {
                    let done = kind.ends_with("done");
                    let partial = self.items.entry(at).or_insert_with(|| Partial {
                        item: Value::Null,
                        text: String::new(),
                        arguments: String::new(),
                        done,
                    });
                    partial.item = item;
                    partial.done = done;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(at, event, |partial| &mut partial.text)
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta" => {
                self.delta(at, event, |partial| &mut partial.arguments);
            }
            // Begin and end marks of parts, whose content the events above carry.
            _ => {}
        }
    }

    fn delta(&mut self, at: u64, event: &Value, field: fn(&mut Partial) -> &mut String) {
        if let (Some(partial), Some(text)) = (self.items.get_mut(&at), event.get("delta").and_then(Value::as_str)) {
            self.room.push(field(partial), text);
        }
    }

    /// The reply as far as deltas tell it.
    fn rebuilt(&self, issues: &mut Issues) -> Value {
        let mut response = json!({"object": "response", "status": "in_progress", "output": []});
        for name in ["id", "model", "created_at"] {
            if let Some(value) = self.start.get(name).filter(|value| !value.is_null()) {
                response[name] = value.clone();
            }
        }
        let mut output = Vec::new();
        for partial in self.items.values() {
            let mut item = partial.item.clone();
            if !partial.done && item.is_object() {
                item["status"] = "incomplete".into();
                if !partial.text.is_empty() {
                    item["content"] = json!([{"type": "output_text", "text": partial.text}]);
                }
                if !partial.arguments.is_empty() {
                    let name = if item["type"] == "custom_tool_call" { "input" } else { "arguments" };
                    let whole = body::is_json(partial.arguments.as_bytes());
                    item[name] = if whole {
                        decode_arguments(&partial.arguments, issues)
                    } else {
                        partial.arguments.clone().into()
                    };
                }
            }
            output.push(item);
        }
        response["output"] = output.into();
        response
    }
}

impl ReplyStream for Stream {
    fn frame(&mut self, event: Option<&str>, data: &[u8]) {
        // Some servers add the mark of the older protocol.
        if data.trim_ascii() == b"[DONE]" {
            return;
        }
        if self.ended {
            self.issues.add("data_after_done");
            return;
        }
        let text = String::from_utf8_lossy(data);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.issues.add("invalid_utf8");
        }
        match body::parse(text.as_bytes()) {
            Ok(mut parsed) if parsed.value.is_object() => {
                parsed.issues.into_iter().for_each(|issue| self.issues.add(issue));
                let named = text_of(&parsed.value, "type").or_else(|| event.map(str::to_owned));
                let kind = match named {
                    _ if event == Some("error") => "error".to_owned(),
                    None if parsed.value.get("error").is_some() => "error".to_owned(),
                    Some(kind) => kind,
                    None => return self.issues.add("invalid_sse_chunk"),
                };
                self.event(&kind, &mut parsed.value);
            }
            _ => self.issues.add("invalid_sse_chunk"),
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn calls(&self) -> Vec<ToolCall> {
        let mut calls = self.end.clone().map(|end| RESPONSES.reply(end).calls).unwrap_or_default();
        calls.retain(|call| call.complete);
        calls
    }

    fn response_id(&self) -> Option<String> {
        self.end.as_ref().and_then(|end| text_of(end, "id")).or_else(|| text_of(&self.start, "id"))
    }

    fn held(&self) -> usize {
        self.room.held()
    }

    fn finish(mut self: Box<Self>, _clean: bool) -> Reply {
        let mut issues = std::mem::take(&mut self.issues);
        let whole = self.end.take();
        let cut = whole.is_none();
        let mut response = whole.unwrap_or_else(|| self.rebuilt(&mut issues));
        if let Some(error) = self.error.take() {
            response["error"] = error;
        }
        let mut reply = RESPONSES.reply(response);
        if cut && !self.ended {
            issues.add("missing_stream_end");
        }
        if self.room.exceeded {
            issues.add("capture_byte_limit");
            // The end was seen, only not kept.
            reply.complete |= self.ended && reply.error.is_none();
        }
        reply.issues.merge(issues);
        reply
    }
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
