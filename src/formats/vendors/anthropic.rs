//! Message lists of Anthropic's Messages API: calls and answers are blocks of content, all answers to the calls of one
//! message stand in the next one.

use super::claude_code::{self, Frame};
use super::openai;
use crate::formats::effect::{By, Profile};
use crate::formats::event::Flags;
use crate::formats::format::Format;
use crate::formats::normalize::{Apart, Event, Out};
use crate::json::view::Value;

/// Messages of the Messages API.
pub(in crate::formats) static ANTHROPIC: Format = Format {
    id: "anthropic-messages",
    title: "Anthropic messages",
    found_in: "what a program logs: a list of messages, or {\"messages\": […]} (also one a line, also in a list)",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

/// Tools that Anthropic defines; all others are the user's own.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "anthropic",
    read_only: &["web_search", "web_fetch", "tool_search"],
    by_args: &[
        ("bash", By::Shell(&["command"])),
        ("str_replace_based_edit_tool", By::Field("command", &["view"])),
        ("str_replace_editor", By::Field("command", &["view"])),
        ("text_editor", By::Field("command", &["view"])),
        ("memory", By::Field("command", &["view"])),
        ("computer", By::Field("action", &["screenshot", "cursor_position", "mouse_move", "wait", "zoom"])),
    ],
    ..Profile::NONE
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let conversations = openai::conversations(value, document);
    conversations.iter().any(|messages| has_blocks(*messages)).then_some("with messages that have 'tool_use' blocks")
}

/// Whether a message of a list has blocks that are calls or answers.
pub(in crate::formats) fn has_blocks(messages: Value<'_>) -> bool {
    messages.items().filter_map(|message| message.get("content")).any(|content| content.items().any(is_block))
}

/// Whether a block of content is a call or a result.
pub(in crate::formats) fn is_block(block: Value<'_>) -> bool {
    block.str_at("type").is_some_and(|kind| {
        matches!(&*kind, "tool_use" | "tool_result" | "server_tool_use" | "mcp_tool_use")
            || kind.ends_with("_tool_result")
    })
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    openai::each_conversation(record, out, |messages, out| {
        for (number, one) in messages.items().enumerate() {
            out.event(Event::Message(number));
            if openai::has_calls(one) || !one.is_object() {
                openai::message_of_any(one, number, out);
                continue;
            }
            if one.get("role").is_some_and(|role| role.is("assistant")) {
                out.event(Event::Window);
            }
            message(one, number, out);
        }
    });
}

/// The blocks of a message.
pub(in crate::formats) fn message(message: Value<'_>, number: usize, out: &mut Out<'_>) {
    let results = |content: Value<'_>| content.items().any(|block| block.get("tool_use_id").is_some());
    let from_a_person = message.get("role").is_some_and(|role| role.is("user"));
    if from_a_person && !message.get("content").is_some_and(results) {
        out.apart(Apart::Person, None);
    }
    out.odd_members(message, &["tool_calls", "function_call", "tool_call_id", "tool_call_ids"], "message");
    let turn = Some(number.to_string());
    let frame = Frame { thread: None, time: None, turn, flags: Flags::NO_COPY, words: false, denied: false };
    claude_code::blocks(message, None, &frame, out);
}
