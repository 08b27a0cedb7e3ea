//! OpenTelemetry traces as OTLP/JSON, with the conventions for generative AI and the dialects of frameworks.
//!
//! One call is often several spans, of the agent, its client and the server: the outermost one that has arguments
//! counts, and a span that was exported twice is one.

use super::spans::{self, Attributes, SpanCall};
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::normalize::{Event, Out};
use crate::formats::warnings::Code;
use crate::json::view::{Value, text};
use std::collections::HashMap;

/// OTLP/JSON.
pub(in crate::formats) static OTEL: Format = Format {
    id: "otel",
    title: "OpenTelemetry OTLP/JSON traces",
    lies: "exports of an OpenTelemetry collector or SDK: a document, or one a line",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: Some("not_captured"),
    profile: &Profile::NONE,
};

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [spans, logs] = value.fields(&["resourceSpans", "resourceLogs"]);
    spans.or(logs)?.is_array().then_some("with 'resourceSpans'")
}

/// A span of the document.
struct Span<'a> {
    value: Value<'a>,
    name: String,
    parent: String,
    own: String,
    trace: String,
    time: Option<i64>,
    attributes: Attributes,
    error: Option<String>,
}

fn extract(document: Value<'_>, out: &mut Out<'_>) {
    let mut all: Vec<Span<'_>> = Vec::new();
    for resource in document.get("resourceSpans").into_iter().flat_map(Value::items) {
        // the second name is that of old versions
        let lists = resource.fields(&["scopeSpans", "instrumentationLibrarySpans"]);
        let scopes = lists.into_iter().flatten().flat_map(Value::items);
        for span in scopes.flat_map(|scope| scope.get("spans")).flat_map(Value::items) {
            all.push(read(span, out));
        }
    }
    if document.get("resourceLogs").is_some() {
        out.unknown("log records, which hold no results", document);
    }
    out.event(Event::ByTime);
    let places: HashMap<(String, String), usize> =
        all.iter().enumerate().map(|(at, span)| ((span.trace.clone(), span.own.clone()), at)).collect();
    let parent = |span: &Span<'_>| places.get(&(span.trace.clone(), span.parent.clone())).copied();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| all[*at].time);
    for at in order {
        let span = &all[at];
        if !span.attributes.is_tool() {
            if span.name.to_ascii_lowercase().contains("tool") {
                out.note(
                    Code::UnknownRecord,
                    "span that looks like a tool call",
                    span.value,
                    "it follows no known convention",
                );
            }
            continue;
        }
        let tool = span.attributes.tool(&span.name);
        // the outermost agent is the main one; agents inside it are those it started
        let (mut above, mut agents, mut inner) = (parent(span), Vec::new(), false);
        // a chain of parents has no more links than there are spans
        for _ in 0..all.len() {
            let Some(up) = above else { break };
            let outer = &all[up];
            let same = outer.attributes.is_tool() && outer.attributes.tool(&outer.name) == tool;
            inner |= same && (outer.attributes.has_args() || !span.attributes.has_args());
            agents.extend(outer.attributes.agent());
            above = parent(outer);
        }
        out.event(Event::ScopeNamed(span.trace.as_str().into()));
        if inner {
            let place = out.place(span.value);
            out.event(Event::Copies { calls: 1, results: u64::from(span.attributes.result().is_some()), at: place });
            continue;
        }
        let id = span.attributes.id().unwrap_or_else(|| span.own.clone());
        // the values are texts of our own; where the call stands is the span
        spans::emit(
            &SpanCall {
                at: span.value,
                id,
                tool,
                thread: agents.first().filter(|_| agents.len() > 1).map(|agent| format!("agent:{agent}")),
                time: span.time,
                args: span.attributes.args(),
                result: span.attributes.result(),
                failed: span.error.is_some(),
                error: span.error.clone(),
            },
            out,
        );
    }
}

fn read<'a>(span: Value<'a>, out: &mut Out<'_>) -> Span<'a> {
    let [name, trace, own, parent, start, attributes, status, dropped] = span.fields(&[
        "name",
        "traceId",
        "spanId",
        "parentSpanId",
        "startTimeUnixNano",
        "attributes",
        "status",
        "droppedAttributesCount",
    ]);
    let string = |value: Option<Value<'_>>| text(value).unwrap_or_default().into_owned();
    let time = start.and_then(|start| text(Some(start)).map_or_else(|| start.as_i64(), |digits| digits.parse().ok()));
    if dropped.and_then(Value::as_i64).is_some_and(|count| count > 0) {
        out.note(Code::Truncated, "dropped attributes", span, "the exporter left attributes out");
    }
    let attributes = Attributes::of_list(attributes);
    let failed = status.and_then(|status| status.get("code"));
    let failed = failed.is_some_and(|code| code.as_i64() == Some(2) || code.is("STATUS_CODE_ERROR"));
    let words = attributes.get("error.type").or_else(|| status.and_then(|status| status.get("message")));
    let error = words.map_or_else(|| "null".to_owned(), |words| String::from_utf8_lossy(words.text()).into_owned());
    Span {
        value: span,
        name: string(name),
        parent: string(parent),
        own: string(own),
        trace: string(trace),
        time,
        attributes,
        error: failed.then_some(error),
    }
}
