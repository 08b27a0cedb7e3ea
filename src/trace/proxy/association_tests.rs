use serde_json::json;

use super::*;
use crate::trace::protocol::ToolResult;

fn seen(request: &str, session: &str) -> Seen {
    Seen { request_id: request.into(), session_id: session.into() }
}

fn call(id: &str, arguments: Value) -> ToolCall {
    ToolCall {
        choice: 0,
        index: 0,
        id: Some(id.into()),
        name: Some("f".into()),
        kind: "function".into(),
        arguments,
        complete: true,
        after_end: false,
    }
}

fn reporting(call: &ToolCall) -> Head {
    let result = ToolResult { id: call.id.clone(), name: None, content: Value::Null, is_error: None };
    Head { results: vec![result], history: vec![call.clone()], ..Head::default() }
}

#[test]
fn the_oldest_calls_are_forgotten() {
    let memory = Associations::new();
    let scope = memory.scope(&HeaderMap::new());
    let kind = |n: usize| {
        memory.resolve(scope, "p", &HeaderMap::new(), &reporting(&call(&format!("c{n}"), json!({})))).unwrap().kind
    };
    for n in 0..=REMEMBERED {
        memory.register(scope, "p", &seen(&format!("r{n}"), "s"), None, &[call(&format!("c{n}"), json!({}))]);
    }
    assert_eq!(
        (kind(0), kind(1), kind(REMEMBERED)),
        ("independent_request", "tool_call_reference", "tool_call_reference")
    );
    let calls = memory.calls.lock().unwrap();
    assert_eq!((calls.order.len(), calls.seen.len()), (REMEMBERED, REMEMBERED));
}

#[test]
fn content_counts_and_not_how_it_is_written() {
    let memory = Associations::new();
    let scope = memory.scope(&HeaderMap::new());
    let print = |text: &str| memory.call_print(scope, "p", &call("c", serde_json::from_str(text).unwrap()));
    for (a, b, same) in [
        (r#"{"a":1,"b":2}"#, r#"{ "b":2, "a":1 }"#, true),
        (r#"{"n":1.0}"#, r#"{"n":1}"#, true),
        (r#"{"n":1e3}"#, r#"{"n":1000}"#, true),
        (r#"{"s":"é"}"#, r#"{"s":"\u00e9"}"#, true),
        (r#"{"n":12345678901234567890}"#, r#"{"n":12345678901234567891}"#, false),
        (r#"{"n":1}"#, r#"{"n":"1"}"#, false),
        (r#"["ab",""]"#, r#"["a","b"]"#, false),
        (r#"[["a"],"b"]"#, r#"[["a","b"]]"#, false),
        (r#"{"a":{}}"#, r#"{"a":[]}"#, false),
        ("null", "false", false),
    ] {
        assert_eq!(print(a) == print(b), same, "{a} {b}");
    }
    assert!(
        memory.call_print(scope, "q", &call("c", json!({}))) != memory.call_print(scope, "p", &call("c", json!({})))
    );
}

#[test]
fn cut_calls_link_nothing() {
    let memory = Associations::new();
    let scope = memory.scope(&HeaderMap::new());
    let cut = ToolCall { complete: false, ..call("c", json!({})) };
    memory.register(scope, "p", &seen("r", "s"), None, std::slice::from_ref(&cut));
    assert_eq!(
        memory.resolve(scope, "p", &HeaderMap::new(), &reporting(&cut)).unwrap().reason,
        Some("tool_call_not_observed")
    );
}
