//! This project's own captures (`docs/trace.md`): files of trace events, and documents that carry one under
//! `execution_trace`.
//!
//! What a program recorded of itself are executions: the spans of its tools. What a proxy heard are the calls that a
//! model asked for and the results that the agent reported: nobody saw them run, and every record says so.

use super::anthropic;
use super::claude_code;
use super::codex;
use super::gemini;
use super::responses;
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::event::{Args, Body, Call, Effect, Flags, Mark, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::formats::warnings::{Code, Loss};
use crate::json::view::{self, Value, text};
use crate::trace::{Redactor, event};
use serde::Deserialize as _;

/// Captures of the recorder and of the proxy.
pub(in crate::formats) static CAPTURE: Format = Format {
    id: "toolreplay-capture",
    title: "toolreplay capture",
    found_in: "what toolreplay's recorders write: one trace event a line; a folder of them is read session by session. Also a \
           document with an 'execution_trace'",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &OWN,
};

/// A program that records its own tools knows which of them change state, and says so.
pub(in crate::formats) static OWN: Profile =
    Profile { name: "toolreplay-capture", others: Effect::ReadOnly, ..Profile::NONE };

/// Codes of `capture_issues` with which a reply has all the calls that a client can have found in it. With any other, known
/// here or not, it may have had calls that are not in the capture, however the reply ended: clients use what they get.
const HARMLESS: [&str; 42] = [
    "call_after_end",
    "capture_byte_limit",
    "content_block_repeated",
    "content_type_mismatch",
    "content_type_missing",
    "data_after_done",
    "finish_reason_empty",
    "finish_reason_mismatch",
    "finish_reason_missing",
    "legacy_function_call",
    "lone_surrogates_replaced",
    "message_in_chunk",
    "missing_stream_done",
    "missing_stream_end",
    "not_a_number",
    "proxy_shutdown",
    "redirected",
    "repeated_json_key",
    "reply_not_utf8",
    "reply_too_deep",
    "response_cut",
    "response_empty",
    "response_encoding_cut",
    "response_encoding_ignored",
    "response_incomplete",
    "response_items_missing",
    "sse_frames_joined",
    "tool_arguments_empty",
    "tool_arguments_not_json",
    "tool_arguments_object",
    "tool_arguments_repeated",
    "tool_arguments_replaced",
    "tool_call_index_missing",
    "tool_call_index_not_number",
    "tool_call_index_reused",
    "tool_call_index_strayed",
    "tool_calls_not_array",
    "tool_id_missing",
    "tool_ids_duplicate",
    "tool_index_gap",
    "tool_name_conflict",
    "tool_name_repeated",
];
/// Further codes of that kind: what is not rebuilt holds no calls.
const NOT_REBUILT: [&str; 5] = [
    "unsupported_choice_fields",
    "unsupported_delta_fields",
    "unsupported_event",
    "unterminated_sse_frame",
    "upstream_aborted",
];
/// Codes with which results that a request reported may be missing.
const RESULTS_LOST: [&str; 4] =
    ["request_encoding_unknown", "request_not_decoded", "request_not_parsed", "request_too_large_to_decode"];

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [version, trace, span, sequence, phase, record, inside] =
        value.fields(&["version", "trace_id", "span_id", "sequence", "phase", "record_type", "execution_trace"]);
    if inside.and_then(|trace| trace.get("events")).is_some_and(Value::is_array) {
        return Some("with an 'execution_trace'");
    }
    let event = version.is_some() && trace.is_some() && span.is_some() && sequence.is_some() && phase.is_some();
    (event || record.is_some_and(|record| record.is("capture_summary"))).then_some("with trace events of toolreplay")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    match record.get("execution_trace") {
        Some(trace) if record.get("phase").is_none() => document(trace, out),
        _ => line(record, record, false, out),
    }
}

