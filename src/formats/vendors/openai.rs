//! Message lists of OpenAI's chat completions, as harnesses keep them. Ids repeat within one conversation, so an answer
//! belongs first to the calls of the message before it.

use super::{messages, mini_swe_agent};
use crate::formats::effect::Profile;
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::Value;

/// Chat messages.
pub(in crate::formats) static OPENAI_CHAT: Format = Format {
    id: "openai-chat",
    title: "OpenAI chat messages",
    found_in: "what a program logs: a list of messages, {\"messages\": […]} or {\"traj\": […]} (also one a line, also in a list)",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    // the names are the user's own: no default would be honest
    profile: &Profile::NONE,
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let mut any = false;
    for list in messages::conversations(value, document) {
        any = true;
        if messages::has_blocks(list) || mini_swe_agent::has_fences(list) {
            return None;
        }
    }
    any.then_some("with lists of messages that have 'role' and 'content'")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    messages::each_conversation(record, out, |list, out| {
        for (number, message) in list.items().enumerate() {
            out.event(Event::Message(number));
            messages::message_of_any(message, number, out);
        }
    });
}
