//! Inspect AI logs: the tool events of samples, as JSON or inside the archive that Inspect writes. Each epoch of a
//! sample is a conversation of its own.

use super::claude_code;
use super::messages;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Mark, Reason, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};

/// Inspect AI.
pub(in crate::formats) static INSPECT: Format = Format {
    id: "inspect-ai",
    title: "Inspect AI log",
    found_in: "logs/*.eval and logs/*.json",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "inspect",
    read_only: &["web_search", "think", "list_files", "read_file", "grep"],
    mutating: &["python", "bash_session"],
    by_args: &[
        ("bash", By::Shell(&["cmd"])),
        ("text_editor", By::Field("command", &["view"])),
        ("computer", By::Field("action", &["screenshot", "cursor_position", "mouse_move", "wait", "zoom"])),
    ],
    session: &["submit", "update_plan", "memory", "todo_write"],
    ..Profile::NONE
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let [version, eval, samples, epoch, events, messages] =
        value.fields(&["version", "eval", "samples", "epoch", "events", "messages"]);
    if !document {
        return None;
    }
    if version.is_some() && eval.is_some() && samples.is_some() {
        return Some("with 'version', 'eval' and 'samples'");
    }
    (epoch.is_some() && events.is_some() && messages.is_some()).then_some("that is a sample with 'epoch' and 'events'")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    match record.get("samples") {
        Some(samples) => samples.items().for_each(|one| sample(one, out)),
        None => sample(record, out),
    }
}

fn sample(sample: Value<'_>, out: &mut Out<'_>) {
    let [events, messages, attachments, retries, used] =
        sample.fields(&["events", "messages", "attachments", "error_retries", "model_usage"]);
    out.event(Event::Scope);
    let mut reader = Reader { attachments, calls: 0 };
    for (_, of_model) in used.into_iter().flat_map(Value::members) {
        out.usage(Some(of_model), None, None);
    }
    for retry in retries.into_iter().flat_map(Value::items) {
        out.note(Code::UnknownRecord, "failed attempt", retry, "calls before its last model event are not recorded");
        retry.get("events").into_iter().flat_map(Value::items).for_each(|event| reader.event(event, out));
    }
    out.listed(events, "events").into_iter().for_each(|event| reader.event(event, out));
    // without events the messages are all there is
    if let Some(messages) = messages.filter(|messages| reader.calls == 0 && messages::has_chat_calls(*messages)) {
        messages.items().for_each(|message| reader.message(message, out));
    }
}

/// Events that hold no calls but those that have events of their own.
const SILENT: [&str; 23] = [
    "anchor",
    "approval",
    "branch",
    "checkpoint",
    "compaction",
    "error",
    "info",
    "input",
    "interrupt",
    "logger",
    "model",
    "sample_init",
    "sample_limit",
    "sandbox",
    "score",
    "score_edit",
    "span_begin",
    "span_end",
    "state",
    "step",
    "store",
    "subtask",
    "timeline",
];

struct Reader<'a> {
    attachments: Option<Value<'a>>,
    calls: u64,
}

