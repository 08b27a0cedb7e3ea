//! Spans of OpenInference as Phoenix exports them: a list, or one a line, with nested attributes.

use super::claude_code;
use super::spans::{self, Attributes, SpanCall};
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::event::Flags;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{Value, text};

/// Phoenix exports.
pub(in crate::formats) static OPENINFERENCE: Format = Format {
    id: "openinference",
    title: "OpenInference spans (Phoenix export)",
    found_in: "spans that Phoenix exports: a list, or one a line",
    recognise,
    extract,
    items: true,
    strip: None,
    companions: None,
    unanswered: Some("not_captured"),
    profile: &Profile::NONE,
};

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let span = if value.is_array() { value.items().next()? } else { value };
    let [context, kind, attributes] = span.fields(&["context", "span_kind", "attributes"]);
    (context?.get("span_id").is_some() && kind.or(attributes).is_some())
        .then_some("with spans that have 'context' and 'span_kind', as Phoenix exports them")
}

fn extract(span: Value<'_>, out: &mut Out<'_>) {
    let [context, kind, name, attributes, start, end, status, words] = span.fields(&[
        "context",
        "span_kind",
        "name",
        "attributes",
        "start_time",
        "end_time",
        "status_code",
        "status_message",
    ]);
    let attributes = attributes.map(Attributes::of_object).unwrap_or_default();
    out.event(Event::ByTime);
    let is_tool = attributes.is_tool() || text(name).is_some_and(|name| spans::is_tool_name(&name));
    if !kind.is_some_and(|kind| kind.is("TOOL")) && !is_tool {
        if kind.is_some_and(|kind| kind.is("LLM")) {
            let part = |name: &str| context.and_then(|context| context.str_at(name));
            out.event(Event::ScopeNamed(part("trace_id").unwrap_or_default().into()));
            attributes.used(part("span_id").as_deref(), out);
        }
        return spans::left_out(&text(name).unwrap_or_default(), span, out);
    }
    let part = |name: &str| context.and_then(|context| context.str_at(name)).unwrap_or_default().into_owned();
    out.event(Event::ScopeNamed(part("trace_id").into()));
    let failed = status.is_some_and(|status| status.is("ERROR"));
    let error = words.map_or_else(|| "null".to_owned(), |words| String::from_utf8_lossy(words.text()).into_owned());
    spans::emit(
        &SpanCall {
            at: span,
            id: attributes.id().unwrap_or_else(|| part("span_id")),
            tool: attributes.tool(&text(name).unwrap_or_default()),
            thread: None,
            time: claude_code::time_of(start),
            ended: claude_code::time_of(end),
            // Phoenix keeps the parameters' schema apart from what was given
            args: attributes.get("input.value").or_else(|| attributes.args()),
            result: attributes.result(),
            failed,
            flags: Flags::default(),
            error: failed.then_some(error),
        },
        out,
    );
}
