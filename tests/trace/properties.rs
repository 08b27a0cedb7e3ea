//! Decoders and redaction on bytes that nobody meant.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use toolreplay::trace::Redactor;
use toolreplay::trace::protocol::{PROTOCOLS, body, sse};

use super::support::tool_stream;

/// Streams of all protocols, to be damaged.
fn streams() -> String {
    let responses = [
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"a\":1}"}),
        json!({"type": "response.completed", "response": {"id": "r", "output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]}}),
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
        json!({"type": "error", "error": {"type": "e"}}),
    ];
    let gemini = [
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "a"}]}}], "responseId": "r"}),
        json!({"candidates": [{"index": 0, "content": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]}}]}),
        json!({"candidates": [{"index": 0, "content": {"parts": [{"functionCall": {"name": "g", "willContinue": true}}]}}]}),
        json!({"candidates": [{"index": 0, "content": {"parts": [{"functionCall": {"partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": "x", "willContinue": true}, {"jsonPath": "$.a[0].b", "stringValue": "y"}]}}]}}]}),
        json!({"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 1}}),
    ];
    let gemini: String = gemini.iter().map(|piece| format!("data: {piece}\r\n\r\n")).collect();
    let events: String = responses
        .iter()
        .map(|event| format!("event: {}\r\ndata: {event}\r\n\r\n", event["type"].as_str().unwrap()))
        .collect();
    format!("{}{events}{gemini}", tool_stream())
}

/// What a decoder makes of bytes that come in these pieces.
fn decode(bytes: &[u8], cuts: &[usize], limit: usize) -> Vec<Value> {
    let decoded = PROTOCOLS.iter().map(|protocol| {
        let mut parser = sse::Parser::new(limit);
        let mut stream = protocol.stream(limit);
        let mut at = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            let end = cut.clamp(at, bytes.len());
            parser.feed(&bytes[at..end], &mut |frame| stream.frame(frame.event, frame.data));
            at = end;
            assert!(parser.held() <= limit && stream.held() <= limit);
        }
        let inside = parser.is_inside_frame();
        for call in stream.calls() {
            assert!(call.complete);
        }
        let reply = stream.finish(true);
        let calls: Vec<Value> = reply.calls.iter().map(toolreplay::trace::protocol::ToolCall::to_json).collect();
        json!([reply.response, calls, reply.issues.details(), reply.error, reply.complete, inside])
    });
    decoded.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_130), ..ProptestConfig::with_cases(300) })]

    #[test]
    fn damaged_streams_are_read_alike_however_they_are_cut(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..8),
        mut cuts in prop::collection::vec(0..5000_usize, 0..12),
        limit in prop::sample::select(vec![64, 300, 100_000]),
    ) {
        let mut bytes = streams().into_bytes();
        for (at, byte, how) in damage {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        cuts.sort_unstable();
        prop_assert_eq!(decode(&bytes, &cuts, limit), decode(&bytes, &[], limit));
    }

    #[test]
    fn any_bytes_are_some_request(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\",:0-9a-e\\\\ud8 ]{0,60}") {
        for input in [&bytes[..], text.as_bytes()] {
            for protocol in PROTOCOLS {
                let _ = protocol.inspect(input);
            }
            // What parses is JSON, and what is JSON and not too deep parses.
            prop_assert_eq!(body::parse(input).is_ok(), body::is_json(input));
        }
    }

    #[test]
    fn redaction_is_idempotent_and_leaves_no_secret(
        left in "(\\PC|\\n){0,30}", secret in "[A-Za-z0-9+/_.~-]{8,40}", middle in "[\"'=: \\\\a-zA-Z_&?]{0,30}", right in ".{0,30}",
    ) {
        let redactor = Redactor::new([&secret], ["own"]);
        let text = format!("{left}{secret}{middle}{secret}{right}");
        let once = redactor.text(&text).into_owned();
        prop_assert!(!once.contains(&secret), "{} in {}", secret, once);
        prop_assert_eq!(redactor.text(&once), once.as_str());
        let mut value = json!({"own": &text, "list": [&text, {"k": &text}], "inner": json!({"own": &text}).to_string()});
        redactor.value(&mut value);
        prop_assert!(!value.to_string().contains(&secret));
    }
}
