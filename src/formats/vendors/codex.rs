//! Codex CLI rollouts: the Responses API's items in envelopes, and events that repeat some of them and hold others
//! alone. Older files are bare items without times.

use super::{claude_code, responses};
use crate::formats::effect::Words;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Effect, Flags, Mark, Reason, Receipt, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// Codex CLI rollouts.
pub(in crate::formats) static CODEX: Format = Format {
    id: "codex",
    title: "Codex CLI rollout",
    found_in: "~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl, also .jsonl.zst, and ~/.codex/archived_sessions",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

/// The tools of Codex.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "codex",
    read_only: &[
        "read_file",
        "list_dir",
        "grep_files",
        "view_image",
        "web_search",
        "web_search_call",
        "tool_search",
        "tool_search_call",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
        "wait_agent",
        "wait",
    ],
    mutating: &["apply_patch", "artifacts", "file_change"],
    by_args: &[
        ("shell", By::Shell(&["command"])),
        ("shell_command", By::Shell(&["command"])),
        ("exec_command", By::Shell(&["cmd"])),
        ("local_shell", By::Shell(&["command"])),
        ("command_execution", By::Shell(&["command"])),
        ("write_stdin", By::EmptyPoll("chars")),
    ],
    session: &["update_plan", "request_user_input", "request_permissions", "todo_list"],
    containers: &["exec", "functions.exec", "js_repl", "spawn_agent", "send_input", "resume_agent", "close_agent"],
    polls: &["wait_agent", "wait"],
    others: Effect::Unknown,
    targets: &[("read_file", "file_path"), ("view_image", "path")],
    ignored: &[
        ("shell", &SHELL_LIMITS),
        ("shell_command", &SHELL_LIMITS),
        ("exec_command", &SHELL_LIMITS),
        ("local_shell", &SHELL_LIMITS),
        ("write_stdin", &["yield_time_ms", "max_output_tokens"]),
    ],
    varies: &["web_search", "web_search_call", "tool_search", "tool_search_call", "request_user_input"],
    words: Some(words),
};

/// Arguments of shell calls that are words for a person, limits, or how the call was asked for.
const SHELL_LIMITS: [&str; 9] = [
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "max_output_tokens",
    "justification",
    "with_escalated_permissions",
    "sandbox_permissions",
    "login",
    "tty",
];

/// What a command printed, and how it ended: Codex writes a header with times and ids above the output, and once wrote
/// both as JSON in a string.
fn words(response: Value<'_>) -> Option<Words> {
    let content = response.get("content")?;
    let content = content.as_str()?;
    if content.starts_with("{\"output\"") {
        let inner = view::only_value(content.as_bytes()).ok()?;
        let exit = inner.path(&["metadata", "exit_code"]).map_or(&b""[..], Value::text);
        return Some(Words::Own([exit, b"\n", inner.get("output")?.text()].concat()));
    }
    let known = ["Chunk ID: ", "Wall time: ", "Exit code: ", "Process exited with code ", "Total output lines: "];
    if !known.iter().any(|start| content.starts_with(start)) {
        return None;
    }
    let (head, output) = content.split_once("Output:\n")?;
    let codes = head.lines().filter(|line| line.starts_with("Exit code: ") || line.starts_with("Process exited with"));
    let own = codes.chain([output]).collect::<Vec<_>>().join("\n");
    Some(Words::Own(own.into_bytes()))
}

const ENVELOPES: [&str; 8] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
];
const BARE: [&str; 7] = [
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "message",
    "reasoning",
];

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let [kind, payload, record_type, id, time, instructions, role] =
        value.fields(&["type", "payload", "record_type", "id", "timestamp", "instructions", "role"]);
    if let Some(kind) = text(kind) {
        if payload.is_some() && ENVELOPES.contains(&&*kind) {
            return Some("with 'type' and 'payload', as Codex writes rollouts");
        }
        let bare = BARE.contains(&&*kind) && (kind != "message" || role.is_some()) && value.get("message").is_none();
        return (bare && !document).then_some("that are bare items, as Codex once wrote rollouts");
    }
    let first = id.is_some() && time.is_some() && instructions.is_some();
    (!document && (record_type.is_some_and(|kind| kind.is("state")) || first))
        .then_some("that are bare items, as Codex once wrote rollouts")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [kind, payload, time] = out.fields(record, &["type", "payload", "timestamp"]);
    let time = claude_code::time_of(time);
    out.moment(time);
    let Some(payload) = payload else {
        if kind.is_some() && !responses::item(record, time, Flags::default(), read_answer, out) {
            responses::silent(record, out);
        }
        return;
    };
    match &*text(kind).unwrap_or_default() {
        "session_meta" => {
            if let Some(id) = payload.str_at("id") {
                let at = out.place(record);
                out.event(Event::Session(id.into(), at, Code::ForkedHistory));
            }
        }
        "response_item" => {
            if !responses::item(payload, time, Flags::default(), read_answer, out) {
                responses::silent(payload, out);
            }
        }
        "event_msg" => event(payload, time, out),
        // what it holds are the old records again
        "compacted" => {
            out.note(Code::Compacted, "", record, "earlier calls are still in the file");
            out.apart(Apart::Compaction, None);
        }
        "turn_context" | "world_state" | "inter_agent_communication" | "inter_agent_communication_metadata" => {}
        other => out.unknown(other, record),
    }
}

