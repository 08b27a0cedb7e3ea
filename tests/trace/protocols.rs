//! The protocols beside Chat Completions, through the whole proxy.

use std::io::Write;

use serde_json::{Value, json};

use super::support::*;

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn response(id: &str, output: &Value) -> Value {
    json!({"id": id, "object": "response", "status": "completed", "model": "m", "output": output, "error": null})
}

fn function_call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read_file", "arguments": arguments, "status": "completed"})
}

const RESPONSES: &str = "POST /v1/responses\ncontent-type: application/json\nauthorization: Bearer key-of-the-client";

#[test]
fn responses_as_json() {
    let upstream = Upstream::start(|request, stream| {
        let output = if request.body.windows(8).any(|part| part == b"_output\"") {
            json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}])
        } else {
            json!([
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
                {"type": "mcp_call", "id": "mcp_1", "name": "lookup", "server_label": "s", "arguments": "{\"k\":1}", "output": "o"},
                function_call("call_1", "{\"path\":\"a\"}"),
                {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "*** begin"},
            ])
        };
        let _ = stream.write_all(&json_reply(&response("resp_1", &output)));
    });
    let proxy = Proxy::start(&upstream, &[]);
    let first = proxy.capture_of(&proxy.send(RESPONSES, json!({"model": "m", "input": "hello"}).to_string()));
    assert_eq!(first.calls(), ["read_file({\"path\":\"a\"})", "patch(\"*** begin\")"]);
    let server = first.end.data["server_executed_tools"].as_array().unwrap();
    assert_eq!(
        (&server[0]["name"], &server[1]["name"], &server[1]["arguments"]),
        (&json!("web_search"), &json!("lookup"), &json!({"k": 1}))
    );
    assert_eq!((first.status().as_str(), first.issues()), ("ok", vec![]));
    assert_eq!(upstream.last().line, "POST /base/v1/responses HTTP/1.1");

    // With the history in the request, each result right behind its call.
    let history = json!([
        {"role": "user", "content": "hello"},
        function_call("call_1", "{ \"path\": \"a\" }"), {"type": "function_call_output", "call_id": "call_1", "output": "A"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** begin"}, {"type": "custom_tool_call_output", "call_id": "call_2", "output": "B"},
    ]);
    let next = proxy.capture_of(&proxy.send(RESPONSES, json!({"input": history}).to_string()));
    assert_eq!((next.association(), next.session()), ("tool_call_reference", first.session()));
    assert_eq!(
        next.start.data["agent_reported_tool_results"],
        json!([{"id": "call_1", "content": "A"}, {"id": "call_2", "content": "B"}])
    );

    // Without the history, by the reply's id.
    let other = Upstream::fixed(json_reply(&response("resp_9", &json!([]))));
    let proxy = Proxy::start(&other, &[]);
    let first = proxy.capture_of(&proxy.send(RESPONSES, json!({"input": "hello"}).to_string()));
    let body = json!({"previous_response_id": "resp_9", "input": [{"type": "function_call_output", "call_id": "call_1", "output": "A"}]}).to_string();
    let next = proxy.capture_of(&proxy.send(RESPONSES, &body));
    assert_eq!((next.association(), next.session()), ("response_reference", first.session()));
    assert_eq!(next.start.data["parent_request_ids"], json!([first.start.trace_id]));
    assert_eq!(next.start.data["unlinked_tool_results"], json!(["call_1"]), "that reply asked for nothing");
    // The reply above had the same id: now two replies could be meant.
    assert_eq!(
        proxy.capture_of(&proxy.send(RESPONSES, &body)).start.data["association_reason"],
        "previous_response_ambiguous"
    );
    let unseen = proxy.capture_of(&proxy.send(RESPONSES, body.replace("resp_9", "resp_x")));
    assert_eq!(unseen.start.data["association_reason"], "previous_response_not_observed");
    let stranger = proxy.capture_of(&proxy.send(&RESPONSES.replace("the-client", "another"), &body));
    assert_eq!(stranger.start.data["association_reason"], "previous_response_not_observed");
}

