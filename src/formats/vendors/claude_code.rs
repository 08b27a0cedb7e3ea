//! Claude Code's session files: one record a line, calls and answers in the content blocks of messages.
//!
//! The agents that a session starts write files of their own under `<session>/subagents/`; where those are missing,
//! the session's progress records still hold what they did.

use crate::formats::Format;
use crate::formats::effect::Words;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{self, Args, Body, Call, Effect, Flags, Mark, Reason, Receipt, To, ToolResult};
use crate::formats::format::Companion;
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Claude Code session files.
pub(in crate::formats) static CLAUDE_CODE: Format = Format {
    id: "claude-code",
    title: "Claude Code session",
    found_in: "~/.claude/projects/<folder>/<session>.jsonl, with the agents' files in <session>/subagents/",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: Some(companions),
    unanswered: None,
    profile: &PROFILE,
};

/// The tools of Claude Code.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "claude-code",
    read_only: &[
        "Read",
        "Grep",
        "Glob",
        "LS",
        "LSP",
        "NotebookRead",
        "WebFetch",
        "WebSearch",
        "ToolSearch",
        "ListMcpResourcesTool",
        "ReadMcpResourceTool",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "BashOutput",
        "AgentOutputTool",
        "CronList",
        "AskUserQuestion",
        "ListAgents",
    ],
    mutating: &[
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "Artifact",
        "EnterWorktree",
        "ExitWorktree",
        "CronCreate",
        "CronDelete",
        "KillBash",
        "KillShell",
        "TaskStop",
        "SendMessage",
        // no shell grammar of ours reads it
        "PowerShell",
    ],
    by_args: &[("Bash", By::Shell(&["command"])), ("Monitor", By::Shell(&["command"]))],
    session: &["TodoWrite", "TaskCreate", "TaskUpdate", "EnterPlanMode", "ExitPlanMode"],
    containers: &["Task", "Agent", "Skill", "Workflow"],
    polls: &["BashOutput", "TaskOutput", "AgentOutputTool", "TaskGet", "TaskList"],
    others: Effect::Unknown,
    targets: &[
        ("Read", "file_path"),
        ("Write", "file_path"),
        ("Edit", "file_path"),
        ("MultiEdit", "file_path"),
        ("NotebookRead", "notebook_path"),
        ("NotebookEdit", "notebook_path"),
    ],
    ignored: &[
        ("Bash", &["description", "timeout", "run_in_background"]),
        ("Monitor", &["description", "timeout", "timeout_ms"]),
        ("BashOutput", &["wait_up_to"]),
        ("TaskOutput", &["timeout", "block"]),
        ("AgentOutputTool", &["wait_up_to", "block"]),
    ],
    varies: &["WebFetch", "WebSearch", "ToolSearch", "AskUserQuestion", "ListAgents", "ListMcpResourcesTool"],
    words: Some(words),
};

/// Newer versions answer a repeated Read with a sentence in place of the file.
fn words(response: Value<'_>) -> Option<Words> {
    let text = first_text(response.get("content"));
    text.starts_with(b"File unchanged since last read").then_some(Words::Unchanged)
}

