//! What `codex exec --json` prints: the items of a run as they start and end. A summary, not the calls themselves: a
//! patch is only its list of changed files.

use super::codex;
use crate::formats::event::{Args, Body, Call, Flags, Mark, Reason, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// The events of `codex exec --json`.
pub(in crate::formats) static CODEX_EXEC: Format = Format {
    id: "codex-exec",
    title: "codex exec --json output",
    found_in: "standard output of 'codex exec --json'",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: None,
    unanswered: Some("not_captured"),
    profile: &codex::PROFILE,
};

/// The event itself, also inside the wrapper that harnesses put around it.
fn unwrapped(record: Value<'_>) -> Value<'_> {
    match record.fields(&["type", "data"]) {
        [None, Some(data)] if data.is_object() => data,
        _ => record,
    }
}

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let event = unwrapped(value);
    let kind = event.str_at("type")?;
    let known = match &*kind {
        "thread.started" => event.get("thread_id").is_some(),
        "turn.started" | "turn.completed" | "turn.failed" => true,
        "item.started" | "item.updated" | "item.completed" => event.get("item").is_some(),
        _ => false,
    };
    known.then_some("with 'thread.', 'turn.' and 'item.' events, as codex exec prints them")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let event = unwrapped(record);
    let [kind, item] = event.fields(&["type", "item"]);
    let kind = text(kind).unwrap_or_default();
    match (&*kind, item) {
        // ids begin anew with each run
        ("thread.started", _) => out.event(Event::Scope),
        // the sum so far
        ("turn.completed", _) => out.usage(event.get("usage"), Some("total"), None),
        ("item.started" | "item.updated" | "item.completed", Some(item)) => one(item, kind == "item.completed", out),
        _ => {}
    }
}

fn one(item: Value<'_>, done: bool, out: &mut Out<'_>) {
    let [id, kind, old_kind, status] = item.fields(&["id", "type", "item_type", "status"]);
    let kind = text(kind).or_else(|| text(old_kind)).unwrap_or_default();
    let field = |name: &str| item.get(name);
    let free = |name: &'static str| field(name).map_or(Args::Value(None), |value| Args::Free(name, value));
    let status = text(status).unwrap_or_default();
    let mut flags = if done { Flags::default() } else { Flags::INTENT };
    let mut failed = status == "failed";
    let (tool, args, body): (Cow<'_, str>, _, _) = match &*kind {
        "command_execution" => {
            failed |= field("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0);
            let body = view::made(&["aggregated_output", "exit_code", "status"].map(|name| (name, field(name))));
            ("command_execution".into(), free("command"), Some(Body::Made(body)))
        }
        "file_change" => {
            ("file_change".into(), free("changes"), Some(Body::Made(view::made(&[("status", field("status"))]))))
        }
        "mcp_tool_call" => {
            let name = |part: &str| text(field(part)).unwrap_or_default();
            let error = field("error").filter(|error| !error.is_null());
            failed |= error.is_some();
            let body = match error {
                Some(error) => Some(Body::Made(view::made(&[("error", Some(error))]))),
                None => field("result").filter(|result| !result.is_null()).map(|result| Body::Value(Some(result))),
            };
            (format!("mcp__{}__{}", name("server"), name("tool")).into(), Args::Value(field("arguments")), body)
        }
        "web_search" => {
            flags.set(Flags::SERVER_SIDE);
            ("web_search".into(), free("query"), None)
        }
        "todo_list" => ("todo_list".into(), free("items"), None),
        "reasoning" | "agent_message" | "assistant_message" | "error" => return,
        other => return out.unknown(other, item),
    };
    let id = text(id).map(|id| Cow::Owned(id.into_owned()));
    let turn = Some(Cow::Borrowed(""));
    let noted = out.call(Call { id, turn, flags, ..Call::new(item, Cow::Owned(tool.into_owned()), args) });
    if done && let Some(body) = body {
        let mut answer = ToolResult::new(item, To::Call(noted), body);
        answer.failed = failed;
        answer.last_wins = true;
        if status == "declined" {
            answer.mark = Some(Mark::NotExecuted(Reason::PermissionDenied));
        }
        out.result(answer);
    }
}
