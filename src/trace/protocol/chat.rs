//! OpenAI Chat Completions: JSON replies and streams of deltas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{
    body, check_calls, decode_arguments, error_type, inspect_messages, lenient, open_all_arguments, open_arguments,
    openai_error, text_of,
};

struct ChatCompletions;

/// `POST /chat/completions`.
pub const CHAT_COMPLETIONS: &dyn Protocol = &ChatCompletions;

impl Protocol for ChatCompletions {
    fn name(&self) -> &'static str {
        "openai_chat_completions"
    }

    fn paths(&self) -> &'static [&'static str] {
        // the last three as Azure has them, which names the model in the path
        &[
            "/chat/completions",
            "/engines/{}/chat/completions",
            "/deployments/{}/chat/completions",
            "/openai/deployments/{}/chat/completions",
        ]
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
                open_reply(message, &mut issues);
                calls.extend(message_calls(message, number));
            }
            check_reason(reason.as_deref(), calls.len() > before, &mut issues);
        }
        check_calls(&calls, &mut issues);
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

/// The same of a reply, in which calls may stand as they should not.
fn open_reply(message: &mut Value, issues: &mut Issues) {
    if let Some(calls) = message.get_mut("tool_calls")
        && calls.is_object()
    {
        issues.add("tool_calls_not_array");
        *calls = Value::Array(vec![calls.take()]);
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(function) = call.get_mut("function") {
            open_all_arguments(function, "arguments", issues);
        } else if call.get("custom").is_none() {
            issues.add_named("non_function_tool_not_reconstructed", &text_of(call, "type").unwrap_or_default());
        }
    }
    if let Some(function) = message.get_mut("function_call").filter(|function| function.is_object()) {
        issues.add("legacy_function_call");
        open_all_arguments(function, "arguments", issues);
    }
}

/// The calls of a message whose arguments are decoded.
fn message_calls(message: &Value, choice: u64) -> Vec<ToolCall> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let legacy = message.get("function_call").filter(|function| function.is_object());
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
            after_end: false,
        }
    };
    let mut calls: Vec<ToolCall> = (0..).zip(calls.into_iter().flatten()).map(call).collect();
    // the older way to ask for one call, which has no id
    calls.extend(legacy.map(|function| ToolCall {
        choice,
        index: calls.len() as u64,
        id: None,
        name: text_of(function, "name"),
        kind: LEGACY.to_owned(),
        arguments: function.get("arguments").cloned().unwrap_or_default(),
        complete: true,
        after_end: false,
    }));
    calls
}

/// The kind of a call by the older way.
const LEGACY: &str = "function_call";

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
    kind: &'static str,
    cut: bool,
    after_end: bool,
}

impl Call {
    /// Whether its arguments are all there: nothing that is sent under its index can belong to it any more.
    fn is_whole(&self) -> bool {
        self.arguments.trim_start().starts_with('{') && body::is_json(self.arguments.as_bytes())
    }
}

