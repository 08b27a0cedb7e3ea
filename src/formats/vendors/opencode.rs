//! opencode: the export of a session, the output of `opencode run --format json`, and single parts of its old storage.

use crate::formats::Format;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Effect, Flags, Mark, Reason, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// opencode.
pub(in crate::formats) static OPENCODE: Format = Format {
    id: "opencode",
    title: "opencode session",
    found_in: "'opencode export SESSION', or 'opencode run --format json' (the sessions themselves are in a database)",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: Some("interrupted"),
    profile: &PROFILE,
};

/// The tools of opencode.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "opencode",
    read_only: &["read", "grep", "glob", "list", "webfetch", "websearch", "codesearch", "lsp"],
    mutating: &["edit", "write", "patch", "multiedit"],
    by_args: &[("bash", By::Shell(&["command"]))],
    session: &["todowrite", "todoread"],
    containers: &["task", "skill"],
    polls: &[],
    others: Effect::Unknown,
    ..Profile::NONE
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let [info, messages, part, kind, call, state, message_id] =
        value.fields(&["info", "messages", "part", "type", "callID", "state", "messageID"]);
    if document {
        let export = info.is_some() && messages?.items().any(|message| message.get("parts").is_some());
        return export.then_some("with 'info' and messages that have 'parts'");
    }
    if part.is_some_and(|part| part.get("messageID").is_some() || part.get("sessionID").is_some()) {
        return Some("with 'part', as opencode run prints them");
    }
    (kind.is_some_and(|kind| kind.is("tool")) && call.is_some() && state.is_some() && message_id.is_some())
        .then_some("with parts of messages, as opencode stored them")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [messages, part] = record.fields(&["messages", "part"]);
    match (messages, part) {
        (Some(messages), _) => {
            for message in out.listed(Some(messages), "messages") {
                let id = message.path(&["info", "id"]).and_then(Value::as_str);
                if message.path(&["info", "role"]).is_some_and(|role| role.is("user")) {
                    out.apart(Apart::Person, None);
                }
                for part in out.listed(message.get("parts"), "parts") {
                    one(part, id.as_deref(), out);
                }
            }
        }
        (None, Some(part)) => one(part, None, out),
        (None, None) => one(record, None, out),
    }
}

/// Parts without calls.
const SILENT: [&str; 14] = [
    "text",
    "reasoning",
    "file",
    "step-start",
    "step-finish",
    "step_start",
    "step_finish",
    "snapshot",
    "patch",
    "agent",
    "retry",
    "compaction",
    "subtask",
    "error",
];

/// What a step used of a model.
fn used(part: Value<'_>, id: Option<Value<'_>>, out: &mut Out<'_>) {
    let key = text(id);
    out.usage(part.get("tokens"), key.as_deref(), None);
    let cost = view::made(&[("cost", part.get("cost"))]);
    out.usage(view::only_value(cost.as_bytes()).ok(), key.as_deref(), None);
}

fn one(part: Value<'_>, message: Option<&str>, out: &mut Out<'_>) {
    let [kind, call_id, tool, state, own_message, part_id] =
        out.fields(part, &["type", "callID", "tool", "state", "messageID", "id"]);
    // providers repeat the ids of calls; those of parts are opencode's own
    let id = part_id.filter(|id| id.is_string()).or(call_id);
    if kind.is_some_and(|kind| kind.is("compaction")) {
        out.apart(Apart::Compaction, None);
    }
    if kind.is_some_and(|kind| kind.is("step-finish") || kind.is("step_finish")) {
        used(part, id, out);
    }
    let (true, Some(state)) = (kind.is_some_and(|kind| kind.is("tool")), state) else {
        if !kind.and_then(Value::as_str).is_some_and(|kind| SILENT.contains(&&*kind)) {
            out.unknown(&text(kind).unwrap_or_default(), part);
        }
        return;
    };
    let [status, input, output, error, time, raw] =
        out.fields(state, &["status", "input", "output", "error", "time", "raw"]);
    let pending = status.is_some_and(|status| status.is("pending"));
    // what the model had written when it was stopped
    let written = raw.filter(|raw| pending && raw.as_str().is_some_and(|raw| !raw.is_empty()));
    let args = match written {
        Some(raw) if input.is_none_or(|input| input.members().next().is_none()) => Args::Text(Some(raw)),
        _ => Args::Value(input),
    };
    let tool = text(tool).unwrap_or_default();
    let start = time.and_then(|time| time.get("start")).and_then(Value::as_i64);
    let mut flags = Flags::default();
    if &*tool == "task" {
        flags.set(Flags::SPAWNS);
    }
    let turn = text(own_message).or(message.map(Cow::Borrowed));
    let time_ns = start.and_then(|start| start.checked_mul(1_000_000));
    let noted = out.call(Call { id: text(id), time: time_ns, turn, flags, ..Call::new(part, tool, args) });
    // a call is started when its arguments are whole; a later record of the part says more
    out.event(Event::Marked(
        noted,
        if pending { Mark::NotExecuted(Reason::Cancelled) } else { Mark::NoResult(Some("interrupted")) },
    ));
    if time.is_some_and(|time| time.get("compacted").is_some()) {
        out.note(Code::Compacted, "result", part, "the result was later hidden from the model");
    }
    let error = error.filter(|error| !error.is_null());
    let end = time.and_then(|time| time.get("end")).and_then(Value::as_i64);
    out.ended(end.and_then(|end| end.checked_mul(1_000_000)));
    let body = match (&*text(status).unwrap_or_default(), error) {
        ("pending" | "running", None) => return,
        (_, Some(error)) => Body::Made(view::made(&[("error", Some(error))])),
        _ => Body::Value(output),
    };
    let mut answer = ToolResult::new(part, To::Call(noted), body);
    answer.last_wins = true;
    let exit = state.path(&["metadata", "exit"]).and_then(Value::as_i64);
    answer.failed = error.is_some() || exit.is_some_and(|code| code != 0);
    let words = text(error).unwrap_or_default();
    if words.contains("rejected permission") {
        answer.mark = Some(Mark::NotExecuted(Reason::UserRejected));
    } else if words.contains("aborted") {
        answer.mark = Some(Mark::NoResult(Some("interrupted")));
    }
    out.result(answer);
}