/// Records without calls.
const SILENT: [&str; 22] = [
    "system",
    "progress",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "pr-link",
    "permission-mode",
    "mode",
    "last-prompt",
    "ai-title",
    "custom-title",
    "agent-name",
    "frame-link",
    "worktree-state",
    "relocated",
    "bridge-session",
    "continued-in",
    "started",
    "result",
    "tag",
    "x-error",
];

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [kind, session, sidechain, uuid, message, leaf, operation, snapshot, snake] = value.fields(&[
        "type",
        "sessionId",
        "isSidechain",
        "uuid",
        "message",
        "leafUuid",
        "operation",
        "snapshot",
        "session_id",
    ]);
    let kind = kind?.as_str()?;
    let own = match &*kind {
        "summary" => leaf.is_some(),
        "file-history-snapshot" => snapshot.is_some(),
        _ => (session.is_some() || sidechain.is_some()) && (uuid.is_some() || message.is_some() || operation.is_some()),
    };
    let other = snake.is_some() && session.is_none();
    (own && !other).then_some("with 'type', 'sessionId' and 'uuid', as Claude Code writes sessions")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [kind, message, time, agent, sidechain, uuid, parent, result, data, denial, session, cwd] = out.fields(
        record,
        &[
            "type",
            "message",
            "timestamp",
            "agentId",
            "isSidechain",
            "uuid",
            "parentUuid",
            "toolUseResult",
            "data",
            "toolDenialKind",
            "sessionId",
            "cwd",
        ],
    );
    out.cwd(cwd);
    let kind = kind.and_then(Value::as_str).unwrap_or_default();
    let text = |value: Option<Value<'_>>| value.and_then(Value::as_str).map(Cow::into_owned);
    if let Some(session) = text(session) {
        out.session(&session, record);
    }
    let mut frame = Frame { denied: denial.is_some(), ..Frame::claude(None, time_of(time)) };
    if sidechain.and_then(Value::as_bool) == Some(true) {
        frame.thread = Some(match text(agent) {
            Some(agent) => format!("agent:{agent}"),
            None => {
                if let Some(own) = text(uuid) {
                    out.event(Event::Link { own: own.into(), parent: text(parent).map(Into::into) });
                }
                String::new()
            }
        });
    }
    match &*kind {
        "assistant" | "user" => {
            let Some(message) = message else { return };
            if &*kind == "user" && frame.thread.is_none() {
                prompt(record, message, text(uuid), text(parent), out);
            }
            blocks(message, result, &frame, out);
        }
        "progress" => {
            let Some(data) = data.filter(|data| data.get("type").is_some_and(|kind| kind.is("agent_progress"))) else {
                return;
            };
            let [inner, agent] = data.fields(&["message", "agentId"]);
            let thread = format!("agent:{}", text(agent).unwrap_or_default());
            if let Some(call) = record.str_at("parentToolUseID") {
                out.event(Event::Started { call: call.into(), thread: thread.as_str().into() });
            }
            let Some(inner) = inner else { return };
            let [message, time, result] = inner.fields(&["message", "timestamp", "toolUseResult"]);
            frame.thread = Some(thread);
            frame.time = time_of(time).or(frame.time);
            if let Some(message) = message {
                blocks(message, result, &frame, out);
            }
        }
        "system" => {
            if record.get("subtype").is_some_and(|subtype| subtype.is("compact_boundary")) {
                out.note(Code::Compacted, "", record, "earlier calls are still in the file");
                out.apart(Apart::Compaction, frame.thread.as_deref());
            }
        }
        "" => out.unknown("no type", record),
        known if SILENT.contains(&known) => {}
        other => out.unknown(other, record),
    }
}

pub(in crate::formats) fn time_of(value: Option<Value<'_>>) -> Option<i64> {
    event::time(&value?.as_str()?)
}

/// A person's words: a second one behind the same record gives up a branch of the conversation.
fn prompt(record: Value<'_>, message: Value<'_>, own: Option<String>, parent: Option<String>, out: &mut Out<'_>) {
    let [meta, summary] = out.fields(record, &["isMeta", "isCompactSummary"]);
    let aside = [meta, summary].into_iter().flatten().any(|value| value.as_bool() == Some(true));
    let Some(content) = message.get("content").filter(|_| !aside) else { return };
    let words = match content.is_array() {
        true => !content.items().any(|block| block.get("type").is_some_and(|kind| kind.is("tool_result"))),
        false => !content.text().starts_with(b"\"<") && !content.text().starts_with(b"\"[Request"),
    };
    if words {
        out.apart(Apart::Person, None);
    }
    let (Some(own), Some(parent)) = (own, parent) else { return };
    if words {
        let at = out.place(record);
        out.event(Event::Prompt { own: own.into(), parent: parent.into(), at });
    }
}

/// What the blocks of a message have in common.
pub(in crate::formats) struct Frame {
    /// The agent; empty: the one of the linked record.
    pub(in crate::formats) thread: Option<String>,
    pub(in crate::formats) time: Option<i64>,
    /// The turn of messages without an id.
    pub(in crate::formats) turn: Option<String>,
    /// What is the same for all calls.
    pub(in crate::formats) flags: Flags,
    /// The words that Claude Code answers with are its own: they say whether a call ran.
    pub(in crate::formats) words: bool,
    /// The record says that the call was denied.
    pub(in crate::formats) denied: bool,
}

impl Frame {
    /// Messages of Claude Code.
    pub(in crate::formats) fn claude(thread: Option<String>, time: Option<i64>) -> Frame {
        Frame { thread, time, turn: None, flags: Flags::default(), words: true, denied: false }
    }
}

