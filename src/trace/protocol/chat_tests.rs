use serde_json::json;

use super::*;

fn delta(delta: &Value) -> String {
    json!({"id": "c", "choices": [{"index": 0, "delta": delta}]}).to_string()
}

fn tool(entry: &Value) -> String {
    delta(&json!({"tool_calls": [entry]}))
}

fn run(frames: &[String]) -> Reply {
    let mut stream = CHAT_COMPLETIONS.stream(10_000);
    for frame in frames {
        stream.frame(None, frame.as_bytes());
    }
    stream.finish(true)
}

fn calls(reply: &Reply) -> Vec<String> {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    reply.calls.iter().map(|call| format!("{}={}{}", text(&call.id), text(&call.name), call.arguments)).collect()
}

const DONE: &str = "[DONE]";

fn finished(mut frames: Vec<String>, reason: &str) -> Reply {
    frames.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string());
    frames.push(DONE.to_owned());
    run(&frames)
}

#[test]
fn indexes_that_are_missing_or_reused() {
    let part = |text: &str| json!({"function": {"arguments": text}});
    let open = |id: &str, text: &str| json!({"id": id, "function": {"name": "f", "arguments": text}});
    let with = |index: u64, mut entry: Value| {
        entry["index"] = index.into();
        entry
    };
    // No index at all: a new id is a new call, no id continues the last one.
    let reply =
        finished(vec![tool(&open("a", "{\"n\"")), tool(&part(":1}")), tool(&open("b", "{\"n\":2}"))], "tool_calls");
    assert_eq!(calls(&reply), ["a=f{\"n\":1}", "b=f{\"n\":2}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_call_index_missing"]));
    // Every call under index 0.
    let reply = finished(
        vec![tool(&with(0, open("a", "{\"n\":1}"))), tool(&with(0, open("b", "{\"n\""))), tool(&with(0, part(":2}")))],
        "tool_calls",
    );
    assert_eq!(calls(&reply), ["a=f{\"n\":1}", "b=f{\"n\":2}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_call_index_reused"]));
    // Interleaved, with a gap, and two entries of one index in one chunk.
    let both = delta(&json!({"tool_calls": [with(7, part("\"n\"")), with(7, part(":7}"))]}));
    let reply = finished(
        vec![tool(&with(7, open("g", "{"))), tool(&with(2, open("c", "{\"n\":"))), both, tool(&with(2, part("2}")))],
        "tool_calls",
    );
    assert_eq!(calls(&reply), ["c=f{\"n\":2}", "g=f{\"n\":7}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_index_gap"]));
    // Two calls of one name under one index, without ids: the first is whole.
    let nameless = |text: &str| json!({"index": 0, "function": {"name": "f", "arguments": text}});
    let reply = finished(vec![tool(&nameless("{}")), tool(&nameless("{}"))], "tool_calls");
    assert_eq!(calls(&reply), ["=f{}", "=f{}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_call_index_reused", "tool_id_missing"]));
    // Pieces under indexes of their own belong to the call that waits for them, and make none without a name.
    let stray = |index: u64, text: &str| with(index, part(text));
    let frames = vec![tool(&with(0, open("a", ""))), tool(&stray(1, "{\"n\":")), tool(&stray(2, "1}"))];
    let reply = finished(frames, "tool_calls");
    assert_eq!(
        (calls(&reply), reply.issues.codes()),
        (vec!["a=f{\"n\":1}".to_owned()], json!(["tool_call_index_strayed"]))
    );
    let reply = finished(vec![tool(&with(0, open("a", "{}"))), tool(&stray(1, "{\"n\":1}"))], "tool_calls");
    assert!(reply.issues.has("tool_arguments_unclaimed") && reply.calls.len() == 1);
    // Indexes as text.
    let text = |index: &str, mut entry: Value| {
        entry["index"] = index.into();
        entry
    };
    let reply = finished(
        vec![
            delta(&json!({"tool_calls": [text("0", open("a", "{\"n\"")), text("1", open("b", "{\"n\""))]})),
            delta(&json!({"tool_calls": [text("0", part(":1}")), text("1", part(":2}"))]})),
        ],
        "tool_calls",
    );
    assert_eq!(calls(&reply), ["a=f{\"n\":1}", "b=f{\"n\":2}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_call_index_not_number"]));
}

