//! GitHub Copilot CLI: events of a session, one a line. A message says what the model asked for; what was started and
//! how it ended are events of their own.

use super::claude_code;
use crate::formats::Format;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Effect, Flags, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};

/// Copilot CLI.
pub(in crate::formats) static COPILOT: Format = Format {
    id: "copilot-cli",
    title: "GitHub Copilot CLI session",
    found_in: "~/.copilot/session-state/<session>/events.jsonl",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "copilot",
    read_only: &["view", "glob", "grep", "rg", "read_bash", "list_bash", "web_fetch"],
    mutating: &[
        "create",
        "edit",
        "str_replace_editor",
        "apply_patch",
        "write_bash",
        "stop_bash",
        "store_memory",
        "powershell",
    ],
    by_args: &[("bash", By::Shell(&["command"])), ("shell", By::Shell(&["command"]))],
    session: &["report_intent", "update_todo"],
    containers: &["task"],
    polls: &["read_bash", "list_bash"],
    others: Effect::Unknown,
    ..Profile::NONE
};

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [kind, data] = value.fields(&["type", "data"]);
    let kind = text(kind)?;
    let (head, _) = kind.split_once('.')?;
    let known = matches!(head, "session" | "assistant" | "user" | "tool" | "subagent" | "system" | "hook" | "skill");
    (known && data?.is_object()).then_some("with events such as 'tool.execution_start', as Copilot CLI writes them")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [kind, data, time, agent] = record.fields(&["type", "data", "timestamp", "agentId"]);
    let (Some(kind), Some(data)) = (text(kind), data) else { return };
    let time = claude_code::time_of(time);
    out.moment(time);
    // older versions name the call that started the agent, newer ones the agent
    let agent = text(agent).filter(|agent| !agent.is_empty());
    let thread = data.str_at("parentToolCallId").or_else(|| agent.clone());
    match &*kind {
        "assistant.message" => {
            let turn = data.str_at("messageId");
            for request in out.listed(data.get("toolRequests"), "toolRequests") {
                let [id, name, args] = out.fields(request, &["toolCallId", "name", "arguments"]);
                out.call(Call {
                    id: text(id),
                    thread: thread.clone(),
                    time,
                    turn: turn.clone(),
                    flags: Flags::INTENT,
                    ..Call::new(request, text(name).unwrap_or_default(), Args::Text(args))
                });
            }
        }
        "tool.execution_start" => {
            let [id, name, args] = out.fields(data, &["toolCallId", "toolName", "arguments"]);
            let call = Call {
                id: text(id),
                thread,
                time,
                ..Call::new(record, text(name).unwrap_or_default(), Args::Text(args))
            };
            out.call(call);
        }
        "tool.execution_complete" => {
            let [id, success, result, error] = out.fields(data, &["toolCallId", "success", "result", "error"]);
            let body = match (result.filter(|result| !result.is_null()), error.filter(|error| !error.is_null())) {
                (result, Some(error)) => Body::Made(view::made(&[("error", Some(error)), ("result", result)])),
                (result, None) => Body::Value(result),
            };
            let mut answer = ToolResult::new(record, To::Id(text(id).unwrap_or_default()), body);
            answer.failed = success.and_then(Value::as_bool) == Some(false);
            out.result(answer);
        }
        "subagent.started" => {
            if let Some(id) = data.str_at("toolCallId") {
                let own = agent.unwrap_or_else(|| id.clone());
                if let Some(kind) = data.str_at("agentName") {
                    out.event(Event::Kind { thread: (&*own).into(), kind: kind.into() });
                }
                out.event(Event::Started { call: (&*id).into(), thread: (&*own).into() });
            }
        }
        "session.start" => {
            if let Some(id) = data.str_at("sessionId") {
                out.session(&id, record);
            }
        }
        "user.message" => out.apart(Apart::Person, None),
        "assistant.usage" => {
            let tokens = ["inputTokens", "outputTokens", "cacheReadTokens"];
            // its cost is counted in requests, not in money
            let said = view::made(&tokens.map(|name| (name, data.get(name))));
            out.usage(view::only_value(said.as_bytes()).ok(), None, thread.as_deref());
        }
        "session.truncation" | "session.compaction_complete" => {
            out.note(Code::Compacted, "", record, "earlier calls are still in the file");
            out.apart(Apart::Compaction, None);
        }
        other if SILENT.contains(&other.split('.').next().unwrap_or(other)) => {}
        other if SILENT_EVENTS.contains(&other) => {}
        other => out.unknown(other, record),
    }
}

/// Events of these families hold no calls.
const SILENT: [&str; 8] = ["session", "hook", "skill", "permission", "abort", "system", "model", "command"];
const SILENT_EVENTS: [&str; 12] = [
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.intent",
    "assistant.reasoning",
    "assistant.usage",
    "assistant.message_delta",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.user_requested",
    "subagent.completed",
    "subagent.failed",
    "subagent.selected",
];