/// The calls and answers of a message. `rich` is the structured answer beside it.
pub(in crate::formats) fn blocks(message: Value<'_>, rich: Option<Value<'_>>, frame: &Frame, out: &mut Out<'_>) {
    let [id, content, used] = message.fields(&["id", "content", "usage"]);
    out.moment(frame.time);
    out.usage(used, id.and_then(Value::as_str).as_deref(), frame.thread.as_deref());
    let turn = id.and_then(Value::as_str).map(Cow::into_owned).or_else(|| frame.turn.clone());
    let Some(content) = content else { return };
    let names = ["type", "id", "name", "input", "server_name", "tool_use_id", "content", "is_error"];
    out.each_fields(content, &names, |block, [kind, id, name, input, server, to, answer, error], out| {
        let kind = kind.and_then(Value::as_str).unwrap_or_default();
        match &*kind {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let mut tool = name.and_then(Value::as_str).unwrap_or_default();
                if let Some(server) = server.and_then(Value::as_str) {
                    tool = Cow::Owned(format!("mcp__{server}__{tool}"));
                }
                let mut flags = frame.flags;
                if frame.words && matches!(&*tool, "Task" | "Agent") {
                    flags.set(Flags::SPAWNS);
                }
                if &*kind != "tool_use" {
                    flags.set(Flags::SERVER_SIDE);
                }
                out.call(Call {
                    at: block,
                    id: id.and_then(Value::as_str),
                    thread: frame.thread.as_deref().map(Cow::Borrowed),
                    time: frame.time,
                    turn: turn.as_deref().map(Cow::Borrowed),
                    tool,
                    args: Args::Value(input),
                    flags,
                });
            }
            kind if kind == "tool_result" || kind.ends_with("_tool_result") => {
                result(block, [to, answer, error], rich, frame, out);
            }
            silent if SILENT_BLOCKS.contains(&silent) => {}
            other => out.unknown(other, block),
        }
    });
    if !content.is_array() && !content.is_string() && !content.is_null() {
        out.unknown("content", content);
    }
}

/// Blocks of content that neither call nor answer.
const SILENT_BLOCKS: [&str; 10] = [
    "text",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "tool_reference",
    "container_upload",
    "fallback",
    "compaction",
];

/// An answer in a content block.
fn result<'v>(
    block: Value<'v>,
    [id, content, error]: [Option<Value<'v>>; 3],
    rich: Option<Value<'_>>,
    frame: &Frame,
    out: &mut Out<'_>,
) {
    let to = To::Id(id.and_then(Value::as_str).unwrap_or_default());
    // often the longest part of the line; what is asked for comes with a member whose name ends so
    let telling = rich.filter(|rich| memchr::memmem::find(rich.text(), b"Id\"").is_some());
    let [agent, is_async, background] =
        telling.map_or([None; 3], |rich| rich.fields(&["agentId", "isAsync", "backgroundTaskId"]));
    if let (To::Id(id), Some(agent)) = (&to, agent.and_then(Value::as_str)) {
        out.event(Event::Started { call: (&**id).into(), thread: format!("agent:{agent}").into() });
    }
    let mut answer = ToolResult::new(block, to, Body::Value(content));
    answer.error = error.and_then(Value::as_bool);
    if frame.words {
        read_outcome(&mut answer, content, rich, frame.denied);
        read_receipt(&mut answer, content, rich.is_none(), is_async, background);
    }
    out.result(answer);
}

/// What an answer says about itself. Words count only in an answer that is marked as an error: a file that a tool read
/// may hold them as well.
fn read_outcome(answer: &mut ToolResult<'_>, content: Option<Value<'_>>, rich: Option<Value<'_>>, denied: bool) {
    let text = first_text(content);
    let starts = |start: &str| text.starts_with(start.as_bytes());
    let has = |part: &str| memchr::memmem::find(&text[..text.len().min(600)], part.as_bytes()).is_some();
    let not = |reason| Some(Mark::NotExecuted(reason));
    if answer.error == Some(true) || denied {
        answer.failed = true;
        let rejected = rich.is_some_and(|rich| rich.is("User rejected tool use"));
        let words = &text[..text.len().min(600)];
        let any = |parts: &[&str]| parts.iter().any(|part| memchr::memmem::find(words, part.as_bytes()).is_some());
        answer.mark =
            if rejected || starts("The user doesn't want to proceed") || starts("The user doesn't want to take") {
                not(Reason::UserRejected)
            } else if has("Sibling tool call errored") || has("Cancelled: parallel tool call") {
                // stopped, and nobody knows how far it had come
                Some(Mark::NoResult(Some("sibling_error")))
            } else if DENIED.iter().any(|words| any(words)) && !starts("Exit code ") {
                not(Reason::PermissionDenied)
            } else if starts("<tool_use_error>InputValidationError") || has("No such tool available") {
                not(Reason::ParseError)
            } else if has("Permission prompt was aborted") {
                not(Reason::Cancelled)
            } else if denied {
                not(Reason::PermissionDenied)
            } else {
                None
            };
        answer.no_effect = starts("<tool_use_error>") && !matches!(answer.mark, Some(Mark::NoResult(_)));
    }
    if starts("[Request interrupted by user for tool use]") {
        answer.mark = answer.mark.or(Some(Mark::NoResult(Some("interrupted"))));
    }
}

