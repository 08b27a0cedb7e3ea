//! Gemini CLI: chat files (one document), its newer files of records that are written again as they grow, and its
//! stream-json output. Qwen Code writes the same.

use super::claude_code;
use crate::formats::Format;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Effect, Flags, Mark, Reason, To, ToolResult};
use crate::formats::format::Companion;
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Gemini CLI.
pub(in crate::formats) static GEMINI: Format = Format {
    id: "gemini-cli",
    title: "Gemini CLI session",
    found_in: "~/.gemini/tmp/<project>/chats/session-*.json and .jsonl, or 'gemini --output-format stream-json'",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: Some(companions),
    unanswered: None,
    profile: &PROFILE,
};

/// The tools of Gemini CLI.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "gemini",
    read_only: &[
        "read_file",
        "read_many_files",
        "list_directory",
        "glob",
        "grep_search",
        "search_file_content",
        "google_web_search",
        "web_fetch",
        "get_internal_docs",
        "list_mcp_resources",
        "read_mcp_resource",
        "ask_user",
    ],
    mutating: &["write_file", "replace", "save_memory"],
    by_args: &[("run_shell_command", By::Shell(&["command"]))],
    session: &[
        "write_todos",
        "tracker_create_task",
        "tracker_update_task",
        "tracker_get_task",
        "tracker_list_tasks",
        "tracker_add_dependency",
        "tracker_visualize",
        "enter_plan_mode",
        "exit_plan_mode",
        "update_topic",
        "complete_task",
    ],
    containers: &["invoke_agent", "activate_skill"],
    polls: &[],
    others: Effect::Unknown,
    ..Profile::NONE
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let [session, project, messages, set, rewind, kind, id, time, tool] = value.fields(&[
        "sessionId",
        "projectHash",
        "messages",
        "$set",
        "$rewindTo",
        "type",
        "id",
        "timestamp",
        "tool_name",
    ]);
    if session.is_some() && project.is_some() {
        return Some(if messages.is_some() { "with 'sessionId', 'projectHash' and 'messages'" } else { RECORDS });
    }
    if document {
        return None;
    }
    let kind = text(kind).unwrap_or_default();
    let message = id.is_some()
        && time.is_some()
        && matches!(&*kind, "user" | "gemini" | "info" | "warning")
        && value.fields(&["content", "parentUuid", "message", "sessionId"])[1..].iter().all(Option::is_none);
    if set.is_some() || rewind.is_some() || message {
        return Some(RECORDS);
    }
    let stream = match &*kind {
        "tool_use" => tool.is_some(),
        "tool_result" => value.get("tool_id").is_some(),
        _ => false,
    };
    stream.then_some("with 'tool_name' and 'tool_id', as Gemini CLI prints them with stream-json")
}

const RECORDS: &str = "with records as Gemini CLI writes them";

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [messages, set, rewind, kind, session] = record.fields(&["messages", "$set", "$rewindTo", "type", "sessionId"]);
    if let Some(session) = text(session) {
        out.session(&session, record);
    }
    if rewind.is_some() {
        return out.note(Code::RolledBack, "", record, "the calls that were taken back ran");
    }
    let lists = [messages, set.and_then(|set| set.get("messages"))];
    if lists.iter().any(Option::is_some) {
        return lists.into_iter().flatten().flat_map(Value::items).for_each(|message| one(message, out));
    }
    match &*text(kind).unwrap_or_default() {
        "tool_use" => {
            let [id, tool, args, time] = out.fields(record, &["tool_id", "tool_name", "parameters", "timestamp"]);
            let time = claude_code::time_of(time);
            let turn = Some(Cow::Borrowed(""));
            out.call(Call {
                id: text(id),
                time,
                turn,
                ..Call::new(record, text(tool).unwrap_or_default(), Args::Value(args))
            });
        }
        "tool_result" => {
            let [id, status, output, error, time] =
                out.fields(record, &["tool_id", "status", "output", "error", "timestamp"]);
            out.moment(claude_code::time_of(time));
            let body = match error.filter(|error| !error.is_null()) {
                Some(error) => Body::Made(view::made(&[("error", Some(error)), ("output", output)])),
                None => Body::Value(output),
            };
            let mut answer = ToolResult::new(record, To::Id(text(id).unwrap_or_default()), body);
            answer.failed = status.is_some_and(|status| status.is("error"));
            out.result(answer);
        }
        _ => one(record, out),
    }
}

