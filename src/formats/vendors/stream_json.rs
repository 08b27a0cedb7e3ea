//! What `claude --output-format stream-json` prints, as lines or as the array that the GitHub action keeps: the
//! messages of a session without times.

use super::claude_code::{self, Frame};
use crate::formats::Format;
use crate::formats::event::{Mark, Reason};
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value};

/// The output of Claude Code as a stream.
pub(in crate::formats) static STREAM_JSON: Format = Format {
    id: "claude-stream-json",
    title: "Claude Code stream-json output",
    found_in: "standard output of 'claude -p --output-format stream-json', and the execution file of claude-code-action",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &claude_code::PROFILE,
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    if document && value.is_array() {
        // the action leaves the session out of some
        let first = || value.items().take(20);
        let named = first().any(|item| recognise(item, false).is_some());
        let fitting = first().filter(|item| is_message(*item)).count();
        return (named && fitting * 5 >= first().count() * 4)
            .then_some("that is a list of messages with 'type' and 'session_id', as claude-code-action keeps them");
    }
    let [snake, camel] = value.fields(&["session_id", "sessionId"]);
    (is_message(value) && snake.is_some() && camel.is_none())
        .then_some("with 'type' and 'session_id', as Claude Code prints them with stream-json")
}

fn is_message(value: Value<'_>) -> bool {
    let [kind, camel, message, subtype, cost] =
        value.fields(&["type", "sessionId", "message", "subtype", "total_cost_usd"]);
    camel.is_none()
        && match kind.and_then(Value::as_str).as_deref() {
            Some("assistant" | "user") => message.is_some(),
            Some("system") => subtype.is_some(),
            Some("result") => subtype.or(cost).is_some(),
            Some("stream_event") => true,
            _ => false,
        }
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [kind, message, parent, rich, session, denials] = out.fields(
        record,
        &["type", "message", "parent_tool_use_id", "tool_use_result", "session_id", "permission_denials"],
    );
    if let Some(session) = session.and_then(Value::as_str) {
        out.session(&session, record);
    }
    match &*kind.and_then(Value::as_str).unwrap_or_default() {
        "assistant" | "user" => {
            let Some(message) = message else { return };
            // an agent is named by the call that started it
            let thread = parent.and_then(Value::as_str).map(|parent| parent.into_owned());
            claude_code::blocks(message, rich, &Frame::claude(thread, None), out);
        }
        "result" => {
            // its tokens are those of the messages; what they cost only it says
            let cost = view::made(&[("total_cost_usd", record.get("total_cost_usd"))]);
            out.usage(view::only_value(cost.as_bytes()).ok(), Some("result"), None);
            for denial in denials.into_iter().flat_map(Value::items) {
                if let Some(id) = denial.str_at("tool_use_id") {
                    out.event(Event::MarkId(id.into(), Mark::NotExecuted(Reason::PermissionDenied)));
                }
            }
        }
        "system" => {
            if record.get("subtype").is_some_and(|subtype| subtype.is("compact_boundary")) {
                out.note(Code::Compacted, "", record, "");
                out.apart(Apart::Compaction, None);
            }
        }
        // the whole message follows its pieces
        "stream_event" | "rate_limit_event" | "tool_progress" | "auth_status" | "keep_alive" => {}
        other => out.unknown(other, record),
    }
}
