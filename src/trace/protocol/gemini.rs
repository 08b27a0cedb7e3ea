//! Gemini's `generateContent`: JSON replies and streams of partial replies.
//!
//! The model stands in the path, and so does whether the reply is to be a stream. A stream is a row of replies, each with
//! the parts that are new: as events, or, where the client did not ask for them, as one JSON array. A call comes whole, or
//! in pieces that each say by a path where in the arguments they belong. There is no end mark: a reply ends with the
//! `finishReason` of each of its candidates.

use serde_json::{Map, Value, json};

use super::{Allowance, Head, Issues, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
use super::{body, check_calls, decode_arguments, inspect_listed, lenient, text_of};

struct GenerateContent;

/// `POST /models/{model}:generateContent` and `:streamGenerateContent`.
pub const GENERATE_CONTENT: &dyn Protocol = &GenerateContent;

/// Marks parts of a rebuilt reply that came behind its end.
const AFTER_END: &str = "capture_after_end";

impl Protocol for GenerateContent {
    fn name(&self) -> &'static str {
        "gemini_generate_content"
    }

    fn paths(&self) -> &'static [&'static str] {
        // the last four as Vertex AI has them
        &[
            "/models/{}:generateContent",
            "/models/{}:streamGenerateContent",
            "/tunedModels/{}:generateContent",
            "/tunedModels/{}:streamGenerateContent",
            "/publishers/{}/models/{}:generateContent",
            "/publishers/{}/models/{}:streamGenerateContent",
            "/projects/{}/locations/{}/publishers/{}/models/{}:generateContent",
            "/projects/{}/locations/{}/publishers/{}/models/{}:streamGenerateContent",
        ]
    }

    fn inspect(&self, bytes: &[u8]) -> Result<Head, &'static str> {
        inspect_listed(bytes, "contents", "the request has no 'contents' array", head)
    }

    /// Arguments are objects here already.
    fn open_request(&self, _request: &mut Value, _issues: &mut Issues) {}

    fn reply(&self, response: Value) -> Reply {
        match response {
            // a stream whose client asked for no events
            Value::Array(parts) => {
                let mut stream = Stream::new(usize::MAX);
                parts.into_iter().for_each(|part| stream.piece(part));
                Box::new(stream).finish(true)
            }
            response => whole(response),
        }
    }

    fn stream(&self, limit: usize) -> Box<dyn ReplyStream> {
        Box::new(Stream::new(limit))
    }

    fn error(&self, status: u16, code: &str, message: &str) -> Value {
        let word = match status {
            400 | 408 | 413 => "INVALID_ARGUMENT",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            502 | 503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "FAILED_PRECONDITION",
        };
        json!({"error": {"code": status, "message": message, "status": word, "details": [{"reason": code}]}})
    }
}

/// Reads contents from the last one back to the last reply, which a client may keep in as many pieces as it came in.
fn head(stream: bool, from_last: &mut dyn Iterator<Item = Value>) -> Head {
    let mut head = Head { stream, ..Head::default() };
    let mut history = Vec::new();
    let mut in_reply = false;
    for mut content in from_last {
        let from_model = content.get("role").and_then(Value::as_str) == Some("model");
        if in_reply && !from_model {
            break;
        }
        let parts = content.get_mut("parts").and_then(Value::as_array_mut);
        if from_model {
            in_reply = true;
            let mut issues = Issues::default();
            let calls = parts.into_iter().flatten().filter_map(|part| call_of(part, 0, 0, &mut issues));
            let calls: Vec<ToolCall> = calls.collect();
            history.extend(calls.into_iter().rev());
            continue;
        }
        for part in parts.into_iter().flatten().rev() {
            if let Some(answer) = either_mut(part, "functionResponse", "function_response") {
                head.results.push(result_of(answer));
            }
        }
    }
    history.reverse();
    head.history = history;
    head.results.reverse();
    name_calls(&head.history, &mut head.results);
    head
}

