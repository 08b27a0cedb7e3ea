//! OpenTelemetry traces as OTLP/JSON, as Tempo and Jaeger give them, and as lists of spans, with the conventions for
//! generative AI and the dialects of frameworks.
//!
//! One call is often several spans, of the agent, its client and the server: the outermost one counts, with the arguments
//! and the result of whichever has them, and a span that was exported twice is one. What the spans leave out, the
//! messages on the model's spans may hold.

use super::claude_code;
use super::spans::{self, Attributes, SpanCall};
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::event::Flags;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use crate::json::{self, Scratch};
use std::collections::{BTreeMap, HashMap, HashSet};

/// OTLP/JSON.
pub(in crate::formats) static OTEL: Format = Format {
    id: "otel",
    title: "OpenTelemetry traces (OTLP/JSON, Tempo, Jaeger)",
    found_in: "exports of an OpenTelemetry collector or SDK, of Tempo or Jaeger: a document, or one a line; lists of spans",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: Some("not_captured"),
    profile: &Profile::NONE,
};

/// Links of a chain of spans that are followed.
const DEPTH: usize = 256;

fn recognise(value: Value<'_>, document: bool) -> Option<&'static str> {
    if value.is_array() {
        return (document && value.items().next().is_some_and(is_flat)).then_some("that is a list of spans");
    }
    let [spans, logs, batches, data, trace] =
        value.fields(&["resourceSpans", "resourceLogs", "batches", "data", "trace"]);
    if spans.or(logs).is_some_and(Value::is_array) {
        return Some("with 'resourceSpans'");
    }
    let holds = |list: Option<Value<'_>>, names: &[&str; 3]| {
        list.is_some_and(|list| list.items().any(|item| item.fields(names).iter().any(Option::is_some)))
    };
    let inner = trace.and_then(|trace| trace.get("resourceSpans").or_else(|| trace.get("batches")));
    if holds(batches.or(inner), &["scopeSpans", "instrumentationLibrarySpans", "ilSpans"]) {
        return Some("with 'batches' of spans, as Tempo gives them");
    }
    let jaeger = |trace: Value<'_>| trace.fields(&["traceID", "spans"]).iter().all(Option::is_some);
    if data.is_some_and(|data| data.items().any(jaeger)) || jaeger(value) {
        return Some("with 'traceID' and 'spans', as Jaeger gives them");
    }
    is_flat(value).then_some("that are spans with a trace's and their own id")
}

/// A span outside of any list of resources.
fn is_flat(span: Value<'_>) -> bool {
    let [snake, own_snake, camel, own_camel, name, attributes] =
        span.fields(&["trace_id", "span_id", "traceId", "spanId", "name", "attributes"]);
    let ids = snake.is_some() && own_snake.is_some() || camel.is_some() && own_camel.is_some();
    ids && name.is_some() && attributes.is_some()
}

/// A span of the document.
struct Span<'a> {
    value: Value<'a>,
    name: String,
    parent: String,
    own: String,
    trace: String,
    time: Option<i64>,
    ended: Option<i64>,
    attributes: Attributes,
    error: Option<String>,
}

impl Span<'_> {
    fn is_tool(&self) -> bool {
        self.attributes.is_tool() || spans::is_tool_name(&self.name)
    }

    fn tool(&self) -> String {
        self.attributes.tool(&self.name)
    }

    /// Whether another span of the same tool may tell of the same call.
    fn is_same_call(&self, other: &Span<'_>) -> bool {
        if let (Some(own), Some(other)) = (self.attributes.id(), other.attributes.id())
            && own != other
        {
            return false;
        }
        match (self.attributes.args(), other.attributes.args()) {
            (Some(own), Some(other)) => meant(own) == meant(other),
            _ => true,
        }
    }
}

