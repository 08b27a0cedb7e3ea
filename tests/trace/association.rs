//! Which requests end up in one session, and which must not.

use std::io::Write;

use serde_json::{Value, json};

use super::support::*;

fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}})
}

/// Answers a first turn with the calls that the request's `x-title` header holds, and later turns with text.
fn model() -> Upstream {
    Upstream::start(|request, stream| {
        let calls: Option<Value> = request.header("x-title").map(|calls| serde_json::from_str(calls).unwrap());
        let reply = match calls {
            Some(calls) => {
                json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}]})
            }
            None => {
                json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}]})
            }
        };
        let _ = stream.write_all(&json_reply(&reply));
    })
}

fn ask(proxy: &Proxy, key: &str, calls: &Value) -> Captured {
    let head = format!("POST /v1/chat/completions\nauthorization: Bearer {key}\nx-title: {calls}");
    proxy.capture_of(&proxy.send(&head, json!({"messages": [{"role": "user", "content": "go"}]}).to_string()))
}

fn report(proxy: &Proxy, key: &str, calls: &Value, ids: &[&str]) -> Captured {
    let mut messages =
        vec![json!({"role": "user", "content": "go"}), json!({"role": "assistant", "tool_calls": calls})];
    messages
        .extend(ids.iter().map(|id| json!({"role": "tool", "tool_call_id": id, "content": format!("result of {id}")})));
    // Agents may put words of their own behind the results.
    messages.push(json!({"role": "user", "content": "go on"}));
    let head = format!("POST /v1/chat/completions\nauthorization: Bearer {key}");
    proxy.capture_of(&proxy.send(&head, json!({"messages": messages}).to_string()))
}

#[test]
fn results_link_to_the_calls_they_answer() {
    let upstream = model();
    let proxy = Proxy::start(&upstream, &[]);
    let asked = json!([call("call_1", "{\"path\":\"a\",\"n\":1.0}"), call("call_2", "{\"path\":\"b\"}")]);
    let first = ask(&proxy, "key-number-one", &asked);
    assert_eq!(
        (first.association(), &first.start.data["association_reason"]),
        ("independent_request", &json!("no_tool_results"))
    );
    // Written anew by the agent: other spaces, other key order, another way to write the number.
    let again = json!([call("call_1", "{ \"n\": 1, \"path\": \"\\u0061\" }"), call("call_2", "{\"path\":\"b\"}")]);
    let next = report(&proxy, "key-number-one", &again, &["call_1", "call_2"]);
    assert_eq!((next.association(), next.session()), ("tool_call_reference", first.session()));
    assert_eq!(next.start.data["parent_request_ids"], json!([first.start.trace_id]));
    assert_eq!(
        next.start.data["agent_reported_tool_results"],
        json!([{"id": "call_1", "content": "result of call_1"}, {"id": "call_2", "content": "result of call_2"}])
    );
    assert_eq!(next.start.data["unlinked_tool_results"], json!([]));
    // One of two results is enough, none that was not seen is.
    assert_eq!(report(&proxy, "key-number-one", &again, &["call_2"]).session(), first.session());

    let stranger = json!([call("call_1", "{\"path\":\"a\",\"n\":1}"), call("call_3", "{}")]);
    let other = report(&proxy, "key-number-one", &stranger, &["call_1", "call_3"]);
    assert_eq!(
        (other.association(), &other.start.data["association_reason"]),
        ("independent_request", &json!("tool_call_not_observed"))
    );
    assert_eq!(
        (&other.start.data["unlinked_tool_results"], &other.start.data["parent_request_ids"]),
        (&json!(["call_3"]), &json!([]))
    );

    for (key, calls, ids, reason) in [
        ("key-number-two", &asked, vec!["call_1"], "tool_call_not_observed"),
        ("key-number-one", &json!([call("call_1", "{\"path\":\"other\"}")]), vec!["call_1"], "tool_call_not_observed"),
        ("key-number-one", &asked, vec!["call_9"], "tool_result_without_call"),
        ("key-number-one", &json!([]), vec!["call_1"], "tool_result_without_call"),
    ] {
        let other = report(&proxy, key, calls, &ids);
        assert_eq!(other.start.data["association_reason"], reason);
        assert_ne!(other.session(), first.session());
    }
    // The same text is no evidence.
    assert_ne!(ask(&proxy, "key-number-one", &json!([call("call_8", "{}")])).session(), first.session());
}