#[test]
fn responses_as_a_stream() {
    let call = function_call("call_1", "{\"path\":\"é\"}");
    let mut open = call.clone();
    open["arguments"] = "".into();
    open["status"] = "in_progress".into();
    let all = [
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "output": []}, "sequence_number": 0}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": open}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_call_1", "delta": "{\"path\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_call_1", "delta": "\"é\"}"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
        json!({"type": "response.completed", "response": response("resp_1", &json!([call]))}),
    ];
    let run = |stream: String| {
        let upstream = Upstream::fixed(sse(stream.as_bytes()));
        let proxy = Proxy::start(&upstream, &[]);
        let got = proxy.send(RESPONSES, json!({"stream": true, "input": "x"}).to_string());
        assert_eq!(got.body, stream.as_bytes());
        proxy.capture_of(&got)
    };
    let whole = run(events(&all));
    assert_eq!(
        (whole.calls(), whole.status().as_str(), whole.issues()),
        (vec!["read_file({\"path\":\"é\"})".to_owned()], "ok", vec![])
    );
    for (kept, partial) in [(5, false), (4, true), (3, true), (2, true)] {
        let cut = run(events(&all[..kept]));
        assert_eq!((cut.status().as_str(), cut.error_type()), ("error", "incomplete_response"));
        assert!(cut.issues().contains(&"missing_stream_end"));
        let call = &cut.end.data["model_requested_tools"][0];
        assert_eq!((&call["name"], call["partial"] == true), (&json!("read_file"), partial), "{kept} {call}");
    }
    let failed = run(events(&[
        all[0].clone(),
        json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "output": [], "error": {"code": "server_error", "message": "m"}}}),
    ]));
    assert_eq!((failed.status().as_str(), failed.error_type()), ("error", "server_error"));
    let failed = run(events(&[all[0].clone(), json!({"type": "error", "code": "rate_limit", "message": "m"})]));
    assert_eq!((failed.status().as_str(), failed.error_type()), ("error", "error"));
}

/// Requests that name the reply they continue have no history, and their results find their calls all the same; whatever
/// names the session.
#[test]
fn results_of_a_named_reply_find_their_calls() {
    let upstream = Upstream::start(|request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let output = match body.get("previous_response_id") {
            Some(_) => json!([]),
            None => json!([function_call("call_1", "{\"n\":1}"), function_call("call_2", "{\"n\":2}")]),
        };
        let id = format!("resp_{}", body["model"].as_str().unwrap());
        let _ = stream.write_all(&json_reply(&response(&id, &output)));
    });
    let proxy = Proxy::start(&upstream, &[]);
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    for session in ["", "\nx-toolreplay-trace-id: one", "\nsession-id: two"] {
        let head = format!("{RESPONSES}{session}");
        // the same ids in each session
        let model = format!("m{}", session.len());
        let first = proxy.capture_of(&proxy.send(&head, json!({"model": model, "input": "hello"}).to_string()));
        let body = json!({"model": "next", "previous_response_id": format!("resp_{model}"), "input": [output("call_2"), output("call_1"), output("call_9")]});
        let next = proxy.capture_of(&proxy.send(&head, body.to_string()));
        assert_eq!(next.session(), first.session());
        assert_eq!(next.start.data["parent_request_ids"], json!([first.start.trace_id]), "{session}");
        assert_eq!(next.start.data["unlinked_tool_results"], json!(["call_9"]), "{session}");
    }
    let run = |command: &str| {
        let mut ran = std::process::Command::new(env!("CARGO_BIN_EXE_toolreplay"));
        let ran = ran.args([command, "--allow-loss"]).arg(&proxy.folder).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    let records = run("import");
    assert_eq!(records.matches("\"content\":\"call_1\"").count(), 3, "{records}");
    assert_eq!(records.matches("\"content\":\"call_2\"").count(), 3, "{records}");
}

