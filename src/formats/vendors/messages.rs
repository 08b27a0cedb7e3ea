//! Lists of messages: bare, one conversation a line, or several in a list. Calls are those of chat completions, or blocks
//! of content as the Messages API has them, or both in one list, as gateways mix them.

use super::claude_code::{self, Frame};
use crate::formats::event::{Args, Body, Call, Flags, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::json::view::{Value, text};
use std::borrow::Cow;

/// The message lists of a value.
pub(in crate::formats) fn conversations<'v>(value: Value<'v>, document: bool) -> Vec<Value<'v>> {
    if !value.is_array() {
        return list(value).into_iter().collect();
    }
    if !document {
        return Vec::new();
    }
    if is_messages(value) {
        return vec![value];
    }
    let lists: Vec<Option<Value<'_>>> = value.items().map(list).collect();
    if lists.iter().all(Option::is_some) { lists.into_iter().flatten().collect() } else { Vec::new() }
}

/// The list of messages that an object holds.
fn list(object: Value<'_>) -> Option<Value<'_>> {
    // other formats have messages as well
    const OTHER: [&str; 8] =
        ["sessionId", "info", "trajectory_format", "trajectory", "history", "events", "eval", "schema_version"];
    let [messages, traj] = object.fields(&["messages", "traj"]);
    let own = traj.is_some() || object.fields(&OTHER).iter().all(Option::is_none);
    messages.or(traj).filter(|list| own && is_messages(*list))
}

fn is_messages(list: Value<'_>) -> bool {
    // a message that is damaged must not hide the ones beside it
    let (mut messages, mut others, mut named) = (0_usize, 0_usize, false);
    for item in list.items() {
        let [role, parts] = item.fields(&["role", "parts"]);
        named |= role.is_some_and(Value::is_string);
        let fits = (role.is_some() || has_calls(item)) && parts.is_none();
        *if fits { &mut messages } else { &mut others } += 1;
    }
    named && messages >= others
}

/// Whether a list has calls as chat messages have them.
pub(in crate::formats) fn has_chat_calls(list: Value<'_>) -> bool {
    list.items().any(has_calls)
}

pub(in crate::formats) fn has_calls(message: Value<'_>) -> bool {
    message.fields(&["tool_calls", "tool_call_id", "function_call"]).iter().any(Option::is_some)
}

/// Hands on the conversations of a record. What is none is said.
pub(in crate::formats) fn each_conversation(
    record: Value<'_>,
    out: &mut Out<'_>,
    mut each: impl FnMut(Value<'_>, &mut Out<'_>),
) {
    let rows = match record.is_array() && !is_messages(record) {
        true => record.items().collect(),
        false => vec![record],
    };
    for row in rows {
        let messages = if row.is_array() { Some(row).filter(|row| is_messages(*row)) } else { list(row) };
        match messages {
            Some(messages) => {
                out.conversation(messages);
                each(messages, out);
                out.usage(row.get("usage").or_else(|| row.path(&["response", "usage"])), None, None);
            }
            None => out.unknown("no conversation", row),
        }
    }
}

/// A message with calls of either API: gateways mix them.
pub(in crate::formats) fn message_of_any(message: Value<'_>, number: usize, out: &mut Out<'_>) {
    if !message.is_object() {
        return out.unknown("message that is no object", message);
    }
    let content = message.get("content");
    let own = content.is_some_and(|content| content.items().any(is_block));
    if own {
        if message.get("role").is_some_and(|role| role.is("assistant")) {
            out.event(Event::Window);
        }
        blocks(message, number, out);
        if has_calls(message) {
            one(message, number, out);
        }
    } else {
        one(message, number, out);
    }
}

/// One message: of a tool, or of the model with its calls.
pub(in crate::formats) fn one(message: Value<'_>, number: usize, out: &mut Out<'_>) {
    let [role, calls, legacy, id, ids, content, name] = out
        .fields(message, &["role", "tool_calls", "function_call", "tool_call_id", "tool_call_ids", "content", "name"]);
    let known = ["tool_calls", "function_call", "tool_call_id", "tool_call_ids"];
    out.odd_members(message, &known, "message");
    // a damaged role hides nothing: what the message holds says whose it is
    let role = match text(role) {
        Some(role) if matches!(&*role, "assistant" | "model" | "tool" | "function" | "user") => role,
        _ if calls.or(legacy).is_some_and(|calls| !calls.is_null()) => Cow::Borrowed("assistant"),
        _ if id.or(ids).is_some_and(|id| !id.is_null()) => Cow::Borrowed("tool"),
        other => other.unwrap_or_default(),
    };
    match &*role {
        "assistant" | "model" => {
            out.event(Event::Window);
            let turn = number.to_string();
            for call in out.listed(calls, "tool_calls") {
                let [id, function, custom] = out.fields(call, &["id", "function", "custom"]);
                let (tool, args) = match (function, custom) {
                    (_, Some(custom)) => {
                        let input = custom.get("input");
                        (custom.str_at("name"), input.map_or(Args::Value(None), |input| Args::Free("input", input)))
                    }
                    (Some(function), None) => {
                        let [name, arguments] = out.fields(function, &["name", "arguments"]);
                        (text(name), Args::Text(arguments))
                    }
                    (None, None) => {
                        let [name, arguments] = out.fields(call, &["name", "arguments"]);
                        (text(name), arguments.map_or(Args::Value(None), |arguments| Args::Text(Some(arguments))))
                    }
                };
                out.call(Call {
                    id: text(id),
                    turn: Some(Cow::Borrowed(&turn)),
                    flags: Flags::NO_COPY,
                    ..Call::new(call, tool.unwrap_or_default(), args)
                });
            }
            if let Some(function) = legacy.filter(|function| function.is_object()) {
                let [name, arguments] = out.fields(function, &["name", "arguments"]);
                let turn = Some(Cow::Borrowed(&*turn));
                out.call(Call { turn, ..Call::new(function, text(name).unwrap_or_default(), Args::Text(arguments)) });
            }
        }
        "tool" => {
            let id = text(id).or_else(|| text(ids.and_then(|ids| ids.items().next())));
            let to = match (id, text(name)) {
                (Some(id), _) => To::Id(id),
                (None, Some(name)) => To::Tool(name),
                (None, None) => To::Id(Cow::Borrowed("")),
            };
            out.result(ToolResult::new(message, to, Body::Value(content)));
        }
        "user" => out.apart(Apart::Person, None),
        "function" => {
            let to = To::Tool(text(name).unwrap_or_default());
            out.result(ToolResult::new(message, to, Body::Value(content)));
        }
        "system" | "developer" => {}
        other => out.unknown(other, message),
    }
}

/// Whether a message of a list has blocks that are calls or answers.
pub(in crate::formats) fn has_blocks(messages: Value<'_>) -> bool {
    messages.items().filter_map(|message| message.get("content")).any(|content| content.items().any(is_block))
}

/// Whether a block of content is a call or a result.
pub(in crate::formats) fn is_block(block: Value<'_>) -> bool {
    block.str_at("type").is_some_and(|kind| {
        matches!(&*kind, "tool_use" | "tool_result" | "server_tool_use" | "mcp_tool_use")
            || kind.ends_with("_tool_result")
    })
}

/// The blocks of a message.
pub(in crate::formats) fn blocks(message: Value<'_>, number: usize, out: &mut Out<'_>) {
    let results = |content: Value<'_>| content.items().any(|block| block.get("tool_use_id").is_some());
    let from_a_person = message.get("role").is_some_and(|role| role.is("user"));
    if from_a_person && !message.get("content").is_some_and(results) {
        out.apart(Apart::Person, None);
    }
    out.odd_members(message, &["tool_calls", "function_call", "tool_call_id", "tool_call_ids"], "message");
    let turn = Some(number.to_string());
    let frame = Frame { thread: None, time: None, turn, flags: Flags::NO_COPY, words: false, denied: false };
    claude_code::blocks(message, None, &frame, out);
}
