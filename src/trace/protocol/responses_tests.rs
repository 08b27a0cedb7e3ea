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

/// Each as `id=name arguments`, with a mark where it is not whole or came late, and the codes of what was odd.
fn calls_of(events: &[Value]) -> (Vec<String>, Value) {
    let reply = run(events, 10_000);
    let text = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".to_owned());
    let call = |call: &ToolCall| {
        let mark = [(!call.complete).then_some(" cut"), call.after_end.then_some(" late")];
        let mark: String = mark.into_iter().flatten().collect();
        format!("{}={} {}{mark}", text(&call.id), text(&call.name), call.arguments)
    };
    assert!(reply.server_calls.is_empty());
    (reply.calls.iter().map(call).collect(), reply.issues.codes())
}

fn item(number: u64, name: &str, arguments: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("c{number}"), "name": name, "arguments": arguments, "status": status})
}

fn added(number: u64) -> Value {
    json!({"type": "response.output_item.added", "output_index": number, "item": item(number, "f", "", "in_progress")})
}

fn delta(number: u64, text: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": number, "item_id": format!("fc_{number}"), "delta": text})
}

fn arguments_done(number: u64, text: &str) -> Value {
    json!({"type": "response.function_call_arguments.done", "output_index": number, "item_id": format!("fc_{number}"), "arguments": text})
}

fn item_done(number: u64, arguments: &str) -> Value {
    json!({"type": "response.output_item.done", "output_index": number, "item": item(number, "f", arguments, "completed")})
}

fn last(kind: &str, output: &Value) -> Value {
    json!({"type": format!("response.{kind}"), "response": {"id": "r", "status": kind, "output": output}})
}

/// Without any `output_index`.
fn unplaced(events: &[Value]) -> Vec<Value> {
    let without = |event: &Value| {
        let mut event = event.clone();
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    events.iter().map(without).collect()
}

#[test]
fn all_that_a_stream_says_is_united() {
    const ONE: &str = "{\"n\":1}";
    let call = "c0=f {\"n\":1}".to_owned();
    let whole = item(0, "f", ONE, "completed");
    let empty = item(0, "f", "", "completed");
    let message =
        json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ""}]});
    // What is streamed, and the last event's word for it.
    let streamed = [
        vec![],
        vec![added(0)],
        vec![added(0), delta(0, "{\"n\"")],
        vec![added(0), delta(0, ONE), arguments_done(0, ONE), item_done(0, ONE)],
        vec![added(0), arguments_done(0, ONE), item_done(0, "")],
        vec![added(0), delta(0, ONE), arguments_done(0, ONE)],
        vec![added(0), delta(0, ONE)],
        vec![item_done(0, ONE)],
    ];
    for (number, events) in streamed.iter().enumerate() {
        for (output, enough) in [
            (json!([whole]), true),
            (json!([empty]), false),
            (json!([]), false),
            (json!([message]), false),
            (Value::Null, false),
        ] {
            if number < 3 && !enough {
                continue;
            }
            for events in [events.clone(), unplaced(events)] {
                for kind in ["completed", "incomplete", "failed"] {
                    let (got, issues) = calls_of(&[events.clone(), vec![last(kind, &output)]].concat());
                    assert_eq!(got, [call.as_str()], "{number} {output} {kind} {issues}");
                }
            }
        }
    }
    // Two calls of which the last event has one, or the other, or nothing; with and without their places.
    let other = item(1, "f", "{\"n\":2}", "completed");
    let two = [
        streamed[3].clone(),
        vec![added(1), delta(1, "{\"n\":"), delta(1, "2}"), arguments_done(1, "{\"n\":2}"), item_done(1, "{\"n\":2}")],
    ]
    .concat();
    for output in [json!([whole, other]), json!([whole]), json!([other]), json!([])] {
        for events in [two.clone(), unplaced(&two)] {
            let (got, issues) = calls_of(&[events, vec![last("completed", &output)]].concat());
            assert_eq!(got, ["c0=f {\"n\":1}", "c1=f {\"n\":2}"], "{output}");
            let short = output.as_array().unwrap().len() < 2;
            assert_eq!(issues, if short { json!(["response_items_missing"]) } else { json!([]) });
        }
    }
    assert_eq!(calls_of(&two).0.len(), 2);
    assert_eq!(calls_of(&unplaced(&two)).0.len(), 2);
}

#[test]
fn nothing_is_invented() {
    // no arguments were seen
    assert_eq!(calls_of(&[added(0)]).0, ["c0=f null cut"]);
    assert_eq!(calls_of(&[added(0), delta(0, "{\"n")]).0, ["c0=f \"{\\\"n\" cut"]);
    assert_eq!(calls_of(&[added(0), last("completed", &json!([]))]).0, ["c0=f null cut"]);
    // there are none
    let (got, issues) = calls_of(&[added(0), item_done(0, "")]);
    assert_eq!(got, ["c0=f {}"]);
    assert!(issues.to_string().contains("tool_arguments_empty"));
    // no name
    let nameless = json!({"type": "function_call", "call_id": "c0", "name": "", "arguments": "{}"});
    assert_eq!(calls_of(&[last("completed", &json!([nameless]))]).0, ["c0=? {}"]);
    assert_eq!(RESPONSES.reply(json!({"output": [nameless]})).calls[0].name, None);
    let unknown = json!({"type": "function_call", "id": "fc", "name": "f", "arguments": "{}"});
    assert_eq!(RESPONSES.reply(json!({"output": [unknown]})).calls.len(), 1, "a function is never the server's");
    // pieces of no call
    let (got, issues) = calls_of(&[delta(0, "{}"), arguments_done(3, "{}")]);
    assert!(got.is_empty() && issues.to_string().contains("tool_arguments_unclaimed"));
}

#[test]
fn words_that_contradict_are_marked() {
    // what ends the pieces is the last word on them
    let (got, issues) =
        calls_of(&[added(0), delta(0, "{\"n\":2}"), arguments_done(0, "{\"n\":1}"), last("completed", &json!([]))]);
    assert_eq!(
        (got, issues),
        (vec!["c0=f {\"n\":1}".to_owned()], json!(["response_items_missing", "tool_arguments_replaced"]))
    );
    // which of two ends was acted on is not known
    let output = json!([item(0, "f", "{\"n\":2}", "completed")]);
    let (got, issues) = calls_of(&[item_done(0, "{ \"n\": 1 }"), last("completed", &output)]);
    assert_eq!((got, issues), (vec!["c0=f {\"n\":2}".to_owned()], json!(["tool_arguments_conflict"])));
    let (_, issues) = calls_of(&[item_done(0, "{ \"n\": 2 }"), last("completed", &output)]);
    assert_eq!(issues, json!([]));
    // two calls under one index
    let mut second = item_done(1, "{}");
    second["output_index"] = 0.into();
    let (got, _) = calls_of(&[item_done(0, "{}"), second, last("completed", &json!([]))]);
    assert_eq!(got, ["c0=f {}", "c1=f {}"]);
    let (got, issues) = calls_of(&[last("completed", &json!([])), added(0), item_done(0, "{}")]);
    assert_eq!((got, issues), (vec!["c0=f {} late".to_owned()], json!(["call_after_end", "data_after_done"])));
}