/// Codex marks nothing: whether a call ran and how it ended stands in the words of its answer.
fn read_answer(answer: &mut ToolResult<'_>, output: Option<Value<'_>>) {
    let words = claude_code::first_text(output);
    let words = &words[..words.len().min(4096)];
    let has = |part: &str| memchr::memmem::find(words, part.as_bytes()).is_some();
    // what stands before the output of the command itself
    let head = memchr::memmem::find(words, b"Output:").map_or(words, |at| &words[..at]);
    let in_head = |part: &str| memchr::memmem::find(head, part.as_bytes()).is_some();
    if in_head("blocked by PreToolUse hook") {
        answer.mark = Some(Mark::NotExecuted(Reason::PermissionDenied));
    } else if in_head("rejected by user") || in_head("user rejected MCP tool call") {
        answer.mark = Some(Mark::NotExecuted(Reason::UserRejected));
    } else if words.starts_with(b"aborted") {
        answer.mark = Some(Mark::NoResult(Some("interrupted")));
    } else if in_head("Process running with session ID") {
        answer.mark = Some(Mark::Receipt(Receipt::StillRunning));
    }
    let exit = |text: &[u8], start: &str| {
        let at = memchr::memmem::find(text, start.as_bytes())? + start.len();
        text[at..].trim_ascii_start().first().copied()
    };
    // once the whole answer was JSON in a string, with the exit code at its end
    let old = words.starts_with(b"{\\\"output\\\"") && has("\\\"metadata\\\"");
    let code = exit(head, "Process exited with code ").or_else(|| exit(head, "Exit code: "));
    let code = code.or_else(|| old.then(|| exit(words, "\\\"exit_code\\\":")).flatten());
    answer.failed = code.is_some_and(|digit| digit != b'0') || words.starts_with(b"execution error");
}