/// What a program says of itself in a document of its own: nobody knows whether it took its secrets out.
fn document(trace: Value<'_>, out: &mut Out<'_>) {
    let redactor = Redactor::new([""; 0], [""; 0]);
    let [events, summary] = trace.fields(&["events", "capture_summary"]);
    for item in events.into_iter().flat_map(Value::items) {
        let parsed = serde_json::from_slice::<serde_json::Value>(item.text()).ok();
        let Some(mut clean) = parsed.filter(|parsed| event::Event::deserialize(parsed).is_ok()) else {
            out.lose(Loss::NotEvent, item, "expected a trace event of version 1");
            continue;
        };
        let as_it_was = clean.clone();
        redactor.value(&mut clean);
        if clean == as_it_was {
            line(item, item, false, out);
        } else if let Ok(clean) = view::only_value(clean.to_string().as_bytes()) {
            line(clean, item, true, out);
        }
    }
    if let Some(summary) = summary {
        line(summary, summary, false, out);
    }
}

/// One line of a capture, which stands at `at`. `tagless`: marks of redacted secrets do not tell equal ones from
/// different ones.
fn line<'a>(record: Value<'a>, at: Value<'a>, tagless: bool, out: &mut Out<'_>) {
    let names = ["record_type", "trace_id", "events", "dropped_events", "capture_errors"];
    let [summary, trace, events, dropped, errors] = members(record, &names, at, out);
    let trace = text(trace).unwrap_or_default();
    let count = |value: Option<Value<'_>>| value.and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    if summary.is_some() {
        if count(dropped).unwrap_or(0) + count(errors).unwrap_or(0) > 0 {
            out.lose(Loss::DroppedEvents, at, "the recorder reached a limit or could not write");
        }
        match count(events) {
            Some(events) => {
                let at = out.place(at);
                out.event(Event::CaptureEnds { capture: trace.into(), events, at });
            }
            None => not_event(at, "expected the number of 'events'", out),
        }
        return;
    }
    let names = ["version", "kind", "phase", "sequence", "source", "span_id", "data"];
    let [version, kind, phase, sequence, source, span, data] = members(record, &names, at, out);
    let is =
        |value: Option<Value<'_>>, words: &[&str]| value.is_some_and(|value| words.iter().any(|word| value.is(word)));
    let known = version.and_then(Value::as_i64) == Some(1)
        && is(kind, &["agent", "loop", "model", "tool"])
        && is(phase, &["start", "end"])
        && is(source, &["runtime_wrapper", "model_proxy"])
        && [span, record.get("trace_id")].iter().all(|id| id.is_some_and(Value::is_string))
        && data.is_some_and(Value::is_object);
    let Some(sequence) = count(sequence).filter(|sequence| known && *sequence > 0) else {
        return not_event(at, "expected a trace event of version 1", out);
    };
    let start = is(phase, &["start"]);
    let (print, place) = (out.print(at.text()), out.place(at));
    out.event(Event::Captured { capture: (&*trace).into(), sequence, print, at: place });
    if source.is_some_and(|source| source.is("model_proxy")) {
        match start {
            true => request(record, at, &trace, out),
            false => reply(record, at, &trace, out),
        }
        return;
    }
    if kind.is_some_and(|kind| kind.is("tool")) {
        out.event(Event::ScopeNamed(trace.into()));
        out.agent(&OWN);
        execution(record, at, start, tagless, out);
    }
}

/// Members of a part of an event, each of which may be there once: what one reader takes for a call must not be something
/// else for another.
fn members<'a, const N: usize>(
    object: Value<'a>,
    names: &[&str; N],
    at: Value<'a>,
    out: &mut Out<'_>,
) -> [Option<Value<'a>>; N] {
    let (found, twice) = object.fields_checked(names);
    if twice {
        not_event(at, "a member stands there twice", out);
    }
    found
}

fn not_event(at: Value<'_>, what: &str, out: &mut Out<'_>) {
    out.lose(Loss::NotEvent, at, what);
}

