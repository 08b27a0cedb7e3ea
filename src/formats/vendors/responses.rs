//! Items of OpenAI's Responses API: lists of them, responses with their `output`, and rows that hold a response.
//!
//! The same items are what Codex keeps in its rollouts; `codex` reads them through [`item`].

use super::messages;
use crate::formats::effect::Profile;
use crate::formats::event::{Args, Body, Call, Flags, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// Items of the Responses API.
pub(in crate::formats) static RESPONSES: Format = Format {
    id: "openai-responses",
    title: "OpenAI Responses API items",
    found_in: "what a program logs of the Responses API: a list of items, a response, or a row a line with 'response'",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

/// Tools of the API itself; all others are the user's own.
pub(in crate::formats) static PROFILE: Profile =
    Profile { read_only: &["web_search", "file_search", "tool_search"], ..Profile::NONE };

const ITEMS: [&str; 12] = [
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "computer_call",
    "mcp_call",
    "image_generation_call",
    "local_shell_call",
];

fn is_item(value: Value<'_>) -> bool {
    value.str_at("type").is_some_and(|kind| ITEMS.contains(&&*kind))
}

/// Whether a list is one of items: messages may stand between them, but not alone.
fn is_list(list: Value<'_>) -> bool {
    list.is_array() && list.items().any(is_item)
}

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    if value.is_array() {
        return (document && is_list(value) && !messages::has_chat_calls(value))
            .then_some("that is a list of items of the Responses API");
    }
    let [output, object, response, params] = value.fields(&["output", "object", "response", "responses_create_params"]);
    let own = object.is_some_and(|object| object.is("response")) || output.is_some_and(is_list);
    if output.is_some_and(Value::is_array) && own {
        return Some("with the 'output' of a response");
    }
    let inner = response.is_some_and(|response| response.get("output").is_some_and(Value::is_array));
    (inner && (params.is_some() || recognise(response?, document).is_some()))
        .then_some("with a 'response' that has an 'output'")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    if record.is_array() {
        return lists(&[record], None, out);
    }
    let names = ["response", "responses_create_params", "request", "body", "input", "output"];
    let [response, params, request, body, input, output] = record.fields(&names);
    // a text in place of items is a person's words
    let asked = [params, request, body].into_iter().flatten().filter_map(|part| part.get("input")).chain(input);
    let mut parts: Vec<Value<'_>> = asked.filter(|part| part.is_array()).collect();
    match (output, response.map(|response| response.get("output"))) {
        (None, None) => out.unknown("neither a response nor items", record),
        (None, Some(None)) => out.unknown("response without 'output'", record),
        (own, inner) => parts.extend([own, inner.flatten()].into_iter().flatten()),
    }
    let usage = record.get("usage").or_else(|| response?.get("usage"));
    lists(&parts, usage, out);
}

/// The items of lists that follow each other. A log of requests holds in each all that was said before: one that begins
/// with all of another goes on with that one.
fn lists(parts: &[Value<'_>], usage: Option<Value<'_>>, out: &mut Out<'_>) {
    let told = parts.iter().flat_map(|part| part.items()).filter_map(identity);
    let told: Vec<Vec<u8>> = told.collect();
    out.conversation_of(told.iter());
    let mut number = 0;
    for part in parts {
        for value in out.listed(Some(*part), "items") {
            if identity(value).is_some() {
                out.event(Event::Message(number));
                number += 1;
            }
            if !item(value, None, Flags::NO_COPY, |_, _| {}, out) {
                silent(value, out);
            }
        }
    }
    // behind what is new of it: what belongs to the rest was counted with that
    out.usage(usage, None, None);
}

/// What tells an item from others, whether it is what a model wrote or what a client sends back of it: clients leave out
/// ids, states and what the model thought.
fn identity(item: Value<'_>) -> Option<Vec<u8>> {
    if !item.is_object() {
        return None;
    }
    let [kind, role, call_id, name, arguments, input, output, action, content] =
        item.fields(&["type", "role", "call_id", "name", "arguments", "input", "output", "action", "content"]);
    let kind = text(kind).filter(|kind| !kind.is_empty()).unwrap_or(Cow::Borrowed("message"));
    if &*kind == "reasoning" {
        return None;
    }
    let mut told = kind.into_owned().into_bytes();
    for part in [role, call_id, name, arguments, input, output, action] {
        told.push(0);
        match part.map(|part| (part.as_str(), part)) {
            Some((Some(words), _)) => told.extend_from_slice(words.as_bytes()),
            Some((None, value)) => told.extend_from_slice(value.text()),
            None => {}
        }
    }
    told.push(0);
    match content.filter(|content| !content.is_array()) {
        Some(content) => told.extend_from_slice(content.as_str().unwrap_or_default().as_bytes()),
        None => {
            for part in content.into_iter().flat_map(Value::items) {
                match part.get("text").and_then(Value::as_str) {
                    Some(words) => told.extend_from_slice(words.as_bytes()),
                    None => told.extend_from_slice(part.text()),
                }
            }
        }
    }
    Some(told)
}

/// Items that are neither calls nor results.
pub(in crate::formats) fn silent(item: Value<'_>, out: &mut Out<'_>) {
    const SILENT: [&str; 16] = [
        "message",
        "reasoning",
        "item_reference",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "ghost_snapshot",
        "agent_message",
        "compaction",
        "additional_tools",
        "token_count",
        "other",
        "context_compaction",
        "compaction_summary",
        "compaction_trigger",
        "image_generation_call_partial",
    ];
    let kind = item.str_at("type").unwrap_or_default();
    // the API leaves the type of plain messages out
    let message = kind.is_empty() && item.fields(&["role", "content"]).iter().all(Option::is_some);
    if !SILENT.contains(&&*kind) && !message {
        out.unknown(&kind, item);
    }
}

/// What one item says. Returns whether it is a call or an answer. `flags` are those of calls with an id of their own.
/// `read` gets to read an answer's words.
pub(in crate::formats) fn item(
    item: Value<'_>,
    time: Option<i64>,
    flags: Flags,
    read: fn(&mut ToolResult<'_>, Option<Value<'_>>),
    out: &mut Out<'_>,
) -> bool {
    let Some(kind) = item.str_at("type") else { return false };
    let [call_id, own_id, name, namespace, arguments, input, action] =
        out.fields(item, &["call_id", "id", "name", "namespace", "arguments", "input", "action"]);
    // an empty id is none
    let id = text(call_id).filter(|id| !id.is_empty());
    let call = |tool: Cow<'_, str>, args, id: Option<Cow<'_, str>>, flags: Flags, out: &mut Out<'_>| {
        let id = id.map(|id| Cow::Owned(id.into_owned()));
        let call = Call {
            id,
            time,
            turn: Some(Cow::Borrowed("")),
            flags,
            ..Call::new(item, Cow::Owned(tool.into_owned()), args)
        };
        out.call(call)
    };
    let own = || text(own_id);
    match &*kind {
        "function_call" => {
            let name = text(name).unwrap_or_default();
            let tool = match text(namespace) {
                Some(space) if !space.is_empty() && !name.starts_with(&*space) => format!("{space}{name}").into(),
                _ => name,
            };
            call(tool, Args::Text(arguments), id, flags, out);
        }
        "custom_tool_call" => {
            let args = input.map_or(Args::Value(None), |input| Args::Free("input", input));
            let tool = text(name).unwrap_or_default();
            let mut flags = flags;
            if &*tool == "exec" {
                flags.set(Flags::COMPOSITE);
            }
            call(tool, args, id, flags, out);
        }
        "tool_search_call" => {
            call("tool_search".into(), Args::Value(arguments), id.or_else(own), flags, out);
        }
        "local_shell_call" | "shell_call" | "apply_patch_call" | "computer_call" => {
            let tool = kind.strip_suffix("_call").unwrap_or(&kind);
            let args = action.or_else(|| item.get("operation"));
            call(Cow::Borrowed(tool), Args::Value(args), id.or_else(own), flags, out);
        }
        "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" => {
            let tool = kind.strip_suffix("_call").unwrap_or(&kind);
            let [queries, code, result, results, outputs] =
                item.fields(&["queries", "code", "result", "results", "outputs"]);
            let args = match (action, queries, code) {
                (Some(action), ..) => Args::Value(Some(action)),
                (_, Some(queries), _) => Args::Free("queries", queries),
                (.., Some(code)) => Args::Free("code", code),
                _ => Args::Nothing,
            };
            let mut flags = flags;
            flags.set(Flags::SERVER_SIDE);
            flags.set(Flags::TWICE);
            let noted = call(Cow::Borrowed(tool), args, id.or_else(own), flags, out);
            if let Some(body) = result.or(results).or(outputs).filter(|body| !body.is_null()) {
                out.result(ToolResult::new(item, To::Call(noted), Body::Value(Some(body))));
            }
        }
        "mcp_call" => {
            let [server, output, error] = item.fields(&["server_label", "output", "error"]);
            let tool = format!("mcp__{}__{}", text(server).unwrap_or_default(), text(name).unwrap_or_default());
            let mut flags = flags;
            flags.set(Flags::SERVER_SIDE);
            let noted = call(tool.into(), Args::Text(arguments), id.or_else(own), flags, out);
            let error = error.filter(|error| !error.is_null());
            if error.is_some() || output.is_some_and(|output| !output.is_null()) {
                let body = match error {
                    Some(error) => Body::Made(view::made(&[("error", Some(error))])),
                    None => Body::Value(output),
                };
                let mut answer = ToolResult::new(item, To::Call(noted), body);
                answer.failed = error.is_some();
                out.result(answer);
            }
        }
        kind if kind.ends_with("_output")
            && ITEMS.iter().chain(&MORE).any(|item| kind.strip_suffix("_output") == Some(item)) =>
        {
            let output = item.get("output").or_else(|| item.get("tools"));
            let mut answer = ToolResult::new(item, To::Id(id.or_else(own).unwrap_or_default()), Body::Value(output));
            read(&mut answer, output);
            out.result(answer);
        }
        _ => return false,
    }
    true
}

/// Items with an answer of their own kind that are not in [`ITEMS`].
const MORE: [&str; 4] = ["tool_search", "tool_search_call", "shell_call", "apply_patch_call"];