/// Clients leave the id of a result out: such results answer the calls of their tool, one after the other.
fn name_calls(history: &[ToolCall], results: &mut [ToolResult]) {
    let mut open: Vec<&ToolCall> = history.iter().collect();
    open.retain(|call| call.id.is_some() && !results.iter().any(|result| result.id == call.id));
    for result in results.iter_mut().filter(|result| result.id.is_none()) {
        if let Some(at) = open.iter().position(|call| call.name == result.name) {
            result.id.clone_from(&open.remove(at).id);
        }
    }
}

fn result_of(answer: &mut Value) -> ToolResult {
    let content = answer.get_mut("response").map(Value::take).unwrap_or_default();
    // what a tool returned stands under `output`, why it failed under `error`
    let failed = content.get("error").is_some_and(|error| !error.is_null()) && content.get("output").is_none();
    ToolResult {
        id: text_of(answer, "id"),
        name: text_of(answer, "name"),
        content: match answer.get_mut("parts").map(Value::take) {
            Some(parts) if parts.as_array().is_some_and(|parts| !parts.is_empty()) => {
                json!({"response": content, "parts": parts})
            }
            _ => content,
        },
        is_error: failed.then_some(true),
    }
}

/// A member by its name in JSON or by that in the protocol's own definition, both of which servers take.
fn either<'v>(value: &'v Value, name: &str, other: &str) -> Option<&'v Value> {
    value.get(name).or_else(|| value.get(other))
}

fn either_mut<'v>(value: &'v mut Value, name: &str, other: &str) -> Option<&'v mut Value> {
    let name = if value.get(name).is_some() { name } else { other };
    value.get_mut(name)
}

/// The call that a part asks the agent for.
fn call_of(part: &Value, choice: u64, index: u64, issues: &mut Issues) -> Option<ToolCall> {
    let call = either(part, "functionCall", "function_call")?;
    if !call.is_object() {
        issues.add("unexpected_response");
        return None;
    }
    let complete = part.get("partial").is_none();
    let arguments = match call.get("args") {
        Some(Value::String(text)) => decode_arguments(text, issues),
        Some(args) if !args.is_null() => args.clone(),
        // an empty object is left out on the wire; one that never came is not empty
        _ if complete => json!({}),
        _ => Value::Null,
    };
    Some(ToolCall {
        choice,
        index,
        id: text_of(call, "id"),
        name: text_of(call, "name"),
        kind: "function".to_owned(),
        arguments,
        complete,
        after_end: part.get(AFTER_END).is_some(),
    })
}

/// The call that a part says the model's server ran.
fn server_call_of(part: &Value, choice: u64, index: u64) -> Option<ToolCall> {
    let code = either(part, "executableCode", "executable_code");
    let (call, name, arguments) = match code {
        Some(code) => (code, Some("code_execution".to_owned()), code.clone()),
        None => {
            let call = either(part, "toolCall", "tool_call")?;
            let name = either(call, "toolType", "tool_type").and_then(Value::as_str).map(str::to_ascii_lowercase);
            (call, name, call.get("args").cloned().unwrap_or_else(|| json!({})))
        }
    };
    Some(server_call(choice, index, text_of(call, "id"), name, arguments))
}

fn server_call(choice: u64, index: u64, id: Option<String>, name: Option<String>, arguments: Value) -> ToolCall {
    let kind = "server_tool".to_owned();
    ToolCall { choice, index, id, name, kind, arguments, complete: true, after_end: false }
}

