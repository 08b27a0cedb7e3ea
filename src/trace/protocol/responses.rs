//! OpenAI Responses: JSON replies and typed event streams.
//!
//! A stream says things up to four times: in deltas, in the event that ends them, in the event that ends their item, and
//! in the last event, which repeats the whole reply. Servers leave any of these out, or leave them empty, so all are
//! united by the call's id, the item's or its place; what came later counts, and nothing that came is taken away. Items
//! that carry a `call_id` are calls for the agent; other `…_call` items ran on the model's server.

use serde_json::{Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{body, check_calls, error_type, open_all_arguments, open_arguments, openai_error, text_of, typed_events};

struct Responses;

/// `POST /responses`.
pub const RESPONSES: &dyn Protocol = &Responses;

impl Protocol for Responses {
    fn name(&self) -> &'static str {
        "openai_responses"
    }

    fn paths(&self) -> &'static [&'static str] {
        &["/responses", "/openai/responses"]
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
            if !complete && text_of(item, "arguments").is_none() {
                // what was never seen is not an empty object
                if let Some(arguments) = item.get_mut("arguments").filter(|arguments| arguments.is_string()) {
                    arguments.take();
                }
            } else if item.get("type").and_then(Value::as_str) == Some("function_call") {
                open_all_arguments(item, "arguments", &mut reply.issues);
            } else {
                open_arguments(item, "arguments", &mut reply.issues);
            }
            match item_call(item, index, complete) {
                Some((call, true)) => reply.calls.push(call),
                Some((call, false)) => reply.server_calls.push(call),
                None => {}
            }
        }
        check_calls(&reply.calls, &mut reply.issues);
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
            items: Vec::new(),
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
    let asked = matches!(bare, "function" | "custom_tool");
    let for_agent = call_id.is_some() || asked;
    let arguments =
        ["arguments", "input", "action", "operation", "queries", "code"].iter().find_map(|name| item.get(*name));
    // The tools of a server are named after their items; a function has a name of its own, or none is known.
    let name = text_of(item, "name").or_else(|| (!asked).then(|| bare.to_owned()));
    let call = ToolCall {
        choice: 0,
        index,
        id: call_id.or_else(|| text_of(item, "id")),
        name,
        kind: bare.to_owned(),
        arguments: arguments.cloned().unwrap_or_default(),
        complete,
        after_end: item.get(AFTER_END).is_some(),
    };
    Some((call, for_agent))
}

/// Marks items of a rebuilt reply that came behind its end.
const AFTER_END: &str = "capture_after_end";

struct Stream {
    room: Allowance,
    /// Output items in the order they came.
    items: Vec<Partial>,
    start: Value,
    end: Option<Value>,
    error: Option<Value>,
    issues: Issues,
    ended: bool,
}

#[derive(Default)]
struct Partial {
    /// Its `output_index`.
    index: Option<u64>,
    item: Value,
    text: String,
    /// Its arguments so far.
    deltas: String,
    /// Its arguments by the last event that gave them whole.
    whole: Option<String>,
    done: bool,
    after_end: bool,
}

/// The field that a call's arguments stand in.
fn argument_field(item: &Value) -> &'static str {
    if item["type"] == "custom_tool_call" { "input" } else { "arguments" }
}

impl Partial {
    fn id(&self, name: &str) -> Option<&str> {
        self.item.get(name).and_then(Value::as_str).filter(|id| !id.is_empty())
    }

    fn is_call(&self) -> bool {
        self.item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call"))
    }

    /// Takes in the item as a later event has it; what that leaves empty stays.
    fn unite(&mut self, later: Value, issues: &mut Issues) {
        let Value::Object(later) = later else { return };
        let field = argument_field(&Value::Object(later.clone()));
        if !self.item.is_object() {
            self.item = json!({});
        }
        for (name, value) in later {
            let empty = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            if name == field {
                match &value {
                    Value::String(text) if !text.is_empty() => self.whole(text.clone(), issues),
                    Value::Object(_) => {
                        issues.add("tool_arguments_object");
                        self.whole(value.to_string(), issues);
                    }
                    _ => {}
                }
            }
            if !empty || self.item.get(&name).is_none() {
                self.item[name] = value;
            }
        }
    }

