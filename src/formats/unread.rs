//! Whether something that no importer understands may hold a call: then it was lost, and the run says so.
//!
//! Formats grow new records with every release of an agent. Those that speak of nothing like a tool are counted; those
//! that do are a loss, for an audit that passes over a call proves nothing.

use crate::json::view::Value;

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
    use crate::json::view;

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
