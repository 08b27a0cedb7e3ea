use serde_json::json;

use super::*;

fn run(events: &[Value], limit: usize) -> Reply {
    let mut stream = RESPONSES.stream(limit);
    for event in events {
        stream.frame(None, event.to_string().as_bytes());
    }
    stream.finish(true)
}

#[test]
fn text_of_a_cut_stream_is_kept() {
    let reply = run(
        &[
            json!({"type": "response.created", "response": {"id": "r", "model": "m", "instructions": "long"}}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "i", "role": "assistant", "content": []}}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "half"}),
            json!({"type": "response.output_text.delta", "output_index": 9, "delta": "of nothing"}),
            json!({"type": "keepalive"}),
        ],
        10_000,
    );
    assert_eq!(reply.response["output"][0]["content"][0]["text"], "half");
    assert_eq!((reply.id.as_deref(), reply.complete), (Some("r"), false));
}

#[test]
fn the_last_event_counts_and_needs_no_room_beside_the_deltas() {
    let item = json!({"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "x".repeat(700)}]});
    let mut events =
        vec![json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}})];
    events.extend(
        (0..70).map(|_| json!({"type": "response.output_text.delta", "output_index": 0, "delta": "xxxxxxxxxx"})),
    );
    events
        .push(json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}}));
    let reply = run(&events, 1000);
    assert!(reply.complete && !reply.issues.has("capture_byte_limit"), "{:?}", reply.issues);
    // Too large an end: marked, and not mistaken for a cut stream.
    let reply = run(&events, 500);
    assert!(
        reply.issues.has("capture_byte_limit") && !reply.issues.has("missing_stream_end") && reply.complete,
        "{:?}",
        reply.issues
    );
}

#[test]
fn incomplete_and_noise() {
    let reply = run(
        &[
            json!({"type": "response.incomplete", "response": {"id": "r", "status": "incomplete", "output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"n\":", "status": "incomplete"}]}}),
        ],
        1000,
    );
    assert_eq!((reply.complete, reply.calls[0].complete), (true, false));
    assert!(reply.issues.has("response_incomplete"));
    for data in [
        &b"\xff"[..],
        b"{",
        b"[]",
        b"{}",
        b"{\"type\":1}",
        b"{\"type\":\"response.completed\"}",
        b"{\"type\":\"response.output_item.done\"}",
        b"{\"type\":\"response.completed\",\"response\":7}",
    ] {
        let mut stream = RESPONSES.stream(100);
        stream.frame(None, data);
        stream.frame(None, data);
        stream.calls();
        stream.finish(true);
    }
}

#[test]
fn the_tail_of_a_request() {
    let head = |input: &Value| RESPONSES.inspect(json!({"input": input}).to_string().as_bytes()).unwrap();
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    let ids = |head: &Head| -> String { head.results.iter().map(|result| result.id.clone().unwrap()).collect() };
    let user = json!({"role": "user", "content": "x"});
    let reasoning = json!({"type": "reasoning"});
    for (input, want) in [
        (json!([user, reasoning, call("a"), call("b"), output("a"), output("b")]), "ab"),
        (json!([user, call("a"), output("a"), call("b"), output("b")]), "ab"),
        (json!([user, call("a"), output("a"), user]), "a"),
        (json!([user, call("a"), output("a"), {"type": "message", "role": "assistant", "content": "done"}, user]), ""),
        (json!([user, call("a"), output("a"), user, call("b"), output("b")]), "b"),
        (json!("only text"), ""),
        (json!([]), ""),
    ] {
        let found = head(&input);
        assert_eq!(ids(&found), want, "{input}");
        assert_eq!(found.history.len(), want.len());
    }
    assert!(RESPONSES.inspect(b"[]").is_err() && RESPONSES.inspect(b"{").is_err() && RESPONSES.inspect(b"{}").is_ok());
}
