use super::*;

fn run(pieces: &[Value]) -> Reply {
    let mut stream = GENERATE_CONTENT.stream(1 << 20);
    pieces.iter().for_each(|piece| stream.frame(None, piece.to_string().as_bytes()));
    stream.finish(true)
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}], "responseId": "r1", "modelVersion": "m"})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"totalTokenCount": 9}})
}

fn shown(calls: &[ToolCall]) -> Vec<String> {
    let show = |call: &ToolCall| {
        let mark = if call.complete { "" } else { " cut" };
        let late = if call.after_end { " late" } else { "" };
        format!("{}({}){mark}{late}", call.name.as_deref().unwrap_or("?"), call.arguments)
    };
    calls.iter().map(show).collect()
}

#[test]
fn a_stream_is_united() {
    let reply = run(&[
        parts(&json!([{"text": "I th", "thought": true}])),
        parts(&json!([{"text": "ink", "thought": true, "thoughtSignature": "c2ln"}])),
        parts(&json!([{"text": "It "}])),
        parts(
            &json!([{"text": "rains"}, {"functionCall": {"id": "c1", "name": "look", "args": {"at": "é"}}, "thoughtSignature": "c2ln"}]),
        ),
        parts(&json!([{"functionCall": {"name": "wait"}}, {"executableCode": {"language": "PYTHON", "code": "1"}}])),
        end("STOP"),
    ]);
    assert_eq!(shown(&reply.calls), ["look({\"at\":\"é\"})", "wait({})"]);
    assert_eq!((reply.calls[0].id.as_deref(), reply.calls[1].index), (Some("c1"), 1));
    assert_eq!(shown(&reply.server_calls), ["code_execution({\"code\":\"1\",\"language\":\"PYTHON\"})"]);
    assert_eq!((reply.id.as_deref(), reply.complete), (Some("r1"), true));
    assert_eq!(reply.issues.codes(), json!(["tool_id_missing"]));
    let parts = &reply.response["candidates"][0]["content"]["parts"];
    assert_eq!((&parts[0]["text"], &parts[0]["thoughtSignature"]), (&json!("I think"), &json!("c2ln")));
    assert_eq!((&parts[1]["text"], parts.as_array().unwrap().len()), (&json!("It rains"), 5));
    assert_eq!(reply.response["usageMetadata"]["totalTokenCount"], 9);
}

#[test]
fn arguments_in_pieces() {
    let piece = |fields: Value| parts(&json!([{"functionCall": fields}]));
    let at = |path: &str, value: Value| {
        let mut piece = json!({"jsonPath": path});
        piece.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        json!({"partialArgs": [piece], "willContinue": true})
    };
    let all = [
        piece(json!({"name": "light", "willContinue": true})),
        piece(at("$.rooms[0].name", json!({"stringValue": "kit", "willContinue": true}))),
        piece(at("$.rooms[0].name", json!({"stringValue": "chen"}))),
        piece(at("$['how much']", json!({"numberValue": 50}))),
        piece(at("$.on", json!({"boolValue": true}))),
        piece(at("$.none", json!({"nullValue": null}))),
        piece(json!({})),
        end("STOP"),
    ];
    let whole = run(&all);
    assert_eq!(
        shown(&whole.calls),
        ["light({\"how much\":50,\"none\":null,\"on\":true,\"rooms\":[{\"name\":\"kitchen\"}]})"]
    );
    assert_eq!(whole.issues.codes(), json!(["tool_id_missing"]));
    for kept in 1..7 {
        let cut = run(&all[..kept]);
        assert!(!cut.calls[0].complete && !cut.complete, "{kept}: the call waits for more");
    }
    // Nobody knows where this belongs, or it has no call to belong to.
    for path in ["", "$", "$..a", "$.a[*]", "$[2]", "$.a[", "$['a", "a", "$['$serde_json::private::Number']"] {
        let reply = run(&[all[0].clone(), piece(at(path, json!({"stringValue": "x"}))), piece(json!({})), end("STOP")]);
        assert!(reply.issues.has("tool_arguments_unclaimed") && !reply.calls[0].complete, "{path}");
    }
    let reply = run(&[piece(at("$.a", json!({"stringValue": "x"}))), end("STOP")]);
    assert!(reply.issues.has("tool_arguments_unclaimed") && reply.calls.is_empty());
    let deep = format!("$.a{}", ".b".repeat(40));
    assert!(run(&[all[0].clone(), piece(at(&deep, json!({"numberValue": 1})))]).issues.has("tool_arguments_unclaimed"));
    let reply = run(&[
        all[0].clone(),
        piece(at("$.a", json!({"stringValue": "x"}))),
        piece(at("$.a", json!({"stringValue": "y"}))),
        piece(json!({})),
        end("STOP"),
    ]);
    assert_eq!(shown(&reply.calls), ["light({\"a\":\"y\"})"]);
    assert!(reply.issues.has("tool_arguments_replaced"));
}

#[test]
fn a_reply_without_events_is_an_array() {
    let pieces = json!([
        parts(&json!([{"text": "a"}])),
        parts(&json!([{"functionCall": {"id": "c", "name": "f", "args": {"n": 1}}}])),
        end("STOP"),
    ]);
    let reply = GENERATE_CONTENT.reply(pieces);
    assert_eq!((shown(&reply.calls), reply.complete), (vec!["f({\"n\":1})".to_owned()], true));
    assert_eq!(reply.issues.codes(), json!([]));
    let reply = GENERATE_CONTENT.reply(json!([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]));
    assert_eq!((reply.error.as_deref(), reply.complete), (Some("RESOURCE_EXHAUSTED"), false));
    let reply = GENERATE_CONTENT.reply(json!([]));
    assert!(!reply.complete && reply.issues.has("missing_stream_end"));
}

