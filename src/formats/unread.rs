//! Whether something that no importer understands may hold a call: then it was lost, and the run says so.
//!
//! Formats grow new records with every release of an agent. Those that speak of nothing like a tool are counted; those
//! that do are a loss, for an audit that passes over a call proves nothing.

use crate::json::view::{self, Value};

/// Levels that are looked at.
const LEVELS: usize = 24;

/// Whether a value has something in it that calls of tools, or their results, are made of in one format or another.
pub(crate) fn may_hold_call(value: Value<'_>) -> bool {
    looks_like(value, LEVELS)
}

fn looks_like(value: Value<'_>, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return true };
    if value.is_array() {
        return value.items().any(|item| looks_like(item, levels));
    }
    let (mut name, mut input) = (false, false);
    for (key, member) in value.members() {
        let key = plain(&key.name());
        name |= key == "name";
        input |= key == "input" || key == "parameters";
        let kind = matches!(&*key, "type" | "kind" | "event" | "role" | "method")
            && member.as_str().is_some_and(|kind| speaks_of_calls(&kind) || plain(&kind) == "tool");
        let telling = speaks_of_calls(&key) || matches!(&*key, "arguments" | "args" | "command" | "cmd" | "callid");
        if kind || telling && !is_nothing(member) || looks_like(member, levels) {
            return true;
        }
    }
    name && input
}

/// Whether a value of no known format holds what can hardly be anything but calls of tools. A document is looked into that
/// may be anything, such as a schema or a configuration, so names alone say nothing: a call has a tool's name beside what
/// it was called with, or stands in a list of calls.
pub(crate) fn holds_calls(value: Value<'_>) -> bool {
    holds(value, LEVELS)
}

fn holds(value: Value<'_>, levels: usize) -> bool {
    // what is too deep to be looked at is no ordinary document, and not known to hold none
    let Some(levels) = levels.checked_sub(1) else { return true };
    let list_of_calls = |(key, member): (view::Key<'_>, Value<'_>)| {
        let first = if member.is_array() { member.items().next() } else { None };
        let filled = first.is_some_and(|first| first.is_object() && first.members().next().is_some());
        filled && speaks_of_calls(&key.name()) || holds(member, levels)
    };
    is_call(value) || value.items().any(|item| holds(item, levels)) || value.members().any(list_of_calls)
}

/// Whether a value is a call or its result: it says so and has a name or an id, or it has the name of a tool and what that
/// was called with.
pub(crate) fn is_call(value: Value<'_>) -> bool {
    let (mut kind, mut name, mut id, mut input) = (false, false, false, false);
    for (key, member) in value.members() {
        let (key, text) = (plain(&key.name()), member.as_str());
        match &*key {
            "type" | "kind" | "event" | "role" | "method" => {
                kind |=
                    text.is_some_and(|text| speaks_of_calls(&text) || matches!(&*plain(&text), "tool" | "toolscall"));
            }
            "name" | "tool" | "toolname" | "functionname" => name |= text.is_some(),
            "args" | "arguments" | "toolinput" | "toolargs" => {
                input |= member.is_object() || text.is_some_and(|text| text.trim_start().starts_with('{'));
            }
            "input" => id |= member.is_object(),
            _ => id |= speaks_of_calls(&key) && text.is_some_and(|text| !text.is_empty()),
        }
    }
    kind && (name || id) || name && input
}

/// Whether a name is one of a call, of its result, or of what leads from one to the other.
pub(crate) fn speaks_of_calls(name: &str) -> bool {
    const PARTS: [&str; 6] = ["toolcall", "tooluse", "toolname", "toolresult", "toolrequest", "functioncall"];
    let name = plain(name);
    PARTS.iter().any(|part| name.contains(part))
}

/// A name without what separates its words, in small letters.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_nothing(value: Value<'_>) -> bool {
    matches!(value.text(), b"null" | b"\"\"" | b"[]" | b"{}" | b"false" | b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(text: &str) -> bool {
        may_hold_call(view::only_value(text.as_bytes()).unwrap())
    }

    #[test]
    fn calls_are_seen_under_many_names() {
        for text in [
            r#"{"type":"function_tool_call","x":1}"#,
            r#"{"type":"new","payload":{"deep":[{"toolCalls":[1]}]}}"#,
            r#"{"name":"rm","input":{}}"#,
            r#"{"name":"rm","arguments":"{}"}"#,
            r#"{"tool_callsX":[{}]}"#,
            r#"{"role":"tool","content":"x"}"#,
            r#"{"argv":0,"cmd":"ls"}"#,
        ] {
            assert!(may(text), "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(may(&deep), "what is too deep to be looked at is not known to hold nothing");
    }

    #[test]
    fn documents_hold_calls_or_only_speak_of_them() {
        let holds = |text: &str| holds_calls(view::only_value(text.as_bytes()).unwrap());
        for text in [
            r#"{"log":[{"tool":"rm","args":{"path":"/"}}]}"#,
            r#"{"steps":[{"do":{"name":"rm","arguments":"{\"path\":\"/\"}"}}]}"#,
            r#"{"my_tool_calls":[{"f":"rm"}]}"#,
            r#"[{"type":"tool_use","id":"1","name":"rm","input":{}}]"#,
            r#"{"kind":"tools/call","name":"rm"}"#,
            r#"{"role":"tool","tool_call_id":"1","content":"x"}"#,
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [
            r#"{"name":"x","scripts":{"test":"y"},"args":["a"]}"#,
            r#"{"mcpServers":{"x":{"command":"npx","args":["-y","z"]}}}"#,
            r#"{"version":"2.0.0","configurations":[{"name":"x","type":"node","args":["a"]}]}"#,
            r#"{"properties":{"tool_calls":{"type":"array","items":{"properties":{"name":{"type":"string"}}}}}}"#,
            r#"{"tools":[{"type":"function","function":{"name":"x","parameters":{"type":"object"}}}]}"#,
            r#"{"tool_calls":[]}"#,
            r#"{"enum":["tool_use","tool_result"]}"#,
            r#"{"tool_call_count":7,"name":"x"}"#,
        ] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn other_records_hold_none() {
        for text in [
            r#"{"type":"usage","tokens":7}"#,
            r#"{"type":"title","text":"how to call a tool","tool_calls":[]}"#,
            r#"{"role":"user","content":"arguments"}"#,
            r#"{"tools":["Read"],"name":"x"}"#,
        ] {
            assert!(!may(text), "{text}");
        }
    }
}