/// Reads a reply that is one object.
fn whole(response: Value) -> Reply {
    let mut reply = Reply { id: text_of(&response, "responseId"), ..Reply::default() };
    let no_list = |value: Option<&Value>| value.is_some_and(|value| !value.is_array() && !value.is_null());
    let candidates = response.get("candidates");
    if no_list(candidates) {
        reply.issues.add("unexpected_response");
    }
    let candidates = candidates.and_then(Value::as_array);
    for (position, candidate) in (0..).zip(candidates.into_iter().flatten()) {
        let choice = candidate.get("index").and_then(Value::as_u64).unwrap_or(position);
        let before = reply.calls.len();
        let parts = candidate.get("content").and_then(|content| content.get("parts"));
        if no_list(parts) {
            reply.issues.add("unexpected_response");
        }
        let parts = parts.and_then(Value::as_array);
        let (mut asked, mut ran) = (0, 0);
        for part in parts.into_iter().flatten() {
            if let Some(call) = call_of(part, choice, asked, &mut reply.issues) {
                asked += 1;
                reply.calls.push(call);
            } else if let Some(call) = server_call_of(part, choice, ran) {
                ran += 1;
                reply.server_calls.push(call);
            }
        }
        let queries = candidate.get("groundingMetadata").and_then(|found| found.get("webSearchQueries"));
        if let Some(queries) = queries.filter(|queries| queries.as_array().is_some_and(|queries| !queries.is_empty())) {
            let name = Some("google_search".to_owned());
            reply.server_calls.push(server_call(choice, ran, None, name, json!({"queries": queries})));
        }
        let malformed = candidate.get("finishReason").and_then(Value::as_str) == Some("MALFORMED_FUNCTION_CALL");
        if malformed && reply.calls.len() > before {
            // the server says that there is no call, and there is one
            reply.issues.add("finish_reason_mismatch");
        }
    }
    check_calls(&reply.calls, &mut reply.issues);
    reply.error = response.get("error").filter(|error| !error.is_null()).map(error_type);
    // an empty list is left out on the wire
    let known = ["candidates", "promptFeedback", "usageMetadata", "responseId"];
    if reply.error.is_none() && !known.iter().any(|name| response.get(*name).is_some()) {
        reply.issues.add("unexpected_response");
    }
    reply.complete = reply.error.is_none();
    reply.response = response;
    reply
}

fn error_type(error: &Value) -> String {
    let code = || error.get("code").filter(|code| code.is_number()).map(Value::to_string);
    text_of(error, "status").or_else(code).unwrap_or_else(|| "error".to_owned())
}

/// The items of a list of a piece; what stands in its place all the same is not read.
fn listed(value: Value, issues: &mut Issues) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        Value::Null => None,
        _ => {
            issues.add("invalid_sse_chunk");
            None
        }
    }
}

/// One part of a candidate so far.
#[derive(Default)]
struct Part {
    /// The part, without what is gathered below.
    fields: Map<String, Value>,
    text: Option<String>,
    call: Option<Call>,
    after_end: bool,
}

/// A call so far.
#[derive(Default)]
struct Call {
    id: Option<String>,
    name: Option<String>,
    args: Value,
    /// More pieces will come.
    open: bool,
    /// The text that the next piece for this path continues.
    open_path: Option<String>,
    cut: bool,
}

#[derive(Default)]
struct Candidate {
    index: u64,
    parts: Vec<Part>,
    finish: Option<String>,
    rest: Map<String, Value>,
}

struct Stream {
    room: Allowance,
    top: Map<String, Value>,
    candidates: Vec<Candidate>,
    error: Option<Value>,
    issues: Issues,
}

impl Stream {
    fn new(limit: usize) -> Self {
        Self {
            room: Allowance::new(limit),
            top: Map::new(),
            candidates: Vec::new(),
            error: None,
            issues: Issues::default(),
        }
    }

    /// Takes in one partial reply.
    fn piece(&mut self, piece: Value) {
        let Value::Object(piece) = piece else { return self.issues.add("invalid_sse_chunk") };
        for (name, value) in piece {
            match name.as_str() {
                "candidates" => {
                    let Some(candidates) = listed(value, &mut self.issues) else { continue };
                    for (position, candidate) in (0..).zip(candidates) {
                        self.candidate(position, candidate);
                    }
                }
                "error" if !value.is_null() && self.error.is_none() => {
                    let fits = self.room.take(value.to_string().len());
                    self.error = Some(if fits { value } else { json!({"status": "error"}) });
                }
                "responseId" | "modelVersion" | "createTime" => {
                    let length = value.as_str().map_or(0, str::len);
                    if length > 0 && !self.top.contains_key(&name) && self.room.take(length) {
                        self.top.insert(name, value);
                    }
                }
                // each piece counts anew
                "usageMetadata" | "promptFeedback" => {
                    if self.top.contains_key(&name) || self.room.take(512) {
                        let fits = value.to_string().len() <= 512 || self.room.take(value.to_string().len());
                        if fits {
                            self.top.insert(name, value);
                        }
                    }
                }
                _ => self.issues.add_named("unsupported_event", &name),
            }
        }
    }

