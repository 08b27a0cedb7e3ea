//! Langfuse exports: a trace with its observations, or observations alone. Input, output and metadata are values in
//! some exports and JSON texts in others.

use super::claude_code;
use super::spans::{self, Attributes, SpanCall};
use crate::formats::Format;
use crate::formats::effect::Profile;
use crate::formats::event::Flags;
use crate::formats::normalize::Out;
use crate::formats::normalized::Event;
use crate::json::view::{self, Value, text};

/// Langfuse exports.
pub(in crate::formats) static LANGFUSE: Format = Format {
    id: "langfuse",
    title: "Langfuse export",
    found_in: "a trace downloaded from Langfuse, or an export of observations (JSON, or one a line)",
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

/// What a request to a model used.
fn used(observation: Value<'_>, trace: Box<str>, id: Option<&str>, out: &mut Out<'_>) {
    let [details, usage, costs, cost] =
        observation.fields(&["usageDetails", "usage", "costDetails", "calculatedTotalCost"]);
    out.event(Event::ScopeNamed(trace));
    let details = details.filter(|details| details.members().next().is_some());
    out.usage(details.or(usage), id, None);
    let cost = view::made(&[("cost", costs.and_then(|costs| costs.get("total")).or(cost))]);
    out.usage(view::only_value(cost.as_bytes()).ok(), id, None);
}

fn one(observation: Value<'_>, out: &mut Out<'_>) {
    let [id, trace, kind, name, start, level, words, input, output, metadata] = out.fields(
        observation,
        &["id", "traceId", "type", "name", "startTime", "level", "statusMessage", "input", "output", "metadata"],
    );
    let name = text(name).unwrap_or_default();
    let inner;
    let metadata = match metadata.and_then(Value::as_str) {
        Some(json) => {
            inner = json.into_owned();
            view::only_value(inner.as_bytes()).ok()
        }
        None => metadata,
    };
    let attributes = metadata.and_then(|metadata| metadata.get("attributes")).or(metadata);
    let attributes =
        attributes.filter(|attributes| attributes.is_object()).map(Attributes::of_object).unwrap_or_default();
    let is_kind = |name: &str| kind.is_some_and(|kind| kind.is(name));
    if !is_kind("TOOL") && !attributes.is_tool() && !spans::is_tool_name(&name) {
        if is_kind("GENERATION") {
            used(observation, text(trace).unwrap_or_default().into(), text(id).as_deref(), out);
        }
        if is_kind("SPAN") || is_kind("EVENT") {
            spans::left_out(&name, observation, out);
        }
        return;
    }
    let given = |value: Option<Value<'_>>| value.is_some_and(|value| !value.is_null());
    let failed = level.is_some_and(|level| level.is("ERROR"));
    let error = words.map_or_else(|| "null".to_owned(), |words| String::from_utf8_lossy(words.text()).into_owned());
    out.event(Event::ScopeNamed(text(trace).unwrap_or_default().into()));
    if several(observation, input, output, claude_code::time_of(start), out) {
        return;
    }
    spans::emit(
        &SpanCall {
            at: observation,
            id: attributes.id().or_else(|| text(id).map(Into::into)).unwrap_or_default(),
            tool: attributes.tool(&name),
            thread: None,
            time: claude_code::time_of(start),
            ended: claude_code::time_of(observation.get("endTime")),
            args: if given(input) { input } else { attributes.args() },
            result: if given(output) { output } else { attributes.result() },
            failed,
            flags: Flags::default(),
            error: failed.then_some(error),
        },
        out,
    );
}

/// One observation of a step that runs several calls at once, as graphs of agents have them: each call by itself.
fn several(
    observation: Value<'_>,
    input: Option<Value<'_>>,
    output: Option<Value<'_>>,
    time: Option<i64>,
    out: &mut Out<'_>,
) -> bool {
    let (own_input, own_output) = (input.and_then(Value::as_str), output.and_then(Value::as_str));
    let inner = |text: &Option<std::borrow::Cow<'_, str>>, value| match text {
        Some(text) => {
            view::only_value(text.as_bytes()).ok().map(|value| String::from_utf8_lossy(value.text()).into_owned())
        }
        None => value,
    };
    let owned = |value: Option<Value<'_>>| value.map(|value| String::from_utf8_lossy(value.text()).into_owned());
    let input = inner(&own_input, owned(input)).unwrap_or_default();
    let output = inner(&own_output, owned(output)).unwrap_or_default();
    let Ok(input) = view::only_value(input.as_bytes()) else { return false };
    let is_call = |call: &Value<'_>| {
        let [name, id, args, arguments] = call.fields(&["name", "id", "args", "arguments"]);
        name.is_some() && id.is_some() && args.or(arguments).is_some()
    };
    let listed = input.get("tool_calls").unwrap_or(input);
    let calls: Vec<Value<'_>> = listed.items().filter(is_call).collect();
    if calls.len() < 2 || calls.len() != listed.items().count() {
        return false;
    }
    let output = view::only_value(output.as_bytes()).ok();
    let results = output.map(|output| output.get("messages").unwrap_or(output));
    for call in calls {
        let [name, id, args, arguments] = call.fields(&["name", "id", "args", "arguments"]);
        let id = text(id).unwrap_or_default();
        let result = results
            .into_iter()
            .flat_map(Value::items)
            .find(|result| result.str_at("tool_call_id").as_deref() == Some(&*id));
        spans::emit(
            &SpanCall {
                at: observation,
                id: id.into_owned(),
                tool: text(name).unwrap_or_default().into_owned(),
                thread: None,
                time,
                ended: None,
                args: args.or(arguments),
                result: result.and_then(|result| result.get("content")),
                failed: result.is_some_and(|result| result.get("status").is_some_and(|status| status.is("error"))),
                flags: Flags::default(),
                error: None,
            },
            out,
        );
    }
    true
}