/// One end of a tool's span.
fn execution<'a>(record: Value<'a>, at: Value<'a>, start: bool, tagless: bool, out: &mut Out<'_>) {
    let [span, name, data, status, truncated, time] =
        record.fields(&["span_id", "name", "data", "status", "truncated", "timestamp"]);
    let truncated = truncated.and_then(Value::as_bool) == Some(true);
    let part = |name: &str| data.and_then(|data| data.get(name));
    let id = text(span);
    out.moment(claude_code::time_of(time));
    if start {
        let input = Part::of(part("input").or(data), truncated, tagless);
        let mut call = Call::new(at, text(name).unwrap_or_default(), input.args());
        (call.id, call.time) = (id, claude_code::time_of(time));
        input.say("arguments", at, out);
        // what was left out for its size, for its type, or for being secret
        if truncated || input.cut || input.redacted {
            call.flags.set(Flags::ARGS_UNKNOWN);
        }
        out.call(call);
        return;
    }
    let error = part("error_type");
    let output = Part::of(part("output").or(data), truncated, tagless);
    let body = match error {
        Some(error) => Body::Made(view::made(&[("error_type", Some(error))])),
        None => output.body(),
    };
    let mut answer = ToolResult::new(at, To::Id(id.unwrap_or_default()), body);
    answer.failed = error.is_some() || status.is_some_and(|status| status.is("error"));
    answer.redacted = output.redacted;
    output.say("result", at, out);
    if status.is_some_and(|status| status.is("cancelled")) {
        answer.mark = Some(Mark::NoResult(Some("cancelled")));
    } else if truncated || output.cut {
        answer.mark = Some(Mark::Truncated);
    }
    out.result(answer);
}

/// A model request: the session, and the results that came with it.
fn request<'a>(record: Value<'a>, at: Value<'a>, trace: &str, out: &mut Out<'_>) {
    let [data, truncated] = record.fields(&["data", "truncated"]);
    let truncated = truncated.and_then(Value::as_bool) == Some(true);
    let names = ["session_id", "parent_request_ids", "agent_reported_tool_results"];
    let [session, parents, results] = data.map(|data| members(data, &names, at, out)).unwrap_or_default();
    out.event(Event::ByTime);
    out.event(Event::ScopeNamed(text(session).unwrap_or(trace.into()).into()));
    // the reply's line names the request alone
    out.event(Event::ScopeAlias(trace.into()));
    let place = out.place(at);
    let names = parents.into_iter().flat_map(Value::items).filter_map(Value::as_str);
    out.event(Event::Follows { own: trace.into(), parents: names.map(Into::into).collect(), at: place });
    for result in listed(results, "results", Loss::ResultsNotCaptured, at, out) {
        let [id, content, is_error] = result.fields(&["id", "content", "is_error"]);
        let content = Part::of(content, truncated, true);
        let mut answer = ToolResult::new(at, To::Id(text(id).unwrap_or_default()), content.body());
        answer.error = is_error.and_then(Value::as_bool);
        answer.redacted = content.redacted;
        answer.mark = content.cut.then_some(Mark::Truncated);
        answer.unobserved = true;
        answer.turns = parents.into_iter().flat_map(Value::items).filter_map(Value::as_str).collect();
        content.say("result", at, out);
        out.result(answer);
    }
}