/// One message: its calls stand in it with their answers.
fn one(message: Value<'_>, out: &mut Out<'_>) {
    let [id, calls, time, kind] = message.fields(&["id", "toolCalls", "timestamp", "type"]);
    out.odd_members(message, &["toolCalls"], "message");
    out.usage(message.get("tokens"), text(id).as_deref(), None);
    if kind.is_some_and(|kind| kind.is("user")) {
        out.apart(Apart::Person, None);
    }
    let turn = text(id);
    for call in out.listed(calls, "toolCalls") {
        let [id, name, args, result, status, own_time, agent] =
            out.fields(call, &["id", "name", "args", "result", "status", "timestamp", "agentId"]);
        let mut flags = Flags::default();
        // the agent that the call started, whose records are in a file of their own
        if let (Some(agent), Some(id)) = (text(agent), text(id)) {
            flags.set(Flags::SPAWNS);
            out.event(Event::Started { call: id.into(), thread: format!("agent:{agent}").into() });
        }
        let noted = out.call(Call {
            id: text(id),
            flags,
            time: claude_code::time_of(own_time).or(claude_code::time_of(time)),
            turn: turn.as_deref().map(Cow::Borrowed),
            ..Call::new(call, text(name).unwrap_or_default(), Args::Value(args))
        });
        let cancelled = status.is_some_and(|status| status.is("cancelled"));
        let result = result.filter(|result| !result.is_null());
        if result.is_none() && !cancelled {
            continue;
        }
        let parts: Vec<Value<'_>> = result.into_iter().flat_map(Value::items).collect();
        // one part is the usual case: what the tool answered is inside it
        let body = match parts[..] {
            [part] => part.path(&["functionResponse", "response"]).or(result),
            _ => result,
        };
        let mut answer = ToolResult::new(call, To::Call(noted), Body::Value(body));
        answer.failed = status.is_some_and(|status| status.is("error"));
        answer.mark = cancelled.then_some(Mark::NotExecuted(Reason::Cancelled));
        answer.last_wins = true;
        out.result(answer);
    }
}

/// The files of the agents that a session started: in a folder beside it that has the session's id for a name, of which
/// the session's own name holds the start.
fn companions(session: &Path) -> Vec<Companion> {
    let (Some(folder), Some(short)) = (session.parent(), short_id(session)) else { return Vec::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let own = entry.file_name().to_str().is_some_and(|name| name.starts_with(&short));
        if !own || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        for file in entry.path().read_dir().into_iter().flatten().flatten() {
            let path = file.path();
            let recording = path.extension().is_some_and(|extension| extension == "jsonl");
            if recording && file.file_type().is_ok_and(|kind| kind.is_file()) {
                let thread = path.file_stem().map(|stem| format!("agent:{}", stem.to_string_lossy()));
                found.push(Companion { path, thread, told: Vec::new() });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The start of a session's id: the end of its file's name.
fn short_id(session: &Path) -> Option<String> {
    let stem = session.file_stem()?.to_str()?.strip_prefix("session-")?;
    let id = stem.rsplit('-').next()?;
    (id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

/// The session that an agent's file belongs to, if it is there.
pub(in crate::formats) fn session_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let id = folder.file_name()?.to_str()?;
    let beside = folder.parent()?;
    let beside = if beside.as_os_str().is_empty() { Path::new(".") } else { beside };
    if id.len() < 36 || path.extension()? != "jsonl" {
        return None;
    }
    let mut sessions: Vec<PathBuf> = beside.read_dir().ok()?.flatten().map(|entry| entry.path()).collect();
    sessions.retain(|session| session.is_file() && short_id(session).is_some_and(|short| id.starts_with(&short)));
    sessions.into_iter().min()
}
