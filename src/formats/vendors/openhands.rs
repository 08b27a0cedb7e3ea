//! OpenHands: the events of a conversation, as a list of actions and observations or, newer, one a line.

use super::claude_code;
use crate::formats::Format;
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Mark, Reason, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{self, Value, text};

/// OpenHands.
pub(in crate::formats) static OPENHANDS: Format = Format {
    id: "openhands",
    title: "OpenHands events",
    found_in: "the events of a conversation: a list of actions and observations, the SDK's events, one a line, or an evaluation's output.jsonl",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &PROFILE,
};

/// The tools of OpenHands.
pub(in crate::formats) static PROFILE: Profile = Profile {
    name: "openhands",
    read_only: &["read", "browse", "think", "recall", "finish"],
    mutating: &["edit", "write", "delegate", "browse_interactive", "run_ipython"],
    by_args: &[
        ("run", By::Shell(&["command"])),
        ("execute_bash", By::Shell(&["command"])),
        ("terminal", By::Shell(&["command"])),
        ("file_editor", By::Field("command", &["view"])),
        ("str_replace_editor", By::Field("command", &["view"])),
    ],
    session: &["task_tracker"],
    ..Profile::NONE
};

/// Actions that call no tool.
const NO_TOOLS: [&str; 7] = ["finish", "message", "recall", "system", "change_agent_state", "condensation", "null"];

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    if value.is_array() {
        let fits = document && value.items().take(20).any(|event| recognise(event, false).is_some());
        return fits.then_some("that is a list of actions and observations");
    }
    if is_evaluation(value) {
        return Some("with a 'history' of events, as evaluations of OpenHands write them");
    }
    let [id, source, action, observation, kind, args, content] =
        value.fields(&["id", "source", "action", "observation", "kind", "args", "content"]);
    if id.is_none() || source.is_none() {
        return None;
    }
    if kind.and_then(Value::as_str).is_some_and(|kind| kind.ends_with("Event") || kind.ends_with("Observation")) {
        return Some("with 'kind' and 'source', as the OpenHands SDK writes events");
    }
    let old =
        action.is_some_and(|action| action.is_string()) && args.is_some() || observation.is_some() && content.is_some();
    old.then_some("with 'action' or 'observation' and 'source', as OpenHands writes events")
}

/// A row of an evaluation: what was asked, and the events that came of it.
fn is_evaluation(row: Value<'_>) -> bool {
    let [instance, history] = row.fields(&["instance_id", "history"]);
    let event = |item: Value<'_>| match item.is_array() {
        true => item.items().any(|event| recognise(event, false).is_some()),
        false => recognise(item, false).is_some(),
    };
    instance.is_some() && history.is_some_and(|history| history.items().take(20).any(event))
}

fn extract(event: Value<'_>, out: &mut Out<'_>) {
    if let Some(history) = event.get("history").filter(|_| event.get("instance_id").is_some()) {
        out.event(Event::Scope);
        for item in history.items() {
            match item.is_array() {
                // once an action and its observation
                true => item.items().for_each(|event| extract(event, out)),
                false => extract(item, out),
            }
        }
        return;
    }
    out.moment(claude_code::time_of(event.get("timestamp")));
    out.usage(event.path(&["llm_metrics", "accumulated_token_usage"]), Some("total"), None);
    match event.str_at("kind") {
        Some(kind) => new_event(event, &kind, out),
        None => old_event(event, out),
    }
}

fn new_event(event: Value<'_>, kind: &str, out: &mut Out<'_>) {
    let [tool, id, action, call, turn, time, observation, error] = out.fields(
        event,
        &["tool_name", "tool_call_id", "action", "tool_call", "llm_response_id", "timestamp", "observation", "error"],
    );
    let id = text(id);
    match kind {
        "ActionEvent" => {
            let arguments = call.and_then(|call| call.get("arguments"));
            let args = arguments.map_or(Args::Value(action), |arguments| Args::Text(Some(arguments)));
            let time = claude_code::time_of(time);
            out.call(Call { id, time, turn: text(turn), ..Call::new(event, text(tool).unwrap_or_default(), args) });
        }
        "ObservationEvent" => {
            let body = observation.map_or(Body::Value(None), |observation| Body::Value(Some(observation)));
            let mut answer = ToolResult::new(event, To::Id(id.unwrap_or_default()), body);
            let part = |name: &str| observation.and_then(|observation| observation.get(name));
            let exit = part("exit_code").and_then(Value::as_i64);
            answer.failed =
                part("is_error").and_then(Value::as_bool) == Some(true) || exit.is_some_and(|code| code != 0);
            out.result(answer);
        }
        "AgentErrorEvent" => {
            let body = Body::Made(view::made(&[("error", error)]));
            let mut answer = ToolResult::new(event, To::Id(id.unwrap_or_default()), body);
            answer.failed = true;
            out.result(answer);
        }
        "UserRejectObservation" => {
            let body = Body::Made(view::made(&[("rejection_reason", event.get("rejection_reason"))]));
            let mut answer = ToolResult::new(event, To::Id(id.unwrap_or_default()), body);
            answer.mark = Some(Mark::NotExecuted(Reason::UserRejected));
            out.result(answer);
        }
        "MessageEvent"
        | "SystemPromptEvent"
        | "ConversationStateUpdateEvent"
        | "PauseEvent"
        | "Condensation"
        | "CondensationRequest"
        | "CondensationSummaryEvent"
        | "ConversationErrorEvent"
        | "TokenEvent"
        | "LLMCompletionLogEvent"
        | "StreamingDeltaEvent" => {}
        other => out.unknown(other, event),
    }
}

fn old_event(event: Value<'_>, out: &mut Out<'_>) {
    let [id, action, args, observation, cause, content, extras, metadata, time] = out.fields(
        event,
        &["id", "action", "args", "observation", "cause", "content", "extras", "tool_call_metadata", "timestamp"],
    );
    let number = |value: Value<'_>| String::from_utf8_lossy(value.text()).into_owned();
    if let Some(action) = text(action) {
        let metadata = metadata.filter(|metadata| !metadata.is_null());
        if NO_TOOLS.contains(&&*action) && metadata.is_none() {
            return;
        }
        let turn = metadata.and_then(|metadata| metadata.path(&["model_response", "id"])).and_then(Value::as_str);
        let (id, time) = (id.map(|id| number(id).into()), claude_code::time_of(time));
        out.call(Call { id, time, turn, ..Call::new(event, action, Args::Value(args)) });
    } else if let (Some(kind), Some(cause)) = (text(observation), cause.filter(|cause| !cause.is_null())) {
        let body = Body::Made(view::made(&[("content", content), ("extras", extras)]));
        let mut answer = ToolResult::new(event, To::Id(number(cause).into()), body);
        let exit = extras.and_then(|extras| extras.path(&["metadata", "exit_code"])).and_then(Value::as_i64);
        answer.failed = &*kind == "error" || exit.is_some_and(|code| code != 0);
        if &*kind == "user_rejected" {
            answer.mark = Some(Mark::NotExecuted(Reason::UserRejected));
        }
        // what is said about messages and states has a cause as well
        answer.optional = metadata.is_none();
        out.result(answer);
    } else if observation.is_none() {
        out.unknown("neither an action nor an observation", event);
    }
}
