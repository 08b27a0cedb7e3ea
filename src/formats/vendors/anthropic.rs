//! Message lists of Anthropic's Messages API: calls and answers are blocks of content, all answers to the calls of one
//! message stand in the next one.

use super::messages::{self, blocks, has_blocks};
use crate::formats::effect::{By, Profile};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
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
    let conversations = messages::conversations(value, document);
    conversations.iter().any(|messages| has_blocks(*messages)).then_some("with messages that have 'tool_use' blocks")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    messages::each_conversation(record, out, |list, out| {
        for (number, one) in list.items().enumerate() {
            out.event(Event::Message(number));
            if messages::has_calls(one) || !one.is_object() {
                messages::message_of_any(one, number, out);
                continue;
            }
            if one.get("role").is_some_and(|role| role.is("assistant")) {
                out.event(Event::Window);
            }
            blocks(one, number, out);
        }
    });
}