#[derive(Default)]
struct Choice {
    role: Option<String>,
    content: Option<String>,
    refusal: Option<String>,
    calls: Vec<Call>,
    legacy: Option<Call>,
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
        // Some servers send the whole message in a chunk.
        let delta = choice.get("delta").and_then(Value::as_object).filter(|delta| !delta.is_empty());
        let whole = choice.get("message").and_then(Value::as_object).filter(|_| delta.is_none());
        if whole.is_some() {
            self.issues.add("message_in_chunk");
        }
        let Some(delta) = delta.or(whole) else { return };
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
                    for (position, delta) in (0..).zip(deltas) {
                        let index = whole.map(|_| position);
                        call_delta(state, delta, index, self.done, &mut self.room, &mut self.issues);
                    }
                }
                ("tool_calls", Value::Object(_)) => {
                    self.issues.add("tool_calls_not_array");
                    call_delta(state, value, None, self.done, &mut self.room, &mut self.issues);
                }
                ("function_call", Value::Object(_)) => {
                    if state.legacy.is_none() && self.room.take(64) {
                        self.issues.add("legacy_function_call");
                        state.legacy = Some(Call { kind: LEGACY, after_end: self.done, ..Call::default() });
                    }
                    if let Some(call) = &mut state.legacy {
                        call_body(call, value, &mut self.room, &mut self.issues);
                    }
                }
                _ => self.issues.add_named("unsupported_delta_fields", name),
            }
        }
    }

    fn whole_calls(&self, issues: &mut Issues) -> Vec<ToolCall> {
        let mut all = Vec::new();
        for (&number, choice) in &self.choices {
            let mut calls: Vec<&Call> = choice.calls.iter().collect();
            calls.sort_by_key(|call| call.index);
            // By ids that repeat an index is no place, and there is no gap.
            if calls.iter().zip(0..).any(|(call, place)| call.index > place) {
                issues.add("tool_index_gap");
            }
            calls.extend(&choice.legacy);
            let limited = matches!(choice.finish_reason.as_deref(), Some("length" | "content_filter"));
            for (index, call) in (0..).zip(calls) {
                let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
                let finished = self.done || choice.finish_reason.is_some();
                let free = call.kind == "custom";
                let is_json = free || body::is_json(call.arguments.as_bytes());
                let complete = finished && !call.cut && self.error.is_none() && (is_json || !limited);
                let arguments = match call.arguments.as_str() {
                    "" if !complete => Value::Null,
                    text if free => text.into(),
                    text if complete || is_json => decode_arguments(text, issues),
                    text => text.into(),
                };
                all.push(ToolCall {
                    choice: number,
                    index,
                    id: text(&call.id),
                    name: text(&call.name),
                    kind: call.kind.to_owned(),
                    arguments,
                    complete,
                    after_end: call.after_end,
                });
            }
        }
        all
    }
}

/// Adds one tool call delta to the call it belongs to. `place` is its index where its own does not count.
fn call_delta(
    state: &mut Choice,
    delta: &Value,
    place: Option<u64>,
    done: bool,
    room: &mut Allowance,
    issues: &mut Issues,
) {
    let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default();
    let custom = delta.get("custom").filter(|custom| custom.is_object());
    let (kind, part) = match (kind, custom) {
        ("function" | "", None) => ("function", delta.get("function")),
        ("custom" | "", custom) => ("custom", custom),
        (other, _) => return issues.add_named("non_function_tool_not_reconstructed", other),
    };
    let id = delta.get("id").and_then(Value::as_str).unwrap_or_default();
    let Some(at) = call_of(state, delta, part, place, room, issues) else { return };
    let Some(call) = state.calls.get_mut(at) else { return };
    if call.kind.is_empty() {
        call.kind = kind;
        call.after_end = done;
    }
    if call.id.is_empty() {
        call.cut |= !room.push(&mut call.id, id);
    }
    for (name, value) in delta.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "index" | "id" | "type" | "function" | "custom") && !value.is_null() {
            issues.add_named("unsupported_delta_fields", &format!("tool_calls.{name}"));
        }
    }
    if let Some(part) = part {
        call_body(call, part, room, issues);
    }
}