    /// Takes in whole arguments.
    fn whole(&mut self, text: String, issues: &mut Issues) {
        let differs = |one: &str| {
            let read = |text: &str| serde_json::from_str::<Value>(text).ok();
            one != text && (read(one).is_none() || read(one) != read(&text))
        };
        match &self.whole {
            Some(before) if differs(before) => {
                issues.add_named("tool_arguments_conflict", self.id("call_id").unwrap_or(""))
            }
            // pieces that are not all there contradict nothing
            None if !text.starts_with(&self.deltas) && differs(&self.deltas) => issues.add("tool_arguments_replaced"),
            _ => {}
        }
        self.whole = Some(text);
    }
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
                self.snapshot(kind, event["response"].take());
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
                if !item.is_object() {
                    self.issues.add("invalid_sse_chunk");
                } else if self.room.take(size(&item) + 64) {
                    let index = event.get("output_index").and_then(Value::as_u64);
                    let at = self.place(index, &item).unwrap_or_else(|| self.open(index));
                    let partial = &mut self.items[at];
                    partial.unite(item, &mut self.issues);
                    partial.done |= kind.ends_with("done");
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                if let (Some(at), Some(text)) = (self.place_of_event(event), event.get("delta").and_then(Value::as_str))
                {
                    self.room.push(&mut self.items[at].text, text);
                }
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta" => {
                let Some(text) = event.get("delta").and_then(Value::as_str) else { return };
                match self.place_of_event(event) {
                    Some(at) => drop(self.room.push(&mut self.items[at].deltas, text)),
                    None => self.issues.add("tool_arguments_unclaimed"),
                }
            }
            "response.function_call_arguments.done"
            | "response.custom_tool_call_input.done"
            | "response.mcp_call_arguments.done" => self.arguments_done(event),
            // Begin and end marks of parts, whose content the events above carry.
            _ => {}
        }
    }

    fn open(&mut self, index: Option<u64>) -> usize {
        self.items.push(Partial { index, after_end: self.ended, ..Partial::default() });
        self.items.len() - 1
    }

    /// The place of an item that has come before: by the call's id, the item's id, or its index.
    fn place(&self, index: Option<u64>, item: &Value) -> Option<usize> {
        let same = |name: &str| {
            let id = text_of(item, name)?;
            self.items.iter().rposition(|partial| partial.id(name) == Some(&id))
        };
        // two calls under one index are two
        let fits = |partial: &&Partial| {
            let agrees = |name: &str| match (partial.id(name), text_of(item, name)) {
                (Some(known), Some(new)) => known == new,
                _ => true,
            };
            agrees("call_id") && agrees("type")
        };
        let by_index = || {
            let index = index?;
            let at = self.items.iter().rposition(|partial| partial.index == Some(index))?;
            self.items.get(at).filter(fits).map(|_| at)
        };
        same("call_id").or_else(|| same("id").filter(|at| fits(&&self.items[*at]))).or_else(by_index)
    }

    /// The place of the item that an event belongs to. One that names none belongs to the last that is not done.
    fn place_of_event(&self, event: &Value) -> Option<usize> {
        let index = event.get("output_index").and_then(Value::as_u64);
        let id = text_of(event, "item_id");
        let by_id = id.and_then(|id| self.items.iter().rposition(|partial| partial.id("id") == Some(&id)));
        let by_index = || index.and_then(|index| self.items.iter().rposition(|partial| partial.index == Some(index)));
        by_id.or_else(by_index).or_else(|| match index {
            Some(_) => None,
            None => self.items.iter().rposition(|partial| !partial.done && partial.is_call()),
        })
    }

    fn arguments_done(&mut self, event: &Value) {
        let text = text_of(event, "arguments").or_else(|| text_of(event, "input"));
        let name = text_of(event, "name");
        let room = text.as_ref().map_or(0, String::len) + name.as_ref().map_or(0, String::len);
        let at = match self.place_of_event(event) {
            Some(at) => at,
            // the only word of a call is one of it all the same
            None if name.is_some() => {
                let at = self.open(event.get("output_index").and_then(Value::as_u64));
                self.items[at].item = json!({"type": "function_call", "id": event["item_id"], "arguments": ""});
                at
            }
            None => return self.issues.add("tool_arguments_unclaimed"),
        };
        if !self.room.take(room + 64) {
            return;
        }
        let partial = &mut self.items[at];
        if let Some(text) = text {
            partial.whole(text, &mut self.issues);
        }
        if let Some(name) = name.filter(|_| partial.id("name").is_none()) {
            partial.item["name"] = name.into();
        }
    }

    /// The last event, with the whole reply; or with less than that.
    fn snapshot(&mut self, kind: &str, mut response: Value) {
        self.ended = true;
        let output = response.get_mut("output").map(Value::take);
        if output.as_ref().is_some_and(|output| !output.is_array() && !output.is_null()) {
            self.issues.add("unexpected_response");
        }
        // Texts that are said once more need no room twice.
        let repeated = size(output.as_ref().unwrap_or(&Value::Null)) + size(&response);
        let calls = |partial: &Partial| {
            size(&partial.item) + partial.deltas.len() + partial.whole.as_ref().map_or(0, String::len)
        };
        let kept = self.items.iter().filter(|partial| partial.is_call()).map(calls).sum::<usize>();
        self.room = Allowance { exceeded: false, ..Allowance::new(self.room.limit) };
        if !self.room.take(kept + repeated) {
            if kind == "response.failed" {
                self.error = Some(json!({"type": "response_failed"}));
            }
            return;
        }
        let streamed = self.items.len();
        let mut met = vec![false; streamed];
        let items = match output {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        for (position, item) in (0..).zip(items) {
            let place = self.place(Some(position), &item).filter(|at| !met.get(*at).is_some_and(|met| *met));
            let at = place.unwrap_or_else(|| self.open(Some(position)));
            if let Some(met) = met.get_mut(at) {
                *met = true;
            }
            let partial = &mut self.items[at];
            partial.after_end &= at < streamed;
            partial.unite(item, &mut self.issues);
            partial.done = true;
        }
        if met.iter().any(|met| !met) {
            self.issues.add("response_items_missing");
        }
        if response.is_object() {
            self.end = Some(response);
        } else {
            self.issues.add("unexpected_response");
        }
    }

    /// The reply as all events tell it.
    fn rebuilt(&self) -> Value {
        let mut response = match &self.end {
            Some(end) => end.clone(),
            None => json!({"object": "response", "status": if self.ended { "completed" } else { "in_progress" }}),
        };
        for name in ["id", "model", "created_at"] {
            if let Some(value) = self.start.get(name).filter(|value| !value.is_null() && response[name].is_null()) {
                response[name] = value.clone();
            }
        }
        let mut order: Vec<&Partial> = self.items.iter().collect();
        order.sort_by_key(|partial| partial.index.unwrap_or(u64::MAX));
        response["output"] = order.into_iter().map(|partial| self.shown(partial)).collect();
        response
    }

    fn shown(&self, partial: &Partial) -> Value {
        let mut item = partial.item.clone();
        if !item.is_object() {
            return item;
        }
        if partial.is_call() {
            let arguments = partial.whole.as_ref().unwrap_or(&partial.deltas);
            let field = argument_field(&item);
            if !arguments.is_empty() {
                item[field] = arguments.as_str().into();
            }
            let is_json = field == "input" || body::is_json(arguments.as_bytes());
            let whole = partial.done || partial.whole.is_some() || self.ended && !arguments.is_empty() && is_json;
            match item.get("status").and_then(Value::as_str) {
                Some("in_progress") | None if whole => item["status"] = "completed".into(),
                _ if !whole => item["status"] = "incomplete".into(),
                _ => {}
            }
        } else if !partial.done {
            item["status"] = "incomplete".into();
            if !partial.text.is_empty() && item["content"].as_array().is_none_or(Vec::is_empty) {
                item["content"] = json!([{"type": "output_text", "text": partial.text}]);
            }
        }
        if partial.after_end {
            item[AFTER_END] = true.into();
        }
        item
    }
}

impl ReplyStream for Stream {
    fn frame(&mut self, event: Option<&str>, data: &[u8]) {
        for (named, mut parsed) in typed_events(event, data, self.ended, &mut self.issues) {
            let kind = match named {
                _ if event == Some("error") => "error".to_owned(),
                None if parsed.get("error").is_some() => "error".to_owned(),
                Some(kind) => kind,
                None => {
                    self.issues.add("invalid_sse_chunk");
                    continue;
                }
            };
            self.event(&kind, &mut parsed);
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn settled(&self) -> bool {
        self.ended
    }

    fn calls(&self) -> Vec<ToolCall> {
        let mut calls = RESPONSES.reply(self.rebuilt()).calls;
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
        let mut response = self.rebuilt();
        if let Some(error) = self.error.take() {
            response["error"] = error;
        }
        let mut reply = RESPONSES.reply(response);
        if !self.ended {
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
