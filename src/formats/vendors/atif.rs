//! Trajectories in the interchange format of Harbor (ATIF): steps with calls and what was observed.
//!
//! Answers belong to calls of their own step. Some agents give one observation for all of a step's calls.

use super::claude_code;
use super::{codex, gemini, opencode, openhands};
use crate::formats::effect::{By, Profile};
use crate::formats::event::{Args, Body, Call, Flags, Mark, Noted, To, ToolResult};
use crate::formats::format::Format;
use crate::formats::normalize::Out;
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;
use crate::json::view::{Value, text};
use std::borrow::Cow;

/// ATIF trajectories.
pub(in crate::formats) static ATIF: Format = Format {
    id: "atif",
    title: "ATIF trajectory (Harbor)",
    found_in: "trajectory.json in the folder of a Harbor trial",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &TERMINUS,
};

/// The tools of Harbor's own agent.
pub(in crate::formats) static TERMINUS: Profile = Profile {
    name: "terminus",
    by_args: &[("bash_command", By::Shell(&["keystrokes"]))],
    session: &["mark_task_complete"],
    ..Profile::NONE
};

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [version, steps] = value.fields(&["schema_version", "steps"]);
    (text(version)?.starts_with("ATIF-") && steps?.is_array()).then_some("whose 'schema_version' begins with ATIF-")
}

fn extract(trajectory: Value<'_>, out: &mut Out<'_>) {
    let name = trajectory.path(&["agent", "name"]).and_then(Value::as_str).unwrap_or_default();
    match &*name {
        "claude-code" => out.agent(&claude_code::PROFILE),
        "codex" => out.agent(&codex::PROFILE),
        "gemini-cli" => out.agent(&gemini::PROFILE),
        "opencode" => out.agent(&opencode::PROFILE),
        "openhands" => out.agent(&openhands::PROFILE),
        _ => {}
    }
    // a continuation repeats steps of the file before it, which has the same session
    match trajectory.str_at("session_id").filter(|id| !id.is_empty()) {
        Some(session) => out.event(Event::ScopeNamed(session.into())),
        None => out.event(Event::Scope),
    }
    steps(trajectory, None, out);
    if let Some(next) = trajectory.str_at("continued_trajectory_ref") {
        out.note(Code::UnknownRecord, "continued in another file", trajectory, &format!("name '{next}' as well"));
    }
}

fn steps(trajectory: Value<'_>, thread: Option<&str>, out: &mut Out<'_>) {
    let [own_steps, inner] = trajectory.fields(&["steps", "subagent_trajectories"]);
    let mut known: Vec<String> = Vec::new();
    for agent in inner.into_iter().flat_map(Value::items) {
        let [id, session] = agent.fields(&["trajectory_id", "session_id"]);
        known.extend([id, session].into_iter().filter_map(text).map(Cow::into_owned));
    }
    let is_copied = |step: Value<'_>| step.get("is_copied_context").and_then(Value::as_bool) == Some(true);
    let mut before = false;
    for step in out.listed(own_steps, "steps") {
        // the context was summed up, and begins with a part of what was before
        if std::mem::replace(&mut before, is_copied(step)) && !is_copied(step) {
            out.apart(Apart::Compaction, thread);
        }
        one(step, thread, &known, out);
    }
    for agent in inner.into_iter().flat_map(Value::items) {
        let [id, session] = agent.fields(&["trajectory_id", "session_id"]);
        let name = text(id).or_else(|| text(session)).unwrap_or(Cow::Borrowed("subagent"));
        let thread = format!("agent:{name}");
        if let Some(kind) = agent.path(&["agent", "name"]).and_then(Value::as_str) {
            out.event(Event::Kind { thread: thread.as_str().into(), kind: kind.into() });
        }
        steps(agent, Some(&thread), out);
    }
}