/// What Claude Code says of calls that it did not let run.
const DENIED: [&[&str]; 4] = [
    &["haven't granted it yet", "has been denied.", "has been denied by", "auto-denied", "requires approval"],
    &["Permission for this action was denied", "Permission for this command was denied", "Permission for this tool"],
    &["PreToolUse:", "PreToolUse hook", "denied by hook", "blocked by hook"],
    &["was blocked. For security", "denied by permission", "denied by the Claude Code"],
];

/// Whether an answer is only a receipt, or a part. `bare`: nothing but the words tells.
fn read_receipt(
    answer: &mut ToolResult<'_>,
    content: Option<Value<'_>>,
    bare: bool,
    is_async: Option<Value<'_>>,
    background: Option<Value<'_>>,
) {
    if answer.mark.is_some() || answer.error == Some(true) {
        return;
    }
    let text = first_text(content);
    let starts = |start: &str| text.starts_with(start.as_bytes());
    let is_async = is_async.and_then(Value::as_bool) == Some(true);
    answer.mark = if is_async || bare && starts("Async agent launched successfully") {
        Some(Mark::Receipt(Receipt::AsyncAgent))
    } else if background.is_some_and(|task| !task.is_null()) || bare && starts("Command running in background with ID")
    {
        Some(Mark::Receipt(Receipt::Background))
    } else if starts("<persisted-output>") {
        Some(Mark::Truncated)
    } else {
        None
    };
}

/// The text of an answer, escapes as they are: of a list, its first text.
pub(in crate::formats) fn first_text(content: Option<Value<'_>>) -> &[u8] {
    let text = match content {
        Some(content) if content.is_array() => content.items().find_map(|item| item.get("text")),
        other => other,
    };
    text.map_or(&[], |text| text.text().strip_prefix(b"\"").unwrap_or(b""))
}

/// The agents' files of a session. Links are not followed, and the helper that compacts only repeats the session.
fn companions(session: &Path) -> Vec<Companion> {
    let mut found = Vec::new();
    let mut folders = vec![session.with_extension("").join("subagents")];
    while let Some(folder) = folders.pop() {
        let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let Some(entries) = is_folder.then(|| folder.read_dir().ok()).flatten() else { continue };
        for entry in entries.flatten() {
            let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type());
            if kind.as_ref().is_ok_and(|kind| kind.is_dir()) && folders.len() < 1000 {
                folders.push(entry.path());
            }
            let agent = name.starts_with("agent-") && !name.starts_with("agent-acompact-") && name.ends_with(".jsonl");
            if agent && kind.is_ok_and(|kind| kind.is_file()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found.into_iter().map(|path| Companion { told: told(&path), thread: None, path }).collect()
}

/// What the file beside an agent's says of it: the call that started it, and its kind.
fn told(agent: &Path) -> Vec<Event> {
    let Some(name) = agent.file_stem().and_then(|stem| stem.to_str()?.strip_prefix("agent-")) else {
        return Vec::new();
    };
    let beside = agent.with_file_name(format!("agent-{name}.meta.json"));
    // what is no small file of its own is not opened
    let small = beside.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
    let text = small.then(|| std::fs::read(&beside).ok()).flatten();
    let Some(said) = text.as_deref().and_then(|text| view::only_value(text.trim_ascii()).ok()) else {
        return Vec::new();
    };
    let thread: Box<str> = format!("agent:{name}").into();
    let call = said.str_at("toolUseId").map(|call| Event::Started { call: call.into(), thread: thread.clone() });
    let kind = said.str_at("agentType").map(|kind| Event::Kind { kind: kind.into(), thread: thread.clone() });
    call.into_iter().chain(kind).collect()
}

/// The session that an agent's file belongs to, if it is there.
pub(in crate::formats) fn session_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    if !name.starts_with("agent-") && name != "journal.jsonl" {
        return None;
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == "subagents"))?;
    let session = folder.parent()?;
    let session = session.with_file_name(format!("{}.jsonl", session.file_name()?.to_string_lossy()));
    session.is_file().then_some(session)
}
