//! What spans of traces have in common: attributes under many names for the same few things.

use crate::formats::event::{Args, Body, Call, Flags, To, ToolResult};
use crate::formats::normalize::Out;
use crate::formats::warnings::Code;
use crate::json::view::{self, Value, text};
use std::borrow::Cow;

/// Attribute names of a tool's name, id, arguments and result, the standard's first.
const NAMES: [&str; 5] =
    ["gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name", "mcp.tool.name"];
const IDS: [&str; 4] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"];
const ARGS: [&str; 7] = [
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
];
const RESULTS: [&str; 6] = [
    "gen_ai.tool.call.result",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "ai.toolCall.result",
    "output.value",
    "traceloop.entity.output",
];
/// What a span's name may begin with, where the tool's name follows.
const PREFIXES: [&str; 3] = ["execute_tool ", "tools/call ", "running tool: "];

/// The attributes of a span, each as JSON text.
#[derive(Debug, Default)]
pub(in crate::formats) struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// From an object, also with dots as nesting.
    pub(in crate::formats) fn of_object(object: Value<'_>) -> Attributes {
        let mut all = Attributes::default();
        all.flatten("", object, 0);
        all
    }

    fn flatten(&mut self, prefix: &str, object: Value<'_>, depth: usize) {
        for (key, value) in object.members() {
            let name = format!("{prefix}{}", key.name());
            self.0.push((name.clone(), String::from_utf8_lossy(value.text()).into_owned()));
            // deep enough for every name that is asked for
            if value.is_object() && depth < 4 && !ARGS.contains(&&*name) && !RESULTS.contains(&&*name) {
                self.flatten(&format!("{name}."), value, depth + 1);
            }
        }
    }

    /// From either form.
    pub(in crate::formats) fn of(attributes: Option<Value<'_>>) -> Attributes {
        match attributes {
            Some(object) if object.is_object() => Attributes::of_object(object),
            list => Attributes::of_list(list),
        }
    }

    /// From the list of the OpenTelemetry protocol.
    pub(in crate::formats) fn of_list(list: Option<Value<'_>>) -> Attributes {
        let one = |item: Value<'_>| {
            let [key, value] = item.fields(&["key", "value"]);
            Some((text(key)?.into_owned(), any_value(value?)))
        };
        Attributes(list.into_iter().flat_map(Value::items).filter_map(one).collect())
    }

    pub(in crate::formats) fn get(&self, name: &str) -> Option<Value<'_>> {
        let (_, json) = self.0.iter().find(|(own, _)| own == name)?;
        view::only_value(json.as_bytes()).ok().filter(|value| !value.is_null())
    }

    fn first(&self, names: &[&str]) -> Option<Value<'_>> {
        names.iter().find_map(|name| self.get(name))
    }

    fn is(&self, name: &str, text: &str) -> bool {
        self.get(name).is_some_and(|value| value.as_str().is_some_and(|own| own.eq_ignore_ascii_case(text)))
    }

    /// Whether the span is the call of a tool, by any convention that is known.
    pub(in crate::formats) fn is_tool(&self) -> bool {
        self.is("gen_ai.operation.name", "execute_tool")
            || self.is("mcp.method.name", "tools/call")
            || self.is("openinference.span.kind", "TOOL")
            || self.is("langsmith.span.kind", "tool")
            || self.is("traceloop.span.kind", "tool")
            || self.get("ai.toolCall.name").is_some()
            // required of a tool's span, and of no other one
            || self.get("gen_ai.tool.name").is_some() && self.get("gen_ai.operation.name").is_none()
    }

    /// Whether the span stands for the model or for an agent: what is below it is asked for anew.
    pub(in crate::formats) fn thinks(&self) -> bool {
        const OPERATIONS: [&str; 4] = ["invoke_agent", "chat", "generate_content", "text_completion"];
        OPERATIONS.iter().any(|operation| self.is("gen_ai.operation.name", operation))
            || self.is("openinference.span.kind", "LLM")
            || self.is("openinference.span.kind", "AGENT")
    }

    /// Whether the span stands for an agent, so that what it used is the sum of the spans below it.
    pub(in crate::formats) fn is_agent(&self) -> bool {
        self.is("gen_ai.operation.name", "invoke_agent") || self.is("openinference.span.kind", "AGENT")
    }

    /// Hands on what the span's request to a model used. `own` names the span.
    pub(in crate::formats) fn used(&self, own: Option<&str>, out: &mut Out<'_>) {
        const NAMES: [&str; 8] = [
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.prompt",
            "llm.token_count.completion",
            "llm.token_count.prompt_details.cache_read",
            "llm.cost.total",
        ];
        let said = view::made(&NAMES.map(|name| (name, self.get(name))));
        out.usage(view::only_value(said.as_bytes()).ok(), own, None);
    }

    /// Whether the span says that it failed.
    pub(in crate::formats) fn is_error(&self) -> bool {
        self.get("error").is_some_and(|error| error.as_bool() == Some(true))
    }

    /// The agent of a span that stands for one.
    pub(in crate::formats) fn agent(&self) -> Option<String> {
        if !self.is("gen_ai.operation.name", "invoke_agent") {
            return None;
        }
        self.first(&["gen_ai.agent.name", "gen_ai.agent.id"]).and_then(Value::as_str).map(Cow::into_owned)
    }

    /// The name of the tool: an attribute, or what a span's name says by convention. Other names say nothing.
    pub(in crate::formats) fn tool(&self, span: &str) -> String {
        let attribute = self.first(&NAMES).and_then(Value::as_str).map(Cow::into_owned);
        attribute.unwrap_or_else(|| bare_name(span).to_owned())
    }

    /// The id of the call; some write a list of ids.
    pub(in crate::formats) fn id(&self) -> Option<String> {
        let id = self.first(&IDS)?;
        let id = if id.is_array() { id.items().last()? } else { id };
        id.as_str().map(Cow::into_owned)
    }

    pub(in crate::formats) fn args(&self) -> Option<Value<'_>> {
        self.first(&ARGS)
    }

    pub(in crate::formats) fn result(&self) -> Option<Value<'_>> {
        self.first(&RESULTS)
    }
}