impl Reader<'_> {
    fn event(&mut self, event: Value<'_>, out: &mut Out<'_>) {
        let [kind, inner] = event.fields(&["event", "events"]);
        if !kind.is_some_and(|kind| kind.is("tool")) {
            let kind = text(kind).unwrap_or_default();
            if !SILENT.contains(&&*kind) {
                out.unknown(&kind, event);
            }
            return;
        }
        let [id, name, arguments, result, truncated, error, failed, pending, time, message] = out.fields(
            event,
            &[
                "id",
                "function",
                "arguments",
                "result",
                "truncated",
                "error",
                "failed",
                "pending",
                "timestamp",
                "message_id",
            ],
        );
        self.calls += 1;
        out.ended(claude_code::time_of(event.get("completed")));
        let arguments = arguments.map(|arguments| self.attached(arguments, out));
        let noted = out.call(Call {
            id: text(id),
            time: claude_code::time_of(time),
            turn: text(message),
            ..Call::new(
                event,
                text(name).unwrap_or_default(),
                arguments.as_deref().map_or(Args::Value(None), Args::Made),
            )
        });
        let flag = |value: Option<Value<'_>>| value.and_then(Value::as_bool) == Some(true);
        if !flag(pending) {
            let mut answer = self.answer(event, To::Call(noted), result, error, out);
            answer.failed |= flag(failed);
            if truncated.is_some_and(|truncated| !truncated.is_null()) {
                answer.mark = answer.mark.or(Some(Mark::Truncated));
            }
            out.result(answer);
        }
        out.listed(inner, "events").into_iter().for_each(|event| self.event(event, out));
    }

    fn message(&mut self, message: Value<'_>, out: &mut Out<'_>) {
        let [calls, id, content, error, own] =
            out.fields(message, &["tool_calls", "tool_call_id", "content", "error", "id"]);
        for call in calls.into_iter().flat_map(Value::items) {
            let [id, name, arguments] = out.fields(call, &["id", "function", "arguments"]);
            let arguments = arguments.map(|arguments| self.attached(arguments, out));
            let args = arguments.as_deref().map_or(Args::Value(None), Args::Made);
            out.call(Call { id: text(id), turn: text(own), ..Call::new(call, text(name).unwrap_or_default(), args) });
        }
        if let Some(id) = text(id) {
            let answer = self.answer(message, To::Id(id), content, error, out);
            out.result(answer);
        }
    }

    fn answer<'v>(
        &self,
        at: Value<'v>,
        to: To<'v>,
        result: Option<Value<'v>>,
        error: Option<Value<'v>>,
        out: &mut Out<'_>,
    ) -> ToolResult<'v> {
        let error = error.filter(|error| !error.is_null());
        let result = result.map(|result| self.attached(result, out));
        let body = match (error, result) {
            (Some(error), result) => {
                let content = result.as_deref().and_then(|result| view::only_value(result.as_bytes()).ok());
                Body::Made(view::made(&[("content", content), ("error", Some(error))]))
            }
            (None, Some(result)) => Body::Made(result),
            (None, None) => Body::Value(None),
        };
        let mut answer = ToolResult::new(at, to, body);
        answer.failed = error.is_some();
        answer.mark = match error.and_then(|error| error.str_at("type")).as_deref() {
            Some("parsing") => Some(Mark::NotExecuted(Reason::ParseError)),
            Some("approval") => Some(Mark::NotExecuted(Reason::PermissionDenied)),
            Some("cancelled") => Some(Mark::NoResult(Some("cancelled"))),
            Some("limit" | "output_limit") => Some(Mark::Truncated),
            _ => None,
        };
        answer
    }

    /// A value with the texts that its references stand for.
    fn attached(&self, value: Value<'_>, out: &mut Out<'_>) -> String {
        let raw = String::from_utf8_lossy(value.text());
        if !raw.contains("\"attachment://") {
            return raw.into_owned();
        }
        let mut replaced = String::new();
        let mut rest = &*raw;
        while let Some(at) = rest.find("\"attachment://") {
            replaced.push_str(&rest[..at]);
            let name = &rest[at + 14..];
            let end = name.find('"').unwrap_or(name.len());
            let text = self.attachments.and_then(|attachments| attachments.get(&name[..end]));
            match text {
                Some(text) => replaced.push_str(&String::from_utf8_lossy(text.text())),
                None => {
                    out.note(Code::Truncated, "missing attachment", value, &name[..end]);
                    replaced.push_str(&rest[at..(at + 15 + end).min(rest.len())]);
                }
            }
            rest = name.get(end + 1..).unwrap_or("");
        }
        replaced.push_str(rest);
        replaced
    }
}

/// The name of a sample inside an archive.
pub(in crate::formats) fn is_sample(name: &str) -> bool {
    name.starts_with("samples/") && name.ends_with(".json")
}

/// Whether the names in an archive are those of a log.
pub(in crate::formats) fn is_log(names: &[String]) -> bool {
    names.iter().any(|name| name == "header.json" || name == "_journal/start.json")
}