#[test]
fn whole_calls_once_more() {
    let entry = |name: &str, text: &str| json!({"index": 0, "id": "a", "function": {"name": name, "arguments": text}});
    for again in ["{\"n\":1}".to_owned(), json!("{\"n\":1}").to_string()] {
        let frames = vec![tool(&entry("f", "{\"n\"")), tool(&entry("", ":1}")), tool(&entry("f", &again))];
        let reply = finished(frames, "tool_calls");
        assert_eq!(calls(&reply), ["a=f{\"n\":1}"]);
        assert_eq!(reply.issues.codes(), json!(["tool_arguments_repeated", "tool_name_repeated"]));
    }
    // and a whole message in a chunk, after its pieces or alone
    let message = json!({"choices": [{"index": 0, "message": {"tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]}, "finish_reason": "tool_calls"}]});
    for mut frames in [vec![], vec![tool(&entry("f", "{\"n\":1}"))]] {
        frames.push(message.to_string());
        let reply = finished(frames, "tool_calls");
        assert_eq!(calls(&reply), ["a=f{\"n\":1}", "b=g{}"]);
        assert!(reply.issues.has("message_in_chunk"));
    }
    let object = delta(&json!({"tool_calls": {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}}));
    let reply = finished(vec![object], "tool_calls");
    assert_eq!((calls(&reply), reply.issues.codes()), (vec!["a=f{}".to_owned()], json!(["tool_calls_not_array"])));
}

#[test]
fn calls_behind_the_end_are_kept_and_marked() {
    let entry =
        |id: &str, index: u64| tool(&json!({"index": index, "id": id, "function": {"name": "f", "arguments": "{}"}}));
    let reply = run(&[entry("a", 0), DONE.to_owned(), entry("b", 0), entry("c", 1), DONE.to_owned()]);
    assert_eq!(calls(&reply), ["a=f{}", "b=f{}", "c=f{}"]);
    let late: Vec<bool> = reply.calls.iter().map(|call| call.after_end).collect();
    assert_eq!(late, [false, true, true]);
    assert!(reply.issues.has("data_after_done") && reply.issues.has("call_after_end"));
    assert_eq!(reply.calls[1].to_json()["after_end"], true);
}

#[test]
fn a_reply_that_may_not_be_longer_ends_within_its_call() {
    let entry = |text: &str| tool(&json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": text}}));
    let reply = finished(vec![entry("{\"n\":")], "length");
    assert_eq!((reply.calls[0].complete, &reply.calls[0].arguments), (false, &json!("{\"n\":")));
    assert!(finished(vec![entry("{}")], "length").calls[0].complete);
    let reply = run(&[tool(&json!({"index": 0, "id": "a", "function": {"name": "f"}}))]);
    assert_eq!((reply.calls[0].complete, &reply.calls[0].arguments), (false, &Value::Null));
}

#[test]
fn names_ids_and_arguments_that_do_not_fit() {
    let entry = |name: &str, text: &str| json!({"index": 0, "id": "a", "function": {"name": name, "arguments": text}});
    let reply = finished(vec![tool(&entry("read", "{")), tool(&entry("read", "}"))], "tool_calls");
    assert_eq!((calls(&reply), reply.issues.codes()), (vec!["a=read{}".to_owned()], json!(["tool_name_repeated"])));
    let reply = finished(vec![tool(&entry("read", "{")), tool(&entry("write", "}"))], "tool_calls");
    assert_eq!((calls(&reply), reply.issues.codes()), (vec!["a=read{}".to_owned()], json!(["tool_name_conflict"])));
    let reply = finished(vec![tool(&entry("read", "{\"a\":1}{\"a\":2}"))], "tool_calls");
    assert_eq!(reply.calls[0].arguments, "{\"a\":1}{\"a\":2}");
    assert_eq!(reply.issues.codes(), json!(["tool_arguments_not_json"]));
    let reply = finished(vec![tool(&entry("read", ""))], "tool_calls");
    assert_eq!((calls(&reply), reply.issues.codes()), (vec!["a=read{}".to_owned()], json!(["tool_arguments_empty"])));
    let reply = finished(
        vec![tool(&json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"n": 1}}}))],
        "tool_calls",
    );
    assert_eq!(calls(&reply), ["a=f{\"n\":1}"]);
    let reply = finished(vec![tool(&json!({"index": 0, "function": {"name": "f", "arguments": "{}"}}))], "tool_calls");
    assert_eq!((&reply.calls[0].id, reply.calls[0].complete), (&None, true));
}

#[test]
fn what_is_not_rebuilt_is_marked() {
    let frames = [
        json!({"reasoning_content": "hm", "content": null}),
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"google": 1}}]}),
        json!({"tool_calls": [{"index": 1, "id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}}]}),
        json!({"function_call": {"name": "old", "arguments": "{\"n\""}}),
        json!({"function_call": {"arguments": ":1}"}}),
        json!({"tool_calls": [{"index": 1, "id": "b", "custom": {"input": "y"}}]}),
        json!({"tool_calls": [{"index": 2, "id": "c", "type": "computer", "computer": {}}]}),
    ];
    let reply = finished(frames.iter().map(delta).collect(), "tool_calls");
    assert_eq!(
        reply.issues.codes(),
        json!([
            "legacy_function_call",
            "non_function_tool_not_reconstructed",
            "tool_id_missing",
            "unsupported_delta_fields"
        ])
    );
    assert_eq!(
        reply.issues.details()["unsupported_delta_fields"]["names"],
        json!(["reasoning_content", "tool_calls.extra_content"])
    );
    assert_eq!(calls(&reply), ["a=f{}", "b=g\"xy\"", "=old{\"n\":1}"]);
}

#[test]
fn several_choices_and_usage_wherever_it_stands() {
    let chunk = |index: u64, text: &str| json!({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": null}]});
    for usage in [
        json!({"choices": [], "usage": {"total_tokens": 3}}),
        json!({"choices": null, "usage": {"total_tokens": 3}}),
        json!({"choices": [{"index": 0, "delta": {"content": ""}}], "usage": {"total_tokens": 3}}),
    ] {
        let frames = [
            json!({"choices": [], "prompt_filter_results": []}),
            chunk(1, "b"),
            chunk(0, "a"),
            chunk(1, "B"),
            json!({"choices": [{"index": 0, "finish_reason": "stop"}, {"index": 1, "finish_reason": "length"}]}),
            usage,
        ];
        let mut frames: Vec<String> = frames.iter().map(Value::to_string).collect();
        frames.push(DONE.to_owned());
        let reply = run(&frames);
        assert_eq!(reply.response["usage"]["total_tokens"], 3);
        assert_eq!(reply.response["choices"][0]["message"]["content"], "a");
        assert_eq!(
            (&reply.response["choices"][1]["message"]["content"], &reply.response["choices"][1]["finish_reason"]),
            (&json!("bB"), &json!("length"))
        );
        assert!(reply.complete && reply.issues.is_empty(), "{:?}", reply.issues);
    }
}

#[test]
fn finish_reasons_and_calls_that_contradict() {
    let call = tool(&json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}));
    assert!(finished(vec![call.clone()], "stop").issues.has("finish_reason_mismatch"));
    assert!(finished(vec![delta(&json!({"content": "x"}))], "tool_calls").issues.has("finish_reason_mismatch"));
    assert!(finished(vec![call.clone()], "").issues.has("finish_reason_empty"));
    let reply = run(&[call, DONE.to_owned()]);
    assert_eq!(
        (reply.issues.codes(), reply.complete, reply.calls[0].complete),
        (json!(["finish_reason_missing"]), true, true)
    );
}

#[test]
fn errors_inside_a_stream() {
    let error = json!({"error": {"message": "m", "code": "overloaded"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]});
    let reply = run(&[delta(&json!({"content": "x"})), error.to_string(), DONE.to_owned()]);
    assert_eq!((reply.error.as_deref(), reply.complete), (Some("overloaded"), false));
    let mut stream = CHAT_COMPLETIONS.stream(1000);
    stream.frame(Some("error"), br#"{"message":"m","type":"api_error"}"#);
    assert_eq!(stream.finish(true).error.as_deref(), Some("api_error"));
}

#[test]
fn a_stream_keeps_no_more_than_its_limit() {
    let mut stream = CHAT_COMPLETIONS.stream(1000);
    for number in 0..2000_u64 {
        stream.frame(None, json!({"choices": [{"index": number, "delta": {"content": "xxxxxxxxxx", "tool_calls": [{"index": number, "id": "i", "function": {"name": "n", "arguments": "aaaa"}}]}}]}).to_string().as_bytes());
        assert!(stream.held() <= 1000);
    }
    let reply = stream.finish(true);
    assert!(reply.issues.has("capture_byte_limit") && reply.response.to_string().len() < 8000);
}

#[test]
fn frames_of_any_bytes_do_no_harm() {
    for data in [
        &b"\xff\xfe"[..],
        b"{",
        b"[]",
        b"1",
        b"null",
        b"\"x\"",
        b"{\"choices\":[1,null,{\"delta\":7,\"index\":-1}]}",
        b"{\"choices\":[{\"delta\":{\"tool_calls\":[1,{},{\"function\":3}]}}]}",
        b"[DONE]",
        b"[DONE]",
        b"{}",
    ] {
        let mut stream = CHAT_COMPLETIONS.stream(100);
        stream.frame(Some("x"), data);
        stream.frame(None, data);
        stream.finish(false);
    }
}

#[test]
fn a_json_reply() {
    let reply = CHAT_COMPLETIONS.reply(json!({"id": "c", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"content": "text too", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":12345678901234567890123}"}},
            {"id": "b", "type": "custom", "custom": {"name": "g", "input": "raw"}},
        ]}},
        {"index": 1, "finish_reason": "stop", "message": {"content": "y", "function_call": {"name": "old", "arguments": "{}"}}},
    ]}));
    assert_eq!(calls(&reply), ["a=f{\"n\":12345678901234567890123}", "b=g\"raw\"", "=old{}"]);
    assert_eq!((reply.calls[1].kind.as_str(), reply.complete), ("custom", true));
    assert_eq!(reply.issues.codes(), json!(["finish_reason_mismatch", "legacy_function_call", "tool_id_missing"]));
    let odd = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
        {"id": "a", "function": {"name": "f"}}, {"id": "a", "function": {"name": "g", "arguments": {"n": 1}}},
    ]}}]});
    let reply = CHAT_COMPLETIONS.reply(odd);
    assert_eq!(calls(&reply), ["a=f{}", "a=g{\"n\":1}"]);
    assert_eq!(reply.issues.codes(), json!(["tool_arguments_empty", "tool_arguments_object", "tool_ids_duplicate"]));
    let error = CHAT_COMPLETIONS.reply(json!({"error": {"type": "t"}}));
    assert_eq!((error.error.as_deref(), error.complete, error.issues.is_empty()), (Some("t"), false, true));
    assert!(CHAT_COMPLETIONS.reply(json!([1])).issues.has("unexpected_response"));
}