    fn candidate(&mut self, position: u64, candidate: Value) {
        let index = candidate.get("index").and_then(Value::as_u64).unwrap_or(position);
        let Value::Object(fields) = candidate else { return self.issues.add("invalid_sse_chunk") };
        let at = match self.candidates.iter().position(|known| known.index == index) {
            Some(at) => at,
            // Each number takes room, so that a stream of invented candidates stays bounded.
            None if self.room.take(64) => {
                self.candidates.push(Candidate { index, ..Candidate::default() });
                self.candidates.len() - 1
            }
            None => return,
        };
        let Some(state) = self.candidates.get_mut(at) else { return };
        let after_end = state.finish.is_some();
        for (name, mut value) in fields {
            match name.as_str() {
                "index" => {}
                "content" => {
                    let parts = value.get_mut("parts").map(Value::take).unwrap_or_default();
                    let Some(parts) = listed(parts, &mut self.issues) else { continue };
                    if after_end && !parts.is_empty() {
                        self.issues.add("data_after_done");
                    }
                    for part in parts {
                        state.part(part, after_end, &mut self.room, &mut self.issues);
                    }
                }
                "finishReason" => {
                    // Kept also where the copy's limit is reached: how a reply ended fits into what its candidate took.
                    let reason = value.as_str().filter(|reason| !reason.is_empty());
                    state.finish = reason.map(|reason| reason.chars().take(32).collect()).or(state.finish.take());
                }
                "finishMessage" | "safetyRatings" | "citationMetadata" | "groundingMetadata" | "urlContextMetadata"
                | "tokenCount" => {
                    if self.room.take(name.len() + value.to_string().len()) {
                        state.rest.insert(name, value);
                    }
                }
                _ => self.issues.add_named("unsupported_choice_fields", &name),
            }
        }
    }

    /// What came so far, as one reply.
    fn united(&self) -> Map<String, Value> {
        let mut response = self.top.clone();
        let candidates = self.candidates.iter().map(|candidate| {
            let parts: Vec<Value> = candidate.parts.iter().map(Part::shown).collect();
            let mut shown = candidate.rest.clone();
            shown.insert("index".into(), candidate.index.into());
            shown.insert("content".into(), json!({"role": "model", "parts": parts}));
            shown.insert("finishReason".into(), json!(candidate.finish));
            Value::Object(shown)
        });
        let candidates: Vec<Value> = candidates.collect();
        if !candidates.is_empty() {
            response.insert("candidates".into(), candidates.into());
        }
        response
    }
}

impl Part {
    fn shown(&self) -> Value {
        let mut shown = self.fields.clone();
        if let Some(text) = &self.text {
            shown.insert("text".into(), text.clone().into());
        }
        if let Some(call) = &self.call {
            let partial = call.open || call.cut;
            let mut fields = Map::new();
            for (name, value) in [("id", &call.id), ("name", &call.name)] {
                if let Some(value) = value {
                    fields.insert(name.into(), value.clone().into());
                }
            }
            if !call.args.is_null() {
                fields.insert("args".into(), call.args.clone());
            }
            shown.insert("functionCall".into(), fields.into());
            if partial {
                shown.insert("partial".into(), true.into());
            }
        }
        if self.after_end {
            shown.insert(AFTER_END.into(), true.into());
        }
        Value::Object(shown)
    }

    /// Whether a further piece of text with these fields belongs to it.
    fn goes_on(&self, fields: &Map<String, Value>, after_end: bool) -> bool {
        let thought = |fields: &Map<String, Value>| fields.get("thought") == Some(&Value::Bool(true));
        self.text.is_some() && self.after_end == after_end && thought(&self.fields) == thought(fields)
    }
}

