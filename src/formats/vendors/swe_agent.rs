//! SWE-agent trajectories: the history of messages where it holds structured calls, else the actions as text.

use super::messages;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Mark, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{Value, text};
use std::borrow::Cow;

/// SWE-agent.
pub(in crate::formats) static SWE_AGENT: Format = Format {
    id: "swe-agent",
    title: "SWE-agent trajectory",
    found_in: "trajectories/…/*.traj",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "swe-agent",
    read_only: &["open", "goto", "scroll_up", "scroll_down", "find_file", "search_file", "search_dir", "filemap"],
    mutating: &["create", "insert", "edit", "submit"],
    by_args: &[("bash", By::Shell(&["command"])), ("str_replace_editor", By::Field("command", &["view"]))],
    ..Profile::NONE
};

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    let [history, trajectory, info, format] = value.fields(&["history", "trajectory", "info", "trajectory_format"]);
    let steps = trajectory.is_some_and(|steps| steps.items().any(|step| step.get("action").is_some()));
    let messages = history.is_some_and(|list| list.items().any(|message| message.get("role").is_some()));
    (document && format.is_none() && (steps && info.is_some() || messages))
        .then_some("with the 'trajectory' and 'history' of SWE-agent")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [history, trajectory] = record.fields(&["history", "trajectory"]);
    out.event(Event::Scope);
    if let Some(history) = history.filter(|history| messages::has_chat_calls(*history)) {
        for (number, message) in history.items().enumerate() {
            messages::one(message, number, out);
        }
        return;
    }
    for step in out.listed(trajectory, "trajectory") {
        let [action, observation] = out.fields(step, &["action", "observation"]);
        let Some(action) = action else { continue };
        let call =
            Call { id: None, ..Call::new(step, Cow::Borrowed("swe_agent_action"), Args::Free("action", action)) };
        let noted = out.call(call);
        if let Some(observation) = observation {
            let mut answer = ToolResult::new(step, To::Call(noted), Body::Value(Some(observation)));
            if text(Some(observation)).is_some_and(|words| words.starts_with("Old environment output:")) {
                answer.mark = Some(Mark::Truncated);
            }
            out.result(answer);
        }
    }
}