#[test]
fn the_tail_of_a_request() {
    let head = |body: &Value| CHAT_COMPLETIONS.inspect(body.to_string().as_bytes());
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let found = head(&json!({"stream": true, "messages": [
        {"role": "assistant", "tool_calls": [call("old")]}, {"role": "tool", "tool_call_id": "old", "content": "o"},
        {"role": "assistant", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "B"}]},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "user", "content": "go on"},
    ]}))
    .unwrap();
    let ids: Vec<_> = found.results.iter().map(|result| result.id.as_deref().unwrap()).collect();
    assert_eq!((found.stream, ids, found.history.len()), (true, vec!["b", "a"], 2));
    assert_eq!(head(&json!({"messages": [{"role": "user"}]})).unwrap(), Head::default());
    // Half a surrogate pair in a key, a repeated key, a body too deep to decode: requests all the same.
    assert!(
        CHAT_COMPLETIONS
            .inspect(br#"{"\ud83d":1,"messages":[{"role":"tool","tool_call_id":"x","content":"\ud83d"}]}"#)
            .is_ok_and(|head| head.results.len() == 1)
    );
    assert!(CHAT_COMPLETIONS.inspect(br#"{"messages":1,"messages":[]}"#).is_ok());
    let deep = format!("{{\"messages\":[{}{}]}}", "[".repeat(3000), "]".repeat(3000));
    assert!(CHAT_COMPLETIONS.inspect(deep.as_bytes()).is_ok());
    assert!(CHAT_COMPLETIONS.inspect(b"{\"messages\":[]}\xff").is_err());
}