/// What a value means, be it a value or a JSON text.
fn meant(value: Value<'_>) -> Vec<u8> {
    let inner = value.as_str();
    let text = inner.as_ref().map_or(value.text(), |inner| inner.as_bytes());
    let mut scratch = Scratch::default();
    json::canonical(text, &mut scratch).map_or_else(|_| text.to_vec(), |span| span.get(text, &scratch).to_vec())
}

/// The spans of a document, in whichever form.
fn all_spans<'a>(document: Value<'a>, out: &mut Out<'_>) -> Vec<Span<'a>> {
    let mut all = Vec::new();
    if document.is_array() {
        all.extend(out.listed(Some(document), "spans").into_iter().map(|span| read(span, out)).collect::<Vec<_>>());
        return all;
    }
    let [resources, batches, trace, data, logs] =
        document.fields(&["resourceSpans", "batches", "trace", "data", "resourceLogs"]);
    if logs.is_some() {
        out.note(Code::UnknownRecord, "log records, which hold no results", document, "");
    }
    let inner = trace.map(|trace| trace.fields(&["resourceSpans", "batches"])).unwrap_or_default();
    let mut known = logs.is_some();
    for list in [resources, batches, inner[0], inner[1]].into_iter().flatten() {
        known = true;
        for resource in out.listed(Some(list), "resources") {
            // the other names are those of old versions
            let lists = resource.fields(&["scopeSpans", "instrumentationLibrarySpans", "ilSpans"]);
            for scope in lists.into_iter().flat_map(|list| out.listed(list, "scopes")).collect::<Vec<_>>() {
                let spans = out.listed(scope.get("spans"), "spans");
                all.extend(spans.into_iter().map(|span| read(span, out)).collect::<Vec<_>>());
            }
        }
    }
    let one = [document];
    let traces: Vec<Value<'_>> = match data {
        Some(data) => out.listed(Some(data), "traces"),
        None => one.into_iter().filter(|trace| trace.get("traceID").is_some()).collect(),
    };
    for trace in traces {
        known = true;
        let spans = out.listed(trace.get("spans"), "spans");
        all.extend(spans.into_iter().map(|span| read(span, out)).collect::<Vec<_>>());
    }
    if is_flat(document) {
        all.push(read(document, out));
    } else if !known {
        out.unknown("no spans", document);
    }
    all
}

