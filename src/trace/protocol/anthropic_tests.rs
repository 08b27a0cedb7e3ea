use serde_json::json;

use super::*;

#[test]
fn odd_streams() {
    let run = |events: &[Value]| {
        let mut stream = MESSAGES.stream(2000);
        for event in events {
            stream.frame(None, event.to_string().as_bytes());
        }
        stream.finish(true)
    };
    let open = |index: u64| json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": format!("t{index}"), "name": "f", "input": {}}});
    let part = |index: u64, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let end = [json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}), json!({"type": "message_stop"})];
    // Interleaved blocks; an input that never came is the one of the start.
    let mut events = vec![
        open(0),
        open(1),
        part(1, "{\"n\":"),
        open(2),
        part(0, "{\"n\":0}"),
        part(1, "1}"),
        stop(0),
        stop(1),
        stop(2),
    ];
    events.extend(end.clone());
    let reply = run(&events);
    let inputs: Vec<String> = reply.calls.iter().map(|call| call.arguments.to_string()).collect();
    assert_eq!(inputs, ["{\"n\":0}", "{\"n\":1}", "{}"]);
    assert!(reply.complete && reply.issues.is_empty(), "{:?}", reply.issues);
    // Deltas of no block, a block twice, a delta nobody knows.
    let mut events = vec![
        part(4, "x"),
        open(0),
        open(0),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}}),
        stop(0),
    ];
    events.extend(end.clone());
    events.push(json!({"type": "ping"}));
    assert_eq!(
        run(&events).issues.codes(),
        json!([
            "content_block_missing",
            "content_block_repeated",
            "data_after_done",
            "tool_ids_duplicate",
            "unsupported_delta_fields"
        ])
    );
    // More than fits.
    let mut events = vec![open(0), part(0, &"x".repeat(3000)), stop(0)];
    events.extend(end);
    let reply = run(&events);
    assert!(reply.issues.has("capture_byte_limit") && !reply.calls[0].complete);
    for data in [
        &b"\xff"[..],
        b"{",
        b"[]",
        b"{}",
        b"{\"type\":\"content_block_start\"}",
        b"{\"type\":\"message_start\",\"message\":1}",
        b"{\"type\":\"message_delta\"}",
        b"{\"error\":{}}",
    ] {
        let mut stream = MESSAGES.stream(100);
        stream.frame(None, data);
        stream.calls();
        stream.finish(true);
    }
}