/// A model's reply: the calls it asks for.
fn reply<'a>(record: Value<'a>, at: Value<'a>, trace: &str, out: &mut Out<'_>) {
    let [name, data, status, truncated, time] = record.fields(&["name", "data", "status", "truncated", "timestamp"]);
    let truncated = truncated.and_then(Value::as_bool) == Some(true);
    let names = ["model_requested_tools", "server_executed_tools", "capture_issues", "response", "http_status"];
    let [asked, ran, issues, response, http_status] =
        data.map(|data| members(data, &names, at, out)).unwrap_or_default();
    out.event(Event::ScopeNamed(trace.into()));
    out.event(Event::Replied(trace.into()));
    out.usage(response.and_then(|response| response.get("usage")), Some(trace), None);
    out.event(Event::Window);
    let profiles: [&'static Profile; 2] = match text(name).as_deref() {
        Some("anthropic_messages") => [&claude_code::PROFILE, &anthropic::PROFILE],
        Some("gemini_generate_content") => [&gemini::PROFILE, &Profile::NONE],
        Some("openai_responses") => [&codex::PROFILE, &responses::PROFILE],
        _ => [&Profile::NONE; 2],
    };
    let time = claude_code::time_of(time);
    let mut count = 0;
    for (list, on_server) in [(Some(asked), false), (ran.map(Some), true)] {
        let Some(list) = list else { continue };
        for call in listed(list, "calls", Loss::CallsNotCaptured, at, out) {
            count += 1;
            let [id, tool, kind, arguments, partial] = call.fields(&["id", "name", "type", "arguments", "partial"]);
            let arguments = Part::of(arguments, truncated, true);
            let by_schema =
                kind.is_none_or(|kind| ["function", "tool_use", "function_call"].iter().any(|word| kind.is(word)));
            let tool = text(tool);
            // which agent it was is not captured, but the names of its tools are its own
            out.agent(
                profiles
                    .into_iter()
                    .find(|profile| profile.knows(tool.as_deref().unwrap_or_default()))
                    .unwrap_or(profiles[1]),
            );
            let args = match arguments.args() {
                Args::Value(Some(words)) if words.is_string() && by_schema => Args::Text(Some(words)),
                Args::Value(Some(words)) if words.is_string() => Args::Free("input", words),
                args => args,
            };
            let mut made = Call::new(at, tool.clone().unwrap_or_default(), args);
            (made.id, made.time, made.turn) = (text(id), time, Some(trace.to_owned().into()));
            made.flags.set(Flags::NO_COPY);
            made.flags.set(Flags::UNOBSERVED);
            if on_server {
                made.flags.set(Flags::SERVER_SIDE);
            }
            let partial = partial.and_then(Value::as_bool) == Some(true);
            if partial || arguments.cut || tool.is_none() {
                out.note(Code::Truncated, "call cut", at, "its name or its arguments are not whole");
            }
            arguments.say("arguments", at, out);
            if partial || arguments.cut || arguments.redacted {
                made.flags.set(Flags::ARGS_UNKNOWN);
            }
            out.call(made);
        }
    }
    let ended_well = status.is_some_and(|status| status.is("ok"));
    // Clients look for calls in replies of success only; where there was none at all the status says so.
    let no_success = http_status
        .is_some_and(|status| status.is_null() || status.as_i64().is_some_and(|status| !(200..300).contains(&status)));
    let no_reply = response.is_none_or(Value::is_null);
    if !issues.is_some_and(Value::is_array) {
        not_event(at, "expected a list of 'capture_issues'", out);
    }
    let issues: Vec<_> = issues.into_iter().flat_map(Value::items).filter_map(Value::as_str).collect();
    let unfinished =
        |issue: &str| issue.starts_with("missing_stream_") && issues.iter().any(|i| i == "finish_reason_missing");
    for issue in &issues {
        let lost = match &**issue {
            issue if RESULTS_LOST.contains(&issue) => Some(Loss::ResultsNotCaptured),
            "redirected_elsewhere" => Some(Loss::CallsNotCaptured),
            _ if no_success => None,
            "tool_calls_incomplete" | "capture_overloaded" => Some(Loss::CallsNotCaptured),
            // the reply says that there are calls
            "finish_reason_mismatch" if count == 0 => Some(Loss::CallsNotCaptured),
            "capture_byte_limit" if no_reply => Some(Loss::CallsNotCaptured),
            issue if ended_well && unfinished(issue) => Some(Loss::CallsNotCaptured),
            issue if HARMLESS.contains(&issue) || NOT_REBUILT.contains(&issue) => None,
            _ => Some(Loss::CallsNotCaptured),
        };
        match lost {
            Some(loss) => out.lose(loss, at, issue),
            None => out.note(Code::CaptureIssue, &**issue, at, ""),
        }
    }
}