fn extract(document: Value<'_>, out: &mut Out<'_>) {
    let all = all_spans(document, out);
    out.event(Event::ByTime);
    let mut said = said(&all, out);
    let named = all.iter().enumerate().filter(|(_, span)| !span.own.is_empty());
    let places: HashMap<(&str, &str), usize> = named.map(|(at, span)| ((&*span.trace, &*span.own), at)).collect();
    let parent = |span: &Span<'_>| places.get(&(&*span.trace, &*span.parent)).copied();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| all[*at].time);
    let (mut agents, mut inside): (HashMap<usize, Vec<String>>, HashMap<usize, Vec<usize>>) = Default::default();
    let mut copies = HashSet::new();
    // the innermost span of each call so far: the next one of the same call is inside it, not beside it
    let mut innermost: HashMap<usize, usize> = HashMap::new();
    for &at in order.iter().filter(|at| all[**at].is_tool()) {
        let span = &all[at];
        // the outermost agent is the main one; agents inside it are those it started
        let (mut above, mut outermost, mut crossed, mut circle) = (parent(span), None, false, false);
        let mut passed = HashSet::from([at]);
        while let Some(up) = above.filter(|_| passed.len() <= DEPTH) {
            if !passed.insert(up) {
                circle = true;
                break;
            }
            let outer = &all[up];
            // below a model or an agent it is another call, whatever it is called with
            crossed |= outer.attributes.thinks();
            if !crossed && outer.is_tool() && outer.tool() == span.tool() && outer.is_same_call(span) {
                outermost = Some(up);
            }
            agents.entry(at).or_default().extend(outer.attributes.agent());
            above = parent(outer);
        }
        if circle {
            out.note(Code::BadLine, "spans in a circle", span.value, "each is the parent of the other");
        } else if let Some(outermost) = outermost
            && innermost.get(&outermost).is_none_or(|span| passed.contains(span))
        {
            innermost.insert(outermost, at);
            copies.insert(at);
            inside.entry(outermost).or_default().push(at);
        }
    }
    for at in order {
        let span = &all[at];
        if !span.is_tool() {
            if !span.attributes.thinks() {
                spans::left_out(&span.name, span.value, out);
            } else if !span.attributes.is_agent() {
                out.event(Event::ScopeNamed(span.trace.as_str().into()));
                span.attributes.used(Some(&span.own), out);
            }
            continue;
        }
        out.event(Event::ScopeNamed(span.trace.as_str().into()));
        if copies.contains(&at) {
            let place = out.place(span.value);
            out.event(Event::Copies { calls: 1, results: u64::from(span.attributes.result().is_some()), at: place });
            continue;
        }
        let family = || std::iter::once(at).chain(inside.get(&at).into_iter().flatten().copied()).map(|at| &all[at]);
        let call_id = family().find_map(|span| span.attributes.id());
        let told = call_id.as_ref().and_then(|id| said.remove(&(span.trace.clone(), id.clone()))).unwrap_or_default();
        let id = call_id.unwrap_or_else(|| span.own.clone());
        let agents = agents.get(&at).map(Vec::as_slice).unwrap_or_default();
        let agent = agents.first().filter(|_| agents.len() > 1);
        if let Some(agent) = agent {
            // spans know agents by their names
            out.event(Event::Kind { thread: format!("agent:{agent}").into(), kind: agent.to_string().into() });
        }
        // the values are texts of our own; where the call stands is the span
        spans::emit(
            &SpanCall {
                at: span.value,
                id,
                tool: span.tool(),
                thread: agent.map(|agent| format!("agent:{agent}")),
                time: span.time,
                ended: span.ended,
                args: family().find_map(|span| span.attributes.args()).or(told.args()),
                result: family().find_map(|span| span.attributes.result()).or(told.result()),
                failed: span.error.is_some(),
                flags: Flags::default(),
                error: span.error.clone(),
            },
            out,
        );
    }
    left_in_messages(&all, &said, out);
}

/// A call as the model's messages tell it.
#[derive(Default)]
struct Said {
    /// The span whose messages tell of it first.
    span: usize,
    tool: String,
    args: Option<String>,
    result: Option<String>,
}

impl Said {
    fn args(&self) -> Option<Value<'_>> {
        view::only_value(self.args.as_ref()?.as_bytes()).ok()
    }

    fn result(&self) -> Option<Value<'_>> {
        view::only_value(self.result.as_ref()?.as_bytes()).ok()
    }
}