/// What fields take.
fn size(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.to_string().len()).sum()
}

impl Candidate {
    fn part(&mut self, part: Value, after_end: bool, room: &mut Allowance, issues: &mut Issues) {
        let Value::Object(mut fields) = part else { return issues.add("invalid_sse_chunk") };
        let call = fields.remove("functionCall").or_else(|| fields.remove("function_call"));
        if let Some(call) = call {
            return self.call(call, fields, after_end, room, issues);
        }
        if let Some(Value::String(text)) = fields.remove("text") {
            let known = self.parts.last_mut().filter(|last| last.goes_on(&fields, after_end));
            if let Some(Part { text: Some(so_far), fields: known, .. }) = known {
                room.push(so_far, &text);
                if let Some(signature) = fields.remove("thoughtSignature")
                    && room.take(signature.as_str().map_or(8, str::len))
                {
                    known.insert("thoughtSignature".into(), signature);
                }
            } else if room.take(64 + text.len() + size(&fields)) {
                self.parts.push(Part { fields, text: Some(text), after_end, ..Part::default() });
            }
        } else if room.take(64 + size(&fields)) {
            self.parts.push(Part { fields, after_end, ..Part::default() });
        }
    }

    /// A call, or a piece of one.
    fn call(
        &mut self,
        mut piece: Value,
        fields: Map<String, Value>,
        after_end: bool,
        room: &mut Allowance,
        issues: &mut Issues,
    ) {
        if !piece.is_object() {
            return issues.add("invalid_sse_chunk");
        }
        let (id, name) = (text_of(&piece, "id"), text_of(&piece, "name"));
        let goes_on = piece.get("willContinue") == Some(&Value::Bool(true));
        let args = piece.get_mut("args").map(Value::take).unwrap_or_default();
        let pieces = piece.get_mut("partialArgs").map(Value::take).unwrap_or_default();
        let continues = |call: &Call| {
            let same = |known: &Option<String>, new: &Option<String>| new.is_none() || known == new;
            call.open && args.is_null() && same(&call.id, &id) && same(&call.name, &name)
        };
        let known = self.parts.iter().rposition(|part| part.call.as_ref().is_some_and(continues));
        let at = match known {
            Some(at) => at,
            None if name.is_none() && args.is_null() => {
                // the end of no call, or pieces of none
                if pieces.as_array().is_some_and(|pieces| !pieces.is_empty()) {
                    issues.add("tool_arguments_unclaimed");
                }
                return;
            }
            None => {
                let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                if !room.take(64 + length(&id) + length(&name) + args.to_string().len() + size(&fields)) {
                    return;
                }
                let call = Call { id, name, args, ..Call::default() };
                self.parts.push(Part { fields, call: Some(call), after_end, ..Part::default() });
                self.parts.len() - 1
            }
        };
        let Some(call) = self.parts.get_mut(at).and_then(|part| part.call.as_mut()) else { return };
        call.open = goes_on;
        for piece in pieces.as_array().into_iter().flatten() {
            call.argument(piece, room, issues);
        }
    }
}

impl Call {
    /// Puts a piece of the arguments in its place.
    fn argument(&mut self, piece: &Value, room: &mut Allowance, issues: &mut Issues) {
        let path = either(piece, "jsonPath", "json_path").and_then(Value::as_str).unwrap_or_default();
        let value = ["stringValue", "numberValue", "boolValue"].iter().find_map(|name| piece.get(*name)).cloned();
        let value = value.unwrap_or_default();
        if !room.take(16 + path.len() + value.to_string().len()) {
            self.cut = true;
            return;
        }
        let text_goes_on = self.open_path.as_deref() == Some(path);
        let place = steps(path).and_then(|steps| place(&mut self.args, &steps));
        match (place, value) {
            (Some(Value::String(so_far)), Value::String(text)) if text_goes_on => so_far.push_str(&text),
            (Some(place), value) => {
                if !place.is_null() && *place != value {
                    issues.add("tool_arguments_replaced");
                }
                *place = value;
            }
            (None, _) => {
                // somewhere in the arguments, nobody knows where
                issues.add("tool_arguments_unclaimed");
                self.cut = true;
            }
        }
        let goes_on = piece.get("willContinue") == Some(&Value::Bool(true));
        self.open_path = goes_on.then(|| path.to_owned());
    }
}