/// The place of the call that a delta belongs to, which may be a new one.
fn call_of(
    state: &mut Choice,
    delta: &Value,
    part: Option<&Value>,
    place: Option<u64>,
    room: &mut Allowance,
    issues: &mut Issues,
) -> Option<usize> {
    let id = delta.get("id").and_then(Value::as_str).unwrap_or_default();
    let named = part.is_some_and(|part| text_of(part, "name").is_some());
    let of_id = |calls: &[Call]| calls.iter().rposition(|call| !id.is_empty() && call.id == id);
    // another call under the index of one that is whole: without ids, its name tells
    let begins = |call: &Call| match id {
        "" => named && call.is_whole(),
        id => !call.id.is_empty() && call.id != id,
    };
    let index = match delta.get("index") {
        _ if place.is_some() => place,
        Some(Value::String(text)) if text.parse::<u64>().is_ok() => {
            issues.add("tool_call_index_not_number");
            text.parse().ok()
        }
        index => index.and_then(Value::as_u64),
    };
    let Some(index) = index else {
        issues.add("tool_call_index_missing");
        let last = state.calls.len().checked_sub(1).filter(|at| !begins(&state.calls[*at]));
        return of_id(&state.calls).or(last).or_else(|| {
            let next = state.calls.iter().map(|call| call.index.saturating_add(1)).max().unwrap_or(0);
            open_call(state, next, room)
        });
    };
    match state.calls.iter().rposition(|call| call.index == index) {
        Some(at) if begins(&state.calls[at]) => {
            issues.add("tool_call_index_reused");
            let known = state.calls.iter().rposition(|call| call.index == index && !id.is_empty() && call.id == id);
            known.or_else(|| open_call(state, index, room))
        }
        Some(at) => Some(at),
        // A piece of arguments without a name of its own continues the call that waits for it.
        None if id.is_empty() && !named && !state.calls.is_empty() => {
            issues.add("tool_call_index_strayed");
            let waiting = state.calls.iter().rposition(|call| !call.is_whole());
            if waiting.is_none() {
                issues.add("tool_arguments_unclaimed");
            }
            waiting
        }
        None => open_call(state, index, room),
    }
}

/// Takes in the name and the arguments of a call, or a part of them.
fn call_body(call: &mut Call, part: &Value, room: &mut Allowance, issues: &mut Issues) {
    let name = part.get("name").and_then(Value::as_str).unwrap_or_default();
    if call.name.is_empty() {
        call.cut |= !room.push(&mut call.name, name);
    } else if name == call.name {
        issues.add("tool_name_repeated");
    } else if !name.is_empty() {
        issues.add("tool_name_conflict");
    }
    match part.get("arguments").or_else(|| part.get("input")) {
        Some(Value::String(text)) => {
            // the whole call once more, at the end of its pieces
            let again = !name.is_empty()
                && !text.is_empty()
                && call.is_whole()
                && (*text == call.arguments
                    || serde_json::from_str::<String>(text).is_ok_and(|inner| inner == call.arguments));
            if again {
                issues.add("tool_arguments_repeated");
            } else {
                call.cut |= !room.push(&mut call.arguments, text);
            }
        }
        // Some servers send the arguments whole, as an object.
        Some(object @ Value::Object(_)) => {
            issues.add("tool_arguments_object");
            call.cut |= !room.push(&mut call.arguments, &object.to_string());
        }
        _ => {}
    }
}

/// A call as replies hold it.
fn shown(call: &ToolCall) -> Value {
    let ToolCall { id, name, kind, arguments, .. } = call;
    match kind.as_str() {
        "custom" => json!({"id": id, "type": kind, "custom": {"name": name, "input": arguments}}),
        _ => json!({"id": id, "type": kind, "function": {"name": name, "arguments": arguments}}),
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
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        if self.done {
            // Not dropped: there are clients that read on.
            self.issues.add("data_after_done");
        }
        let mut issues = std::mem::take(&mut self.issues);
        let mut chunks = Vec::new();
        lenient::frame(data, &mut issues, |chunk, _| chunks.push(chunk));
        self.issues = issues;
        for mut chunk in chunks {
            if event == Some("error") && chunk.get("error").is_none() {
                chunk = json!({"error": chunk});
            }
            match &mut chunk {
                Value::Object(chunk) => self.chunk(chunk),
                _ => self.issues.add("invalid_sse_chunk"),
            }
        }
    }

    fn ended(&self) -> bool {
        self.done
    }

    fn settled(&self) -> bool {
        let reasons = || self.choices.values().map(|choice| choice.finish_reason.is_some());
        self.done || reasons().len() > 0 && reasons().all(|given| given)
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
        check_calls(&calls, &mut issues);
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
            let (legacy, own): (Vec<&ToolCall>, Vec<&ToolCall>) = own.iter().partition(|call| call.kind == LEGACY);
            if !own.is_empty() {
                message["tool_calls"] = own.iter().map(|call| shown(call)).collect();
            }
            if let Some(call) = legacy.first() {
                message["function_call"] = json!({"name": call.name, "arguments": call.arguments});
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