/// Events that stand for calls. Where an item has the same id, the event only repeats it.
fn event(payload: Value<'_>, time: Option<i64>, out: &mut Out<'_>) {
    let kind = payload.str_at("type").unwrap_or_default();
    let [call_id, camel_id, success] = payload.fields(&["call_id", "callId", "success"]);
    let id = text(call_id).or_else(|| text(camel_id));
    let repeat = |tool: &str, args: Args<'_>, body: Option<Body<'_>>, failed: bool, out: &mut Out<'_>| {
        let mut flags = Flags::INTENT;
        if tool == "web_search" || tool == "image_generation" {
            flags.set(Flags::SERVER_SIDE);
            flags.set(Flags::TWICE);
        }
        let id = id.as_deref().map(|id| Cow::Owned(id.to_owned()));
        let call = Call { id, time, flags, ..Call::new(payload, Cow::Owned(tool.to_owned()), args) };
        let noted = out.call(call);
        if let Some(body) = body {
            let mut answer = ToolResult::new(payload, To::Call(noted), body);
            answer.secondary = true;
            answer.failed = failed;
            out.result(answer);
        }
    };
    let field = |name: &str| payload.get(name);
    let free = |name: &'static str| field(name).map_or(Args::Value(None), |value| Args::Free(name, value));
    let failed = success.and_then(Value::as_bool) == Some(false);
    match &*kind {
        "exec_command_end" => {
            let exit = field("exit_code").and_then(Value::as_i64);
            let body =
                view::made(&["aggregated_output", "exit_code", "stderr", "stdout"].map(|name| (name, field(name))));
            repeat("exec_command", free("command"), Some(Body::Made(body)), exit.is_some_and(|code| code != 0), out);
        }
        "patch_apply_end" => {
            let body = view::made(&["status", "stderr", "stdout", "success"].map(|name| (name, field(name))));
            repeat("apply_patch", free("changes"), Some(Body::Made(body)), failed, out);
        }
        "mcp_tool_call_end" => {
            let invocation = field("invocation");
            let inner = |name: &str| invocation.and_then(|invocation| invocation.get(name));
            let tool = format!(
                "mcp__{}__{}",
                text(inner("server")).unwrap_or_default(),
                text(inner("tool")).unwrap_or_default()
            );
            if let Some(hint) = field("read_only_hint").and_then(Value::as_bool) {
                let literal = serde_json::Value::from(&*tool).to_string().into_bytes();
                out.event(Event::Hint(literal.into(), if hint { Effect::ReadOnly } else { Effect::Mutates }));
            }
            let result = field("result");
            let part = |name: &str| result.and_then(|result| result.get(name));
            let error = part("Err");
            let body = match error {
                Some(error) => Some(Body::Made(view::made(&[("error", Some(error))]))),
                None => result.map(|result| Body::Value(Some(part("Ok").unwrap_or(result)))),
            };
            let args =
                inner("arguments").filter(|args| !args.is_null()).map_or(Args::Nothing, |args| Args::Value(Some(args)));
            repeat(&tool, args, body, error.is_some(), out);
        }
        "user_message" => out.apart(Apart::Person, None),
        // the sum so far
        "token_count" => out.usage(payload.path(&["info", "total_token_usage"]), Some("total"), None),
        "web_search_end" => {
            // as the item says it, which may have no id
            let made = view::made(&[("query", field("query"))]).replacen('}', ",\"type\":\"search\"}", 1);
            let args = match field("action").filter(|action| action.is_object()) {
                Some(action) => Args::Value(Some(action)),
                None => Args::Made(&made),
            };
            repeat("web_search", args, field("results").map(|r| Body::Value(Some(r))), false, out);
        }
        "image_generation_end" => {
            repeat("image_generation", Args::Nothing, field("result").map(|r| Body::Value(Some(r))), false, out)
        }
        "view_image_tool_call" => repeat("view_image", free("path"), None, false, out),
        "dynamic_tool_call_request" => {
            let tool = text(field("tool")).unwrap_or_default().into_owned();
            repeat(&tool, Args::Value(field("arguments")), None, false, out);
        }
        "dynamic_tool_call_response" => {
            if let Some(id) = id {
                let body = view::made(&["content_items", "error", "success"].map(|name| (name, field(name))));
                let mut answer = ToolResult::new(payload, To::Id(id), Body::Made(body));
                answer.failed = failed;
                answer.secondary = true;
                out.result(answer);
            }
        }
        "turn_complete"
        | "turn_completed"
        | "turn_started"
        | "turn_diff"
        | "undo_completed"
        | "undo_started"
        | "thread_name_updated"
        | "patch_apply_updated"
        | "thread_goal_updated"
        | "sub_agent_activity" => {}
        "thread_rolled_back" => {
            out.note(Code::RolledBack, "", payload, "the calls of the turns that were taken back ran")
        }
        "context_compacted" => out.note(Code::Compacted, "", payload, ""),
        other if other.starts_with("collab_") && other.ends_with("_end") => {
            let tool = other.strip_suffix("_end").unwrap_or(other).to_owned();
            repeat(&tool, Args::Free("event", payload), None, false, out);
        }
        // what they hold stands in items and in the events that end them
        other if SILENT.contains(&other) || other.ends_with("_begin") || other.ends_with("_delta") => {}
        other => out.unknown(other, payload),
    }
}

/// Events without calls of their own.
const SILENT: [&str; 40] = [
    "agent_message",
    "agent_message_content_delta",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "apply_patch_approval_request",
    "background_event",
    "deprecation_notice",
    "elicitation_request",
    "entered_review_mode",
    "error",
    "exec_approval_request",
    "exited_review_mode",
    "get_history_entry_response",
    "guardian_assessment",
    "hook_completed",
    "hook_started",
    "item_completed",
    "item_started",
    "list_custom_prompts_response",
    "list_skills_response",
    "mcp_list_tools_response",
    "mcp_startup_complete",
    "mcp_startup_update",
    "model_reroute",
    "plan_update",
    "raw_response_item",
    "realtime_conversation_started",
    "request_permissions",
    "request_user_input",
    "session_configured",
    "shutdown_complete",
    "skills_update_available",
    "stream_error",
    "task_complete",
    "task_started",
    "terminal_interaction",
    "token_count",
    "turn_aborted",
    "warning",
];