/// The calls in the messages of the model's spans, by trace and id. Each turn repeats those before it.
fn said(all: &[Span<'_>], out: &mut Out<'_>) -> BTreeMap<(String, String), Said> {
    let mut calls: BTreeMap<(String, String), Said> = BTreeMap::new();
    for (at, span) in all.iter().enumerate() {
        for name in ["gen_ai.input.messages", "gen_ai.output.messages"] {
            let Some(value) = span.attributes.get(name) else { continue };
            let inner = value.as_str();
            let list = match &inner {
                Some(json) => view::only_value(json.as_bytes()).ok(),
                None => Some(value),
            };
            let Some(list) = list.filter(|list| list.is_array()) else {
                out.note(Code::UnreadRecord, name, span.value, "expected a list of messages");
                continue;
            };
            for part in list.items().flat_map(|message| message.get("parts")).flat_map(Value::items) {
                let [kind, id, tool, args, result, response] =
                    part.fields(&["type", "id", "name", "arguments", "result", "response"]);
                let (Some(kind), Some(id)) = (text(kind), text(id)) else { continue };
                let owned = |value: Value<'_>| String::from_utf8_lossy(value.text()).into_owned();
                let call = || Said { span: at, ..Said::default() };
                let call = calls.entry((span.trace.clone(), id.into_owned())).or_insert_with(call);
                match &*kind {
                    "tool_call" => {
                        call.tool = text(tool).unwrap_or_default().into_owned();
                        call.args = args.map(owned);
                    }
                    "tool_call_response" => call.result = result.or(response).map(owned),
                    _ => {}
                }
            }
        }
    }
    calls
}

/// Calls that only the messages tell of: no span was exported for them.
fn left_in_messages(all: &[Span<'_>], said: &BTreeMap<(String, String), Said>, out: &mut Out<'_>) {
    // a span without the call's id may be any of them
    let vague: HashSet<&str> = all
        .iter()
        .filter(|span| span.is_tool() && span.attributes.id().is_none())
        .map(|span| span.trace.as_str())
        .collect();
    for ((trace, id), call) in said.iter().filter(|(_, call)| !call.tool.is_empty()) {
        let span = &all[call.span];
        if vague.contains(trace.as_str()) {
            out.note(Code::SpanLeftOut, "call in messages", span.value, "spans without ids may tell of it as well");
            continue;
        }
        out.event(Event::ScopeNamed(trace.as_str().into()));
        spans::emit(
            &SpanCall {
                at: span.value,
                id: id.clone(),
                tool: call.tool.clone(),
                thread: None,
                time: span.time,
                ended: None,
                args: call.args(),
                result: call.result(),
                failed: false,
                flags: Flags::UNOBSERVED,
                error: None,
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
    let [
        snake_trace,
        snake_own,
        snake_parent,
        snake_start,
        jaeger_name,
        jaeger_trace,
        jaeger_own,
        jaeger_start,
        tags,
        references,
    ] = span.fields(&[
        "trace_id",
        "span_id",
        "parent_span_id",
        "start_time",
        "operationName",
        "traceID",
        "spanID",
        "startTime",
        "tags",
        "references",
    ]);
    let string = |value: Option<Value<'_>>| text(value).unwrap_or_default().into_owned();
    let above = references.into_iter().flat_map(Value::items).find_map(|reference| reference.get("spanID"));
    if dropped.and_then(Value::as_i64).is_some_and(|count| count > 0) {
        out.note(Code::Truncated, "dropped attributes", span, "the exporter left attributes out");
    }
    let [end, snake_end] = span.fields(&["endTimeUnixNano", "end_time"]);
    let end = end.or(snake_end);
    let attributes = Attributes::of(attributes.or(tags));
    let code = status.and_then(|status| status.get("code").or_else(|| status.get("status_code")));
    let failed = attributes.is_error()
        || code.is_some_and(|code| code.as_i64() == Some(2) || code.is("STATUS_CODE_ERROR") || code.is("ERROR"));
    let words = attributes.get("error.type").or_else(|| status.and_then(|status| status.get("message")));
    let error = words.map_or_else(|| "null".to_owned(), |words| String::from_utf8_lossy(words.text()).into_owned());
    Span {
        value: span,
        name: string(name.or(jaeger_name)),
        parent: string(parent.or(snake_parent).or(above)),
        own: string(own.or(snake_own).or(jaeger_own)),
        trace: string(trace.or(snake_trace).or(jaeger_trace)),
        time: start.or(snake_start).or(jaeger_start).and_then(nanos),
        ended: end.and_then(nanos),
        attributes,
        error: failed.then_some(error),
    }
}

/// A time in whichever unit: nobody exports spans of 1970.
fn nanos(time: Value<'_>) -> Option<i64> {
    let number = match time.as_str() {
        Some(digits) => match digits.parse().ok() {
            Some(number) => number,
            None => return claude_code::time_of(Some(time)),
        },
        None => time.as_i64()?,
    };
    match number {
        ..100_000_000_000 => Some(number),
        100_000_000_000..100_000_000_000_000 => number.checked_mul(1_000_000),
        100_000_000_000_000..100_000_000_000_000_000 => number.checked_mul(1000),
        _ => Some(number),
    }
}