fn one(step: Value<'_>, thread: Option<&str>, known: &[String], out: &mut Out<'_>) {
    let [number, calls, observation, copied, time] =
        out.fields(step, &["step_id", "tool_calls", "observation", "is_copied_context", "timestamp"]);
    let results = out.listed(observation.and_then(|observation| observation.get("results")), "results");
    let calls = out.listed(calls, "tool_calls");
    out.odd_members(step, &["tool_calls"], "step");
    if copied.and_then(Value::as_bool) != Some(true) {
        out.usage(step.get("metrics"), None, thread);
    }
    // a step that calls itself a copy is one only if what it repeats is there
    let copied = copied.and_then(Value::as_bool) == Some(true);
    let time = claude_code::time_of(time);
    let turn = number.map(|number| String::from_utf8_lossy(number.text()).into_owned());
    let mut noted: Vec<(Noted, Option<String>)> = Vec::new();
    for call in &calls {
        let [id, name, arguments] = out.fields(*call, &["tool_call_id", "function_name", "arguments"]);
        let id = text(id);
        let own = id.as_deref().map(str::to_owned);
        let call = Call {
            id,
            thread: thread.map(Cow::Borrowed),
            time,
            turn: turn.as_deref().map(Cow::Borrowed),
            flags: if copied { Flags::default() } else { Flags::NO_COPY },
            ..Call::new(*call, text(name).unwrap_or_default(), Args::Value(arguments))
        };
        noted.push((out.call(call), own));
    }
    missing_agents(&results, known, out);
    if calls.is_empty() {
        for result in results {
            match result.str_at("source_call_id").filter(|id| !id.is_empty()) {
                // it says itself that there was a call
                Some(id) => answer(result, To::Id(id), out),
                None => out.note(Code::UnknownRecord, "observation without a call", result, ""),
            }
        }
        return;
    }
    let blacked = noted.iter().any(|(_, id)| id.as_deref() == Some(REDACTED));
    if blacked {
        out.note(Code::Redacted, "call ids", step, "paired by their order");
    }
    let mut open: Vec<(Noted, Option<String>)> = noted.clone();
    let mut unlabelled = Vec::new();
    for result in results {
        let source = result.str_at("source_call_id").filter(|_| !blacked);
        let place = source.as_deref().and_then(|id| open.iter().position(|(_, own)| own.as_deref() == Some(id)));
        match (place, source) {
            (Some(place), _) => answer(result, To::Call(open.remove(place).0), out),
            (None, Some(id)) => answer(result, To::Id(id), out),
            (None, None) => unlabelled.push(result),
        }
    }
    if unlabelled.is_empty() {
        return;
    }
    if unlabelled.len() == open.len() {
        out.note(Code::IdMissing, "result", step, "paired by their order");
        for (result, (call, _)) in unlabelled.iter().zip(&open) {
            answer(*result, To::Call(*call), out);
        }
        return;
    }
    // one observation for several calls: it is what stood there after the last of them
    let Some((last, _)) = open.last().or(noted.last()) else { return };
    out.note(Code::IdMissing, "result", step, "one observation for several calls");
    for (call, _) in open.iter().filter(|(call, _)| call != last) {
        out.event(Event::Marked(*call, Mark::NoResult(Some("combined_observation"))));
    }
    for result in unlabelled {
        answer(result, To::Call(*last), out);
    }
}

const REDACTED: &str = "<redacted>";

fn answer(result: Value<'_>, to: To<'_>, out: &mut Out<'_>) {
    let content = result.get("content");
    let mut answer = ToolResult::new(result, to, Body::Value(content));
    if content.is_some_and(|content| content.is(REDACTED)) {
        answer.mark = Some(Mark::NoResult(Some("redacted")));
    }
    out.result(answer);
}

/// Agents that were started and whose trajectories are not here.
fn missing_agents(results: &[Value<'_>], known: &[String], out: &mut Out<'_>) {
    for result in results {
        for reference in result.get("subagent_trajectory_ref").into_iter().flat_map(Value::items) {
            let [id, session, path] = reference.fields(&["trajectory_id", "session_id", "trajectory_path"]);
            let named = [id, session].into_iter().filter_map(text).any(|name| known.iter().any(|own| *own == *name));
            if !named {
                let path = text(path).or_else(|| text(session)).unwrap_or_default();
                out.note(Code::SubagentMissing, "", reference, &format!("its trajectory is in '{path}'"));
            }
        }
    }
}
