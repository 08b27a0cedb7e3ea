//! Langfuse exports: a trace with its observations, or observations alone. Input, output and metadata are values in
//! some exports and JSON texts in others.

use super::claude_code;
use super::spans::{self, Attributes, SpanCall};
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::normalize::{Event, Out};
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};

/// Langfuse exports.
pub(in crate::formats) static LANGFUSE: Format = Format {
    id: "langfuse",
    title: "Langfuse export",
    lies: "a trace downloaded from Langfuse, or an export of observations (JSON, or one a line)",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: None,
    unanswered: Some("not_captured"),
    profile: &Profile::NONE,
};

fn is_observation(value: Value<'_>) -> bool {
    let [id, kind, start, parent, level] = value.fields(&["id", "type", "startTime", "parentObservationId", "level"]);
    id.is_some() && kind.is_some() && start.is_some() && (parent.is_some() || level.is_some())
}

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    if value.is_array() {
        return is_observation(value.items().next()?).then_some("that is a list of observations");
    }
    let [trace, observations] = value.fields(&["trace", "observations"]);
    if trace.is_some() && observations.is_some_and(Value::is_array) {
        return Some("with 'trace' and 'observations'");
    }
    is_observation(value).then_some("with observations that have 'startTime' and 'parentObservationId'")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    out.event(Event::ByTime);
    match record.get("observations") {
        Some(list) => list.items().for_each(|observation| one(observation, out)),
        None => one(record, out),
    }
}

fn one(observation: Value<'_>, out: &mut Out<'_>) {
    let [id, trace, kind, name, start, level, words, input, output, metadata] = out.fields(
        observation,
        &["id", "traceId", "type", "name", "startTime", "level", "statusMessage", "input", "output", "metadata"],
    );
    let name = text(name).unwrap_or_default();
    if !kind.is_some_and(|kind| kind.is("TOOL")) {
        let plain = kind.is_some_and(|kind| kind.is("SPAN") || kind.is("EVENT"));
        if plain && name.to_ascii_lowercase().contains("tool") {
            let detail = format!("'{name}' is a span of no tool type");
            out.note(Code::UnknownRecord, "span that looks like a tool call", observation, &detail);
        }
        return;
    }
    let inner;
    let metadata = match metadata.and_then(Value::as_str) {
        Some(json) => {
            inner = json.into_owned();
            view::only_value(inner.as_bytes()).ok()
        }
        None => metadata,
    };
    let attributes = metadata.and_then(|metadata| metadata.get("attributes"));
    let attributes = attributes.map(Attributes::of_object).unwrap_or_default();
    let given = |value: Option<Value<'_>>| value.is_some_and(|value| !value.is_null());
    let failed = level.is_some_and(|level| level.is("ERROR"));
    let error = words.map_or_else(|| "null".to_owned(), |words| String::from_utf8_lossy(words.text()).into_owned());
    out.event(Event::ScopeNamed(text(trace).unwrap_or_default().into()));
    spans::emit(
        &SpanCall {
            at: observation,
            id: attributes.id().or_else(|| text(id).map(Into::into)).unwrap_or_default(),
            tool: attributes.tool(&name),
            thread: None,
            time: claude_code::time_of(start),
            args: if given(input) { input } else { attributes.args() },
            result: if given(output) { output } else { attributes.result() },
            failed,
            error: failed.then_some(error),
        },
        out,
    );
}
