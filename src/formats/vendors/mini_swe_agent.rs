//! mini-swe-agent trajectories: shell commands in fenced text, their output in the next message; newer ones have real
//! calls.

use super::messages;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Mark, Noted, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{Value, text};
use std::borrow::Cow;

/// mini-swe-agent.
pub(in crate::formats) static MINI_SWE_AGENT: Format = Format {
    id: "mini-swe-agent",
    title: "mini-swe-agent trajectory",
    found_in: "*.traj.json",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

pub(in crate::formats) static PROFILE: Profile =
    Profile { name: "mini-swe-agent", by_args: &[("bash", By::Shell(&["command"]))], ..Profile::NONE };

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    if value.str_at("trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent")) {
        return Some("whose 'trajectory_format' begins with mini-swe-agent");
    }
    (document && value.is_array() && has_fences(value))
        .then_some("that is a list of messages with fenced commands and return codes")
}

/// Whether a message list is of this agent: no structured calls, and answers that begin with a return code.
pub(in crate::formats) fn has_fences(messages: Value<'_>) -> bool {
    let mut answers = messages.items().filter(|message| message.get("role").is_some_and(|role| role.is("user")));
    answers.any(|message| words(message).trim_start().starts_with("<returncode>"))
        && !messages::has_chat_calls(messages)
}

/// The text of a message.
fn words(message: Value<'_>) -> Cow<'_, str> {
    let content = message.get("content");
    match content.filter(|content| content.is_array()) {
        Some(parts) => parts.items().find_map(|part| part.str_at("text")).unwrap_or_default(),
        None => text(content).unwrap_or_default(),
    }
}

/// The command of the one fenced block of a text; of none and of several there is no command.
fn command(text: &str) -> Option<&str> {
    let mut found = None;
    for fence in ["```bash\n", "```mswea_bash_command\n"] {
        for (at, _) in text.match_indices(fence) {
            let inner = &text[at + fence.len()..];
            let end = inner.find("\n```")?;
            if found.replace(&inner[..end]).is_some() {
                return None;
            }
        }
    }
    found
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let messages = record.get("messages").unwrap_or(record);
    out.event(Event::Scope);
    if messages::has_chat_calls(messages) {
        for (number, message) in messages.items().enumerate() {
            messages::one(message, number, out);
        }
        return;
    }
    let mut open: Option<Noted> = None;
    for message in out.listed(Some(messages), "messages") {
        let role = message.str_at("role").unwrap_or_default();
        match (&*role, open) {
            ("assistant", _) => {
                open = command(&words(message)).map(|command| {
                    let args = serde_json::json!({ "command": command }).to_string();
                    out.call(Call { id: None, ..Call::new(message, Cow::Borrowed("bash"), Args::Made(&args)) })
                });
            }
            ("user", Some(call)) => {
                let said = words(message);
                let mut answer = ToolResult::new(message, To::Call(call), Body::Value(message.get("content")));
                let code = said.trim_start().strip_prefix("<returncode>").and_then(|rest| rest.split('<').next());
                answer.failed = code.is_some_and(|code| code.trim() != "0");
                if said.contains("elided chars") || said.contains("<output_head>") {
                    answer.mark = Some(Mark::Truncated);
                }
                out.result(answer);
                open = None;
            }
            // an exit code of no command that is here
            ("user", None) if words(message).trim_start().starts_with("<returncode>") => {
                out.result(ToolResult::new(message, To::Id(Cow::Borrowed("")), Body::Value(message.get("content"))));
            }
            _ => {}
        }
    }
}