#[test]
fn between_two_candidates_nothing_is_chosen() {
    let upstream = model();
    let proxy = Proxy::start(&upstream, &[]);
    let asked = json!([call("call_1", "{}")]);
    let first = ask(&proxy, "one-and-the-same", &asked);
    assert_eq!(report(&proxy, "one-and-the-same", &asked, &["call_1"]).session(), first.session());
    let second = ask(&proxy, "one-and-the-same", &asked);
    let next = report(&proxy, "one-and-the-same", &asked, &["call_1"]);
    assert_eq!(
        (next.association(), &next.start.data["association_reason"]),
        ("independent_request", &json!("tool_call_ambiguous"))
    );
    assert!(next.session() != first.session() && next.session() != second.session());
    // Results of two sessions in one request.
    let (a, b) = (json!([call("call_a", "{}")]), json!([call("call_b", "{}")]));
    ask(&proxy, "one-and-the-same", &a);
    ask(&proxy, "one-and-the-same", &b);
    let both = json!([call("call_a", "{}"), call("call_b", "{}")]);
    assert_eq!(
        report(&proxy, "one-and-the-same", &both, &["call_a", "call_b"]).start.data["association_reason"],
        "tool_calls_of_several_sessions"
    );
}

#[test]
fn ids_that_repeat_within_one_reply_are_paired_in_order() {
    let upstream = model();
    let proxy = Proxy::start(&upstream, &[]);
    let asked = json!([call("same", "{\"n\":1}"), call("same", "{\"n\":2}")]);
    let first = ask(&proxy, "repeating-key", &asked);
    let next = report(&proxy, "repeating-key", &asked, &["same", "same"]);
    assert_eq!((next.association(), next.session()), ("tool_call_reference", first.session()));
}

#[test]
fn headers_name_sessions() {
    let upstream = model();
    let proxy = Proxy::start(&upstream, &[]);
    let send = |headers: &str| {
        proxy.capture_of(&proxy.send(&format!("POST /v1/chat/completions\n{headers}"), "{\"messages\":[]}"))
    };
    let one = send("authorization: Bearer key-aaaaaaa\nx-toolreplay-trace-id: ../../etc/passwd");
    assert_eq!(one.association(), "explicit_header");
    assert!(
        one.session().len() == 32
            && one.session().bytes().all(|b| b.is_ascii_hexdigit())
            && !one.text.contains("passwd")
    );
    assert_eq!(upstream.last().header("x-toolreplay-trace-id"), None);
    assert_eq!(
        send("authorization: Bearer key-aaaaaaa\nX-Attacker-Trace-ID: ../../etc/passwd\nx-session-id: s").session(),
        one.session()
    );
    for other in [
        "authorization: Bearer key-bbbbbbb\nx-toolreplay-trace-id: ../../etc/passwd",
        "authorization: Bearer key-aaaaaaa\nopenai-project: p\nx-toolreplay-trace-id: ../../etc/passwd",
        "x-api-key: Bearer key-aaaaaaa\nx-toolreplay-trace-id: ../../etc/passwd",
        "authorization: Bearer key-aaaaaaa\nx-toolreplay-trace-id: other",
        "authorization: Bearer key-aaaaaaa\nx-session-id: ../../etc/passwd",
    ] {
        assert_ne!(send(other).session(), one.session(), "{other}");
    }
    for name in ["x-claude-code-session-id", "session-id", "x-session-id", "x-session-affinity"] {
        let (a, b) = (send(&format!("{name}: s1")), send(&format!("{name}: s1")));
        assert_eq!((a.association(), a.session()), ("agent_session_header", b.session()));
        assert_eq!(upstream.last().header(name), Some("s1"));
        assert_ne!(send(&format!("{name}: s2")).session(), a.session());
    }
    // Another process has another key, so that a session id tells nothing about the header.
    let elsewhere = Proxy::start(&upstream, &[]);
    let again = elsewhere.capture_of(&elsewhere.send(
        "POST /v1/chat/completions\nauthorization: Bearer key-aaaaaaa\nx-toolreplay-trace-id: ../../etc/passwd",
        "{\"messages\":[]}",
    ));
    assert_ne!(again.session(), one.session());
    let long = "x".repeat(128);
    assert_eq!(send(&format!("x-toolreplay-trace-id: {long}")).association(), "explicit_header");
}
