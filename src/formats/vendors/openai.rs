//! Message lists of OpenAI's chat completions, as harnesses keep them: bare, one conversation a line, or several in a
//! list. Ids repeat within one conversation, so an answer belongs first to the calls of the message before it.

use super::{anthropic, mini_swe_agent};
use crate::formats::effect::Profile;
use crate::formats::event::{Args, Body, Call, Flags, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::{Apart, Event, Out};
use crate::json::view::{Value, text};
use std::borrow::Cow;

/// Chat messages.
pub(in crate::formats) static OPENAI_CHAT: Format = Format {
    id: "openai-chat",
    title: "OpenAI chat messages",
    found_in: "what a program logs: a list of messages, {\"messages\": […]} or {\"traj\": […]} (also one a line, also in a list)",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    // the names are the user's own: no default would be honest
    profile: &Profile::NONE,
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let mut any = false;
    for messages in conversations(value, document) {
        any = true;
        if anthropic::has_blocks(messages) || mini_swe_agent::has_fences(messages) {
            return None;
        }
    }
    any.then_some("with lists of messages that have 'role' and 'content'")
}

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

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    each_conversation(record, out, |messages, out| {
        for (number, message) in messages.items().enumerate() {
            out.event(Event::Message(number));
            message_of_any(message, number, out);
        }
    });
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
    let own = content.is_some_and(|content| content.items().any(anthropic::is_block));
    if own {
        if message.get("role").is_some_and(|role| role.is("assistant")) {
            out.event(Event::Window);
        }
        anthropic::message(message, number, out);
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