/// The last event of a stream lacks the call that came before it; the agent runs it all the same, and reports.
#[test]
fn a_last_event_that_lacks_a_call_takes_none_away() {
    let call = function_call("call_1", "{\"path\":\"a\"}");
    let stream = events(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "output": []}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
        json!({"type": "response.completed", "response": response("resp_1", &json!([]))}),
    ]);
    let upstream = Upstream::start(move |request, out| {
        let told = request.body.windows(8).any(|part| part == b"_output\"");
        let done = json_reply(&response("resp_2", &json!([])));
        let _ = if told { out.write_all(&done) } else { out.write_all(&sse(stream.as_bytes())) };
    });
    let proxy = Proxy::start(&upstream, &[]);
    let first = proxy.capture_of(&proxy.send(RESPONSES, json!({"stream": true, "input": "x"}).to_string()));
    assert_eq!((first.calls(), first.status().as_str()), (vec!["read_file({\"path\":\"a\"})".to_owned()], "ok"));
    assert_eq!(first.issues(), ["response_items_missing"]);
    let history = json!([call, {"type": "function_call_output", "call_id": "call_1", "output": "A"}]);
    let next = proxy.capture_of(&proxy.send(RESPONSES, json!({"input": history}).to_string()));
    assert_eq!(next.start.data["parent_request_ids"], json!([first.start.trace_id]));
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--no-config"])
        .arg(&proxy.folder)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
}

const MESSAGES: &str = "POST /v1/messages?beta=true\ncontent-type: application/json\nx-api-key: key-of-the-client\nanthropic-version: 2023-06-01\nanthropic-beta: b1,b2";