/// A tool's name without what conventions put before it.
pub(in crate::formats) fn bare_name(span: &str) -> &str {
    let bare = PREFIXES.iter().find_map(|prefix| span.strip_prefix(prefix)).unwrap_or(span);
    // a label around the name is none of it
    match bare.strip_prefix("tool: ").or_else(|| bare.strip_prefix("Tool: ")) {
        Some(quoted) => quoted.trim_matches(['\'', '"', '`']),
        None => bare,
    }
}

/// Whether a span is the call of a tool by its name alone.
pub(in crate::formats) fn is_tool_name(span: &str) -> bool {
    span.strip_prefix("execute_tool ").is_some_and(|tool| !tool.trim().is_empty())
}

/// A value of the OpenTelemetry protocol as JSON text.
fn any_value(value: Value<'_>) -> String {
    if !value.is_object() {
        // tags of Jaeger are values by themselves
        return String::from_utf8_lossy(value.text()).into_owned();
    }
    let [string, int, double, bool, list, object, bytes] = value.fields(&[
        "stringValue",
        "intValue",
        "doubleValue",
        "boolValue",
        "arrayValue",
        "kvlistValue",
        "bytesValue",
    ]);
    let raw = |value: Value<'_>| String::from_utf8_lossy(value.text()).into_owned();
    if let Some(value) = int {
        // 64 bits as a string
        return value.as_str().map_or_else(|| raw(value), Cow::into_owned);
    }
    if let Some(value) = string.or(double).or(bool).or(bytes) {
        return raw(value);
    }
    if let Some(list) = list {
        let items: Vec<String> = list.get("values").into_iter().flat_map(Value::items).map(any_value).collect();
        return format!("[{}]", items.join(","));
    }
    let members =
        object.and_then(|object| object.get("values")).into_iter().flat_map(Value::items).filter_map(|item| {
            let [key, value] = item.fields(&["key", "value"]);
            Some(format!("{}:{}", raw(key?), any_value(value?)))
        });
    match object {
        Some(_) => format!("{{{}}}", members.collect::<Vec<_>>().join(",")),
        None => "null".to_owned(),
    }
}

/// A call with its answer, both from one span.
#[derive(Debug)]
pub(in crate::formats) struct SpanCall<'a> {
    pub(in crate::formats) at: Value<'a>,
    pub(in crate::formats) id: String,
    pub(in crate::formats) tool: String,
    pub(in crate::formats) thread: Option<String>,
    pub(in crate::formats) time: Option<i64>,
    /// When it ended.
    pub(in crate::formats) ended: Option<i64>,
    pub(in crate::formats) args: Option<Value<'a>>,
    pub(in crate::formats) result: Option<Value<'a>>,
    pub(in crate::formats) failed: bool,
    pub(in crate::formats) flags: Flags,
    /// What the span says about a failure, as JSON text.
    pub(in crate::formats) error: Option<String>,
}

/// Hands a call on.
pub(in crate::formats) fn emit(call: &SpanCall<'_>, out: &mut Out<'_>) {
    let noted = out.call(Call {
        id: Some(Cow::Borrowed(&call.id)),
        thread: call.thread.as_deref().map(Cow::Borrowed),
        time: call.time,
        flags: call.flags,
        ..Call::new(call.at, Cow::Borrowed(&*call.tool), Args::Text(call.args))
    });
    let body = match (call.result, &call.error) {
        (Some(result), _) => Body::Value(Some(result)),
        (None, Some(error)) => Body::Made(format!("{{\"error\":{error}}}")),
        (None, None) => return,
    };
    out.ended(call.ended);
    let mut answer = ToolResult::new(call.at, To::Call(noted), body);
    answer.failed = call.failed;
    answer.unobserved = call.flags.has(Flags::UNOBSERVED);
    out.result(answer);
}

/// Says of a span that is no tool's by any convention, but called like one, that it was left out.
pub(in crate::formats) fn left_out(name: &str, span: Value<'_>, out: &mut Out<'_>) {
    if name.to_ascii_lowercase().contains("tool") {
        out.note(Code::SpanLeftOut, "", span, &format!("'{name}' follows no known convention"));
    }
}
