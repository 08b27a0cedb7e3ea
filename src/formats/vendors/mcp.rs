//! Logs of the Model Context Protocol: JSON-RPC messages, bare, in a record of a gateway, or behind what a host writes
//! before them.

use super::claude_code;
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::event::{Args, Body, Call, Effect, Mark, Reason, Receipt, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// MCP logs.
pub(in crate::formats) static MCP: Format = Format {
    id: "mcp",
    title: "MCP JSON-RPC log",
    found_in: "logs of MCP hosts, servers, gateways and proxies: one JSON-RPC message a line, also behind a log's prefix",
    recognise,
    extract,
    items: true,
    strip: Some(strip),
    companions: None,
    unanswered: None,
    // the servers say what their tools do, in the answer to tools/list
    profile: &Profile::NONE,
};

/// What hosts write before a message.
const PREFIXES: [&str; 6] = [
    "[Client Says] ",
    "[Server Says] ",
    "[editor -> server] ",
    "[server -> editor] ",
    "Message from client: ",
    "Message from server: ",
];

fn strip(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    if matches!(line.first(), Some(b'{' | b'[')) && !line.starts_with(b"[Client") && !line.starts_with(b"[Server") {
        return None;
    }
    if let Some(data) = line.strip_prefix(b"data: ") {
        return data.starts_with(b"{").then_some(data);
    }
    PREFIXES.iter().find_map(|prefix| {
        let at = memchr::memmem::find(line, prefix.as_bytes())?;
        Some(&line[at + prefix.len()..])
    })
}

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    if value.is_array() {
        return value.items().next()?.get("jsonrpc").map(|_| "that is a batch of JSON-RPC messages");
    }
    let [bare, request, response, direction, message, method, count] =
        value.fields(&["jsonrpc", "request", "response", "direction", "message", "method", "count"]);
    let inside = |part: Option<Value<'_>>| part.is_some_and(|part| part.get("jsonrpc").is_some());
    if bare.is_some() || inside(request) || inside(response) || messages_of(value).is_some() {
        return Some("with JSON-RPC messages");
    }
    if direction.is_some() && inside(message) {
        return Some("with 'direction' and a JSON-RPC 'message'");
    }
    (method.is_some_and(|method| method.is("call_tool")) && count.is_some())
        .then_some("with 'call_tool' requests and their counts")
}