#[test]
fn messages_as_a_stream_and_as_json() {
    let all = [
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 3}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I read"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"path\": \"é"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"}"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": 1}}}),
        json!({"type": "content_block_stop", "index": 3}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let stream = events(&all);
    let script = stream.clone();
    let upstream = Upstream::start(move |request, out| {
        let _ = if request.body.windows(11).any(|part| part == b"tool_result") {
            out.write_all(&json_reply(&json!({"id": "msg_2", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"})))
        } else {
            out.write_all(&sse(script.as_bytes()))
        };
    });
    let proxy = Proxy::start(&upstream, &[]);
    let got = proxy.send(MESSAGES, json!({"stream": true, "messages": [{"role": "user", "content": "x"}]}).to_string());
    assert_eq!(got.body, stream.as_bytes());
    let sent = upstream.last();
    assert_eq!(
        (sent.line.as_str(), sent.header("anthropic-beta"), sent.header("x-api-key")),
        ("POST /base/v1/messages?beta=true HTTP/1.1", Some("b1,b2"), Some("key-of-the-client"))
    );
    let first = proxy.capture_of(&got);
    assert_eq!(
        (first.calls(), first.status().as_str(), first.issues()),
        (vec!["read_file({\"path\":\"é\"})".to_owned()], "ok", vec![])
    );
    assert_eq!(first.end.data["server_executed_tools"][0]["name"], "web_search");
    let response = &first.end.data["response"];
    assert_eq!(
        (&response["content"][0]["thinking"], &response["content"][1]["text"], &response["usage"]),
        (&json!("hm"), &json!("I read"), &json!({"input_tokens": 3, "output_tokens": 9}))
    );

    let history = json!({"messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "text", "text": "I read"}, {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "é"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "A"}], "is_error": true}, {"type": "text", "text": "and?"}]},
    ]});
    let next = proxy.capture_of(&proxy.send(MESSAGES, history.to_string()));
    assert_eq!(
        (next.association(), next.session(), next.status().as_str()),
        ("tool_call_reference", first.session(), "ok")
    );
    assert_eq!(next.start.data["agent_reported_tool_results"][0]["is_error"], true);

    for kept in [8, 12, 14, 17] {
        let upstream = Upstream::fixed(sse(events(&all[..kept]).as_bytes()));
        let proxy = Proxy::start(&upstream, &[]);
        let cut = proxy.capture_of(&proxy.send(MESSAGES, json!({"stream": true, "messages": []}).to_string()));
        assert_eq!((cut.status().as_str(), cut.error_type()), ("error", "incomplete_response"), "{kept}");
        assert!(cut.issues().contains(&"missing_stream_end"));
    }
    let broken = [all[0].clone(), json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}})];
    let upstream = Upstream::fixed(sse(events(&broken).as_bytes()));
    let proxy = Proxy::start(&upstream, &[]);
    let failed = proxy.capture_of(&proxy.send(MESSAGES, json!({"stream": true, "messages": []}).to_string()));
    assert_eq!((failed.status().as_str(), failed.error_type()), ("error", "overloaded_error"));
}

const GEMINI: &str = "POST /v1beta/models/m:streamGenerateContent?alt=sse&key=query-key-of-the-client\ncontent-type: application/json\nx-goog-api-key: key-of-the-client";

#[test]
fn gemini_as_a_stream_as_an_array_and_as_json() {
    let call =
        json!({"functionCall": {"id": "fc_1", "name": "read_file", "args": {"path": "é"}}, "thoughtSignature": "c2ln"});
    let piece = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "responseId": "g_1"});
    let all = [
        piece(json!([{"text": "I read", "thought": true}])),
        piece(json!([call])),
        json!({"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": {"totalTokenCount": 5}}),
    ];
    let stream: String = all.iter().map(|piece| format!("data: {piece}\r\n\r\n")).collect();
    let pieces = stream.clone();
    let upstream = Upstream::start(move |request, out| {
        let told = request.body.windows(16).any(|part| part == b"functionResponse");
        let _ = if told {
            out.write_all(&json_reply(
                &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP"}], "responseId": "g_2"}),
            ))
        } else if request.line.contains("alt=sse") {
            out.write_all(&sse(pieces.as_bytes()))
        } else {
            out.write_all(&json_reply(&json!(all)))
        };
    });
    let proxy = Proxy::start(&upstream, &[]);
    let ask = json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}).to_string();
    let got = proxy.send(GEMINI, &ask);
    assert_eq!(got.body, stream.as_bytes());
    let sent = upstream.last();
    assert_eq!(sent.line, "POST /base/v1/models/m:streamGenerateContent?alt=sse&key=query-key-of-the-client HTTP/1.1");
    assert_eq!(sent.header("x-goog-api-key"), Some("key-of-the-client"));
    let first = proxy.capture_of(&got);
    assert_eq!(
        (first.calls(), first.status().as_str(), first.issues()),
        (vec!["read_file({\"path\":\"é\"})".to_owned()], "ok", vec![])
    );
    assert_eq!(first.start.data["protocol"], "gemini_generate_content");
    assert!(!json!(first.start.data).to_string().contains("query-key-of-the-client"));

    let array = proxy.capture_of(&proxy.send(&GEMINI.replace("alt=sse&", ""), &ask));
    assert_eq!((array.calls(), array.status().as_str(), array.issues()), (first.calls(), "ok", vec![]));

    let history = json!({"contents": [
        {"role": "user", "parts": [{"text": "y"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "fc_1", "name": "read_file", "args": {"path": "é"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "fc_1", "name": "read_file", "response": {"output": "A"}}}]},
    ]});
    // under a key that has one such call
    let other = GEMINI.replace("x-goog-api-key: key", "x-goog-api-key: other");
    let first = proxy.capture_of(&proxy.send(&other, &ask));
    let plain = other.replace(":streamGenerateContent?alt=sse&", ":generateContent?").replace("/v1beta/", "/v1/");
    let next = proxy.capture_of(&proxy.send(&plain, history.to_string()));
    assert_eq!(
        (next.association(), next.session(), next.status().as_str()),
        ("tool_call_reference", first.session(), "ok")
    );
    assert_eq!(
        next.start.data["agent_reported_tool_results"],
        json!([{"id": "fc_1", "name": "read_file", "content": {"output": "A"}}])
    );
    assert_eq!(next.issues(), Vec::<&str>::new());

    let wrong = proxy.send(&plain, "{}");
    let error: Value = serde_json::from_slice(&wrong.body).unwrap();
    assert_eq!((wrong.status, &error["error"]["status"]), (400, &json!("INVALID_ARGUMENT")));

    // what was recorded is audited: Gemini CLI's tools are known by their names
    let ran =
        std::process::Command::new(env!("CARGO_BIN_EXE_toolreplay")).arg("import").arg(&proxy.folder).output().unwrap();
    let records = String::from_utf8(ran.stdout).unwrap();
    assert_eq!((ran.status.code(), records.matches("\"tool\":\"read_file\"").count()), (Some(0), 3), "{records}");
}