/// The items of a list of evidence, which are objects; what of it is not there is noted.
fn listed<'a>(list: Option<Value<'a>>, what: &str, loss: Loss, at: Value<'a>, out: &mut Out<'_>) -> Vec<Value<'a>> {
    match list {
        Some(list) if list.is_array() => {}
        Some(list) if list.is_object() => {
            out.lose(loss, at, "the capture's limit left some out");
        }
        _ => not_event(at, &format!("expected a list of {what}"), out),
    }
    let items = list.map(|list| list.get("captured_items").unwrap_or(list)).into_iter().flat_map(Value::items);
    let (items, others): (Vec<_>, Vec<_>) =
        items.partition(|item| item.is_object() && item.get("capture_omitted").is_none());
    if !others.is_empty() {
        out.lose(loss, at, "expected an object for each");
    }
    items
}

/// A recorded value.
struct Part<'a> {
    value: Option<Value<'a>>,
    /// Its text, where that is another one now.
    clean: Option<String>,
    /// The recorder left something out of it.
    cut: bool,
    /// Secrets were taken out, in a way that does not tell equal ones from different ones.
    redacted: bool,
}

impl<'a> Part<'a> {
    fn of(value: Option<Value<'a>>, truncated: bool, tagless: bool) -> Part<'a> {
        let clean = value.filter(|_| tagless).and_then(|value| without_tags(value.text()));
        let cut = value.is_some_and(|value| is_cut(value, truncated));
        Part { value, cut, redacted: clean.is_some(), clean }
    }

    fn say(&self, what: &str, at: Value<'_>, out: &mut Out<'_>) {
        if self.redacted {
            out.note(Code::Redacted, what, at, "secrets were taken out");
        }
    }

    fn args(&self) -> Args<'_> {
        match &self.clean {
            Some(text) => Args::Made(text),
            None => Args::Value(self.value),
        }
    }

    fn body(&self) -> Body<'a> {
        match &self.clean {
            Some(text) => Body::Made(text.clone()),
            None => Body::Value(self.value),
        }
    }
}

/// The text with `[REDACTED:rule]` for each `[REDACTED:rule:3f9a]`, if there is one: the key of the last part is that of
/// one capture, so that equal secrets have different ones elsewhere.
fn without_tags(text: &[u8]) -> Option<String> {
    const MARK: &str = "[REDACTED:";
    memchr::memmem::find(text, MARK.as_bytes())?;
    let text = String::from_utf8_lossy(text);
    let (mut clean, mut rest) = (String::with_capacity(text.len()), &*text);
    while let Some(start) = rest.find(MARK) {
        let (before, mark) = rest.split_at(start + MARK.len());
        clean.push_str(before);
        let end = mark
            .bytes()
            .position(|byte| !matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
            .unwrap_or(mark.len());
        let (rule, behind) = mark.split_at(end);
        clean.push_str(rule);
        let tag = behind.strip_prefix(':').map_or(0, |tag| tag.bytes().take_while(u8::is_ascii_hexdigit).count() + 1);
        rest = if behind.as_bytes().get(tag) == Some(&b']') { &behind[tag..] } else { behind };
    }
    clean.push_str(rest);
    Some(clean)
}

/// Whether a mark stands somewhere in the value for what was not recorded. `truncated`: for its size, by the event.
fn is_cut(value: Value<'_>, truncated: bool) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(value.text(), words).is_some();
    let marked = has(b"\"capture_omitted") || truncated && has(b"\"preview\"");
    marked && has_mark(value, truncated)
}

fn has_mark(value: Value<'_>, truncated: bool) -> bool {
    if value.is_array() {
        return value.items().any(|item| has_mark(item, truncated));
    }
    if !value.is_object() {
        return false;
    }
    let [omitted, items, preview, cut, characters] =
        value.fields(&["capture_omitted", "capture_omitted_items", "preview", "truncated", "characters"]);
    let previewed = preview.is_some() && cut.and_then(Value::as_bool) == Some(true) && characters.is_some();
    omitted.or(items).is_some()
        || (truncated && previewed)
        || value.members().any(|(_, member)| has_mark(member, truncated))
}