#[test]
fn replies_that_are_odd() {
    let reply = run(&[parts(&json!([{"functionCall": {"id": "c", "name": "f"}}]))]);
    assert_eq!(shown(&reply.calls), ["f({})"]);
    assert!(!reply.complete && reply.issues.has("missing_stream_end"));

    let late = parts(&json!([{"functionCall": {"id": "d", "name": "g"}}]));
    let reply = run(&[parts(&json!([{"text": "x"}])), end("STOP"), late]);
    assert_eq!(shown(&reply.calls), ["g({}) late"]);
    assert_eq!(reply.issues.codes(), json!(["call_after_end", "data_after_done"]));

    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    assert!(run(std::slice::from_ref(&blocked)).complete && GENERATE_CONTENT.reply(blocked).complete);
    assert!(GENERATE_CONTENT.reply(json!({"ok": true})).issues.has("unexpected_response"));

    // two candidates, of which one looked things up; snake case, and arguments as text
    let reply = GENERATE_CONTENT.reply(json!({"candidates": [
        {"content": {"parts": [{"function_call": {"id": "a", "name": "f", "args": "{\"n\":1}"}}]}, "finishReason": "STOP"},
        {"index": 1, "content": {"parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}}]}, "groundingMetadata": {"webSearchQueries": ["q"]}},
    ]}));
    assert_eq!(shown(&reply.calls), ["f({\"n\":1})", "f({})"]);
    assert_eq!((reply.calls[1].choice, reply.issues.codes()), (1, json!(["tool_ids_duplicate"])));
    assert_eq!(shown(&reply.server_calls), ["google_search({\"queries\":[\"q\"]})"]);

    // whatever stands where a list or an object belongs is no silent nothing
    for odd in [
        json!({"candidates": {"content": {}}}),
        json!({"candidates": [{"content": {"parts": {"functionCall": {"name": "f"}}}}]}),
        json!({"candidates": [{"content": {"parts": [{"functionCall": "f"}]}}]}),
        json!({"candidates": ["f"]}),
    ] {
        assert!(run(&[odd.clone(), end("STOP")]).issues.has("invalid_sse_chunk"), "{odd}");
    }
    for odd in [
        json!({"candidates": {"content": {}}}),
        json!({"candidates": [{"content": {"parts": {"functionCall": {"name": "f"}}}}]}),
        json!({"candidates": [{"content": {"parts": [{"functionCall": "f"}]}}]}),
    ] {
        assert!(GENERATE_CONTENT.reply(odd.clone()).issues.has("unexpected_response"), "{odd}");
    }
    let mut small = GENERATE_CONTENT.stream(200);
    for _ in 0..9 {
        small.frame(
            None,
            parts(&json!([{"functionCall": {"name": "f", "args": {"x": "y".repeat(40)}}}])).to_string().as_bytes(),
        );
        assert!(small.held() <= 200);
    }
    assert!(small.finish(true).issues.has("capture_byte_limit"));
}

#[test]
fn requests_say_what_they_answer() {
    let request = json!({"contents": [
        {"role": "user", "parts": [{"text": "hello"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {"n": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": 1}}}]},
        {"role": "model", "parts": [{"text": "so"}, {"functionCall": {"id": "b", "name": "f", "args": {"n": 2}}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "g"}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "b", "name": "f", "response": {"error": "no"}}},
            {"function_response": {"id": "c", "name": "g", "response": {"output": 3}, "parts": [{"inlineData": {}}]}},
            {"text": "and?"},
        ]},
    ]});
    let head = GENERATE_CONTENT.inspect(request.to_string().as_bytes()).unwrap();
    assert_eq!(shown(&head.history), ["f({\"n\":2})", "g({})"]);
    let results: Vec<_> = head.results.iter().map(|one| (one.id.as_deref(), one.is_error)).collect();
    assert_eq!(results, [(Some("b"), Some(true)), (Some("c"), None)]);
    assert_eq!(head.results[1].content, json!({"response": {"output": 3}, "parts": [{"inlineData": {}}]}));
    // without ids, as Google's own SDK sends them: by the tool, in order
    let asked = [("a", "f"), ("b", "g"), ("c", "f"), ("d", "f")]
        .map(|(id, name)| json!({"functionCall": {"id": id, "name": name}}));
    let told = [(None, "f"), (None, "h"), (Some("c"), "f"), (None, "f"), (None, "f")]
        .map(|(id, name)| json!({"functionResponse": {"id": id, "name": name, "response": {}}}));
    let request = json!({"contents": [{"role": "model", "parts": asked}, {"role": "user", "parts": told}]});
    let head = GENERATE_CONTENT.inspect(request.to_string().as_bytes()).unwrap();
    let ids: Vec<_> = head.results.iter().map(|one| one.id.as_deref()).collect();
    assert_eq!(ids, [Some("a"), None, Some("c"), Some("d"), None]);
    for wrong in ["", "[]", "{}", "{\"contents\": {}}", "{\"messages\": []}"] {
        assert!(GENERATE_CONTENT.inspect(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