#[derive(Debug, PartialEq)]
enum Step<'p> {
    Name(&'p str),
    Item(usize),
}

/// Levels of a path at most.
const LEVELS: usize = 32;

/// The steps of a path such as `$.place.lines[0]['first name']`; none where it is another kind of path.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            (step, rest) = (Step::Name(&name[..end]), &name[end..]);
        } else {
            let inside = rest.strip_prefix('[')?;
            let quote = inside.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let (text, behind) = match quote {
                Some(quote) => inside[1..].split_once(&format!("{quote}]"))?,
                None => inside.split_once(']')?,
            };
            step = if quote.is_some() { Step::Name(text) } else { Step::Item(text.parse().ok()?) };
            rest = behind;
        }
        if matches!(step, Step::Name("" | body::NUMBER_MARK)) || steps.len() == LEVELS {
            return None;
        }
        steps.push(step);
    }
    (!steps.is_empty()).then_some(steps)
}

/// The place in the arguments, made where it is new.
fn place<'v>(root: &'v mut Value, steps: &[Step<'_>]) -> Option<&'v mut Value> {
    let mut at = root;
    for step in steps {
        at = match step {
            Step::Name(name) => {
                if at.is_null() {
                    *at = json!({});
                }
                at.as_object_mut()?.entry(*name).or_insert(Value::Null)
            }
            Step::Item(number) => {
                if at.is_null() {
                    *at = json!([]);
                }
                let items = at.as_array_mut()?;
                if *number == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(*number)?
            }
        };
    }
    Some(at)
}

impl ReplyStream for Stream {
    fn frame(&mut self, event: Option<&str>, data: &[u8]) {
        // servers that speak for Gemini may end their streams as others do
        if data.trim_ascii() == b"[DONE]" {
            return;
        }
        let mut issues = std::mem::take(&mut self.issues);
        let mut pieces = Vec::new();
        lenient::frame(data, &mut issues, |piece, _| pieces.push(piece));
        self.issues = issues;
        for mut piece in pieces {
            if event == Some("error") && piece.get("error").is_none() {
                piece = json!({"error": piece});
            }
            self.piece(piece);
        }
    }

    fn ended(&self) -> bool {
        self.settled()
    }

    fn settled(&self) -> bool {
        let blocked = self.top.get("promptFeedback").is_some_and(|told| told.get("blockReason").is_some());
        let finished = !self.candidates.is_empty() && self.candidates.iter().all(|one| one.finish.is_some());
        finished || blocked && self.candidates.is_empty()
    }

    fn calls(&self) -> Vec<ToolCall> {
        if self.error.is_some() {
            return Vec::new();
        }
        let mut calls = whole(Value::Object(self.united())).calls;
        calls.retain(|call| call.complete);
        calls
    }

    fn response_id(&self) -> Option<String> {
        self.top.get("responseId").and_then(Value::as_str).map(str::to_owned)
    }

    fn held(&self) -> usize {
        self.room.held()
    }

    fn finish(mut self: Box<Self>, _clean: bool) -> Reply {
        let mut response = self.united();
        let settled = self.settled();
        if let Some(error) = self.error.take() {
            response.insert("error".into(), error);
        }
        let failed = response.contains_key("error");
        let mut reply = whole(Value::Object(response));
        reply.issues.merge(std::mem::take(&mut self.issues));
        if !settled && !failed {
            reply.issues.add("missing_stream_end");
            reply.complete = false;
        }
        if self.room.exceeded {
            reply.issues.add("capture_byte_limit");
        }
        reply
    }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