#[test]
fn json_replies_and_errors() {
    let reply = MESSAGES.reply(json!({"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"n": 1}}], "stop_reason": "end_turn"}));
    assert_eq!((reply.calls.len(), reply.issues.codes()), (1, json!(["finish_reason_mismatch"])));
    let reply = MESSAGES.reply(json!({"type": "error", "error": {"type": "overloaded_error"}}));
    assert_eq!((reply.error.as_deref(), reply.complete), (Some("overloaded_error"), false));
    assert_eq!(MESSAGES.error(413, "c", "m")["error"]["type"], "request_too_large");
}

#[test]
fn the_tail_of_a_request() {
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let head = MESSAGES
        .inspect(
            json!({"messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "old", "name": "f", "input": {}}]},
                {"role": "user", "content": [result("old")]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
                {"role": "user", "content": [result("a"), {"type": "text", "text": "x"}]},
                {"role": "user", "content": [result("b")]},
                {"role": "user", "content": "more"},
            ]})
            .to_string()
            .as_bytes(),
        )
        .unwrap();
    let ids: Vec<_> = head.results.iter().map(|result| result.id.as_deref().unwrap()).collect();
    assert_eq!((ids, head.history.len()), (vec!["a", "b"], 2));
    assert!(MESSAGES.inspect(b"{\"messages\":{}}").is_err() && MESSAGES.inspect(b"x").is_err());
}

/// Each as `id=name arguments`, with a mark where it is not whole or came late, and the codes of what was odd.
fn calls_of(events: &[Value]) -> (Vec<String>, Value) {
    let mut stream = MESSAGES.stream(5000);
    for event in events {
        stream.frame(None, event.to_string().as_bytes());
    }
    let reply = stream.finish(true);
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let call = |call: &ToolCall| {
        let mark = [(!call.complete).then_some(" cut"), call.after_end.then_some(" late")];
        let mark: String = mark.into_iter().flatten().collect();
        format!("{}={} {}{mark}", text(&call.id), text(&call.name), call.arguments)
    };
    (reply.calls.iter().map(call).collect(), reply.issues.codes())
}

#[test]
fn calls_however_they_are_streamed() {
    let message = |content: Value| json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": content}});
    let open =
        |index: Value, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let tool = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "f", "input": input});
    let part = |index: Value, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}});
    let stop = |index: Value| json!({"type": "content_block_stop", "index": index});
    let end = |reason: &str| {
        [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
    };
    let none = Value::Null;
    let bare = json!({"type": "tool_use", "id": "a", "name": "f"});
    let with = |events: Vec<Value>, reason: &str| [events, end(reason).to_vec()].concat();
    for (events, calls, issues) in [
        // the input stands in the start, with no delta, an empty one, the same once more, or another
        (vec![open(json!(0), tool("a", json!({"n": 1}))), stop(json!(0))], vec!["a=f {\"n\":1}"], json!([])),
        (
            vec![open(json!(0), tool("a", json!({"n": 1}))), part(json!(0), ""), stop(json!(0))],
            vec!["a=f {\"n\":1}"],
            json!([]),
        ),
        (
            vec![open(json!(0), tool("a", json!({"n": 1}))), part(json!(0), "{\"n\":1}"), stop(json!(0))],
            vec!["a=f {\"n\":1}"],
            json!([]),
        ),
        (
            vec![open(json!(0), tool("a", json!({"n": 1}))), part(json!(0), "{\"n\":2}"), stop(json!(0))],
            vec!["a=f {\"n\":2}"],
            json!(["tool_arguments_replaced"]),
        ),
        // no input at all
        (vec![open(json!(0), bare.clone()), stop(json!(0))], vec!["a=f {}"], json!(["tool_arguments_empty"])),
        // blocks that nobody stopped
        (
            vec![
                open(json!(0), tool("a", json!({}))),
                part(json!(0), "{\"n\":1}"),
                open(json!(1), tool("b", json!({}))),
            ],
            vec!["a=f {\"n\":1}", "b=f {}"],
            json!([]),
        ),
        // no index anywhere, and two blocks under one
        (
            vec![
                open(none.clone(), tool("a", json!({}))),
                part(none.clone(), "{}"),
                stop(none.clone()),
                open(none.clone(), tool("b", json!({}))),
                part(none.clone(), "{\"n\":2}"),
            ],
            vec!["a=f {}", "b=f {\"n\":2}"],
            json!([]),
        ),
        (
            vec![
                open(json!(0), tool("a", json!({}))),
                part(json!(0), "{}"),
                stop(json!(0)),
                open(json!(0), tool("b", json!({}))),
                part(json!(0), "{\"n\":2}"),
            ],
            vec!["a=f {}", "b=f {\"n\":2}"],
            json!(["content_block_repeated"]),
        ),
        // the message begins with what it has
        (
            vec![message(json!([tool("a", json!({"n": 1}))])), open(json!(0), tool("b", json!({})))],
            vec!["a=f {\"n\":1}", "b=f {}"],
            json!([]),
        ),
    ] {
        let (got, found) = calls_of(&with(events, "tool_use"));
        assert_eq!((got, found), (calls.into_iter().map(str::to_owned).collect(), issues));
    }
    let cut = with(vec![open(json!(0), tool("a", json!({}))), part(json!(0), "{\"n\":"), stop(json!(0))], "max_tokens");
    assert_eq!(calls_of(&cut).0, ["a=f \"{\\\"n\\\":\" cut"]);
    // nothing of its input was seen
    assert_eq!(calls_of(&[open(json!(0), tool("a", json!({})))]).0, ["a=f null cut"]);
    let late = [
        with(vec![open(json!(0), tool("a", json!({})))], "tool_use"),
        vec![open(json!(1), tool("b", json!({}))), stop(json!(1))],
    ]
    .concat();
    assert_eq!(
        calls_of(&late),
        (vec!["a=f {}".to_owned(), "b=f {} late".to_owned()], json!(["call_after_end", "data_after_done"]))
    );
}