/// The messages that a session is wrapped around.
fn messages_of(record: Value<'_>) -> Option<Value<'_>> {
    let lists = record.fields(&["messages", "entries", "log", "events", "traffic", "exchanges"]);
    lists.into_iter().flatten().find(|list| {
        list.items().take(20).any(|message| {
            let inside = message.fields(&["request", "response", "message"]);
            message.get("jsonrpc").is_some() || inside.into_iter().flatten().any(|part| part.get("jsonrpc").is_some())
        })
    })
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    if record.is_array() {
        return record.items().for_each(|message| extract(message, out));
    }
    let [bare, request, response, message, time, metadata, count] =
        record.fields(&["jsonrpc", "request", "response", "message", "timestamp", "metadata", "count"]);
    let time = claude_code::time_of(time);
    let session = metadata.and_then(|metadata| metadata.str_at("sessionId")).unwrap_or_default();
    if bare.is_some() {
        return one(record, &session, time, out);
    }
    let is_message = |part: &Value<'_>| part.get("jsonrpc").is_some();
    if count.is_some() {
        return counted(record, out);
    }
    let parts: Vec<Value<'_>> = [request, response, message].into_iter().flatten().filter(is_message).collect();
    // the time of a record with both is that of neither alone
    out.moment(time.filter(|_| parts.len() == 1));
    for part in &parts {
        one(*part, &session, time, out);
    }
    if parts.is_empty() {
        match messages_of(record) {
            Some(messages) => out.listed(Some(messages), "messages").into_iter().for_each(|part| extract(part, out)),
            None => out.unknown("no message", record),
        }
    }
}

/// An id with its kind: `7` is not `"7"`.
fn key(session: &str, id: Value<'_>) -> String {
    format!("{session}{}", String::from_utf8_lossy(id.text()))
}

fn one(message: Value<'_>, session: &str, time: Option<i64>, out: &mut Out<'_>) {
    let [id, method, params, result, error] = out.fields(message, &["id", "method", "params", "result", "error"]);
    let method = text(method);
    match (method.as_deref(), id) {
        (Some("tools/call"), Some(id)) => {
            let [name, arguments] = params.map_or([None; 2], |params| out.fields(params, &["name", "arguments"]));
            let args = match arguments {
                // the protocol makes them optional
                None => Args::Nothing,
                Some(arguments) => Args::Value(Some(arguments)),
            };
            out.call(Call {
                id: Some(key(session, id).into()),
                time,
                ..Call::new(message, text(name).unwrap_or_default(), args)
            });
        }
        // a connection begins: its ids begin anew
        (Some("initialize"), _) => {
            out.event(if session.is_empty() { Event::Scope } else { Event::ScopeNamed(session.into()) });
        }
        (Some("notifications/cancelled"), _) => {
            if let Some(id) = params.and_then(|params| params.get("requestId")) {
                out.event(Event::MarkId(key(session, id).into(), Mark::NoResult(Some("cancelled"))));
            }
        }
        (Some(_), _) => {}
        // the answer to a request that could not be read
        (None, None) if error.is_some() => {
            out.note(Code::UnknownRecord, "error that answers no known call", message, "")
        }
        (None, Some(id)) if id.is_null() => {
            out.note(Code::UnknownRecord, "error that answers no known call", message, "");
        }
        (None, Some(id)) => response(message, key(session, id), result, error, out),
        (None, None) => out.unknown("message without method and id", message),
    }
}

fn response(at: Value<'_>, id: String, result: Option<Value<'_>>, error: Option<Value<'_>>, out: &mut Out<'_>) {
    let body = match (result, error) {
        (_, Some(error)) => Body::Made(view::made(&[("error", Some(error))])),
        (result, None) => Body::Value(result),
    };
    let mut answer = ToolResult::new(at, To::Id(id.into()), body);
    // other requests are answered as well; only an answer with content must be a tool's
    answer.optional = true;
    if let Some(error) = error {
        answer.failed = true;
        if matches!(error.get("code").and_then(Value::as_i64), Some(-32700 | -32600 | -32601 | -32602)) {
            answer.mark = Some(Mark::NotExecuted(Reason::ParseError));
        }
    }
    if let Some(result) = result {
        let [content, structured, is_error, kind, task, tools] =
            result.fields(&["content", "structuredContent", "isError", "resultType", "task", "tools"]);
        answer.optional = !content.is_some_and(Value::is_array) && structured.is_none();
        answer.failed = is_error.and_then(Value::as_bool) == Some(true);
        if task.is_some() || kind.is_some_and(|kind| kind.is("input_required")) {
            answer.mark = Some(Mark::Receipt(Receipt::Task));
        }
        for tool in tools.into_iter().flat_map(Value::items) {
            hint(tool, out);
        }
    }
    out.result(answer);
}

/// What a server says of a tool of its own. Only what makes it read only is believed; without a word it may do anything.
fn hint(tool: Value<'_>, out: &mut Out<'_>) {
    let read_only = tool.path(&["annotations", "readOnlyHint"]).and_then(Value::as_bool);
    if let (Some(name), Some(true)) = (tool.str_at("name"), read_only) {
        let literal = serde_json::Value::from(&*name).to_string().into_bytes();
        out.event(Event::Hint(literal.into(), Effect::ReadOnly));
    }
}

/// Records that count requests instead of naming them.
fn counted(record: Value<'_>, out: &mut Out<'_>) {
    let [kind, count, method, args, kwargs, result, error] =
        out.fields(record, &["type", "count", "method", "args", "kwargs", "result", "error"]);
    if !method.is_some_and(|method| method.is("call_tool")) {
        return;
    }
    let Some(count) = count else { return };
    let id = key("", count);
    if kind.is_some_and(|kind| kind.is("response")) {
        let error = error.filter(|error| !error.is_null());
        return response(record, id, result, error, out);
    }
    let place = |name: &str, at: usize| {
        kwargs.and_then(|kwargs| kwargs.get(name)).or_else(|| args.and_then(|args| args.items().nth(at)))
    };
    let tool = text(place("name", 0)).map_or(Cow::Borrowed(""), |name| Cow::Owned(name.into_owned()));
    let arguments = place("arguments", 1).map_or(Args::Nothing, |arguments| Args::Value(Some(arguments)));
    if tool.is_empty() {
        out.note(Code::UnknownRecord, "call without a name", record, "");
    }
    out.call(Call { id: Some(id.into()), ..Call::new(record, tool, arguments) });
}
