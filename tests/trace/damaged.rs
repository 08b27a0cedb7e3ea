//! Replies that are not what they say, or not whole: what a client can read of them is captured, and what it may have read
//! beyond that fails the audit.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use super::support::*;

fn reply() -> Value {
    json!({"id": "c", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"n\":1}"}}]}}]})
}

fn stream() -> String {
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"n\":1}"}}]});
    [frame(&call, None), frame(&json!({}), Some("tool_calls")), "data: [DONE]\n\n".to_owned()].concat()
}

const CALL: &str = "look({\"n\":1})";

/// A reply of success with these header lines.
fn with(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The capture of a reply, and how an audit of it ends beside a reply that is as it should be.
fn judged(raw: Vec<u8>) -> (Captured, i32, String) {
    let upstream = Upstream::start(move |request, stream| {
        let good = request.body.windows(4).any(|part| part == b"good");
        let _ = stream.write_all(if good { sse(tool_stream().as_bytes()) } else { raw.clone() }.as_slice());
        if !good {
            // Some of these end with their connection.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    });
    let proxy = Proxy::start(&upstream, &[]);
    proxy.capture_of(&proxy.send(CHAT, chat_body().replace("hello", "good")));
    let capture = proxy.capture_of(&proxy.send(CHAT, chat_body()));
    let ran = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--no-config", "--fail-on", "note"])
        .arg(&proxy.folder)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (capture, ran.status.code().unwrap(), said)
}

#[test]
fn what_clients_read_is_captured() {
    let json = reply().to_string();
    let wide = |mark: &[u8], text: &str| -> Vec<u8> {
        [mark.to_vec(), text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat()
    };
    let not_a_number = json.replacen("{", "{\"score\":NaN,", 1);
    let deep = json.replacen("{", &format!("{{\"deep\":{}{},", "[".repeat(200), "]".repeat(200)), 1);
    let stream = stream();
    let joined = stream.replacen("\n\ndata", "\ndata", 1);
    let plain = "content-type: application/json\r\n";
    let events = "content-type: text/event-stream\r\n";
    let zipped = |name: &str| format!("{plain}content-encoding: {name}\r\n");
    let zipped_events = |name: &str| format!("{events}content-encoding: {name}\r\n");
    let pressed = gzip(json.as_bytes());
    let pressed_events = gzip(stream.as_bytes());
    for (what, raw, issues) in [
        ("JSON", with(plain, json.as_bytes()), ""),
        ("JSON as text", with("content-type: text/plain\r\n", json.as_bytes()), ""),
        ("JSON without a type", with("", json.as_bytes()), "content_type_missing"),
        ("JSON as events", with(events, json.as_bytes()), "content_type_mismatch"),
        ("a mark", with(plain, &[b"\xef\xbb\xbf", json.as_bytes()].concat()), ""),
        ("UTF-16", with(plain, &wide(b"\xff\xfe", &json)), "reply_not_utf8"),
        ("UTF-16 without a mark", with(plain, &wide(b"", &json)), "reply_not_utf8"),
        ("NaN", with(plain, not_a_number.as_bytes()), "not_a_number"),
        ("200 levels", with(plain, deep.as_bytes()), "capture_byte_limit reply_too_deep"),
        ("events", with(events, stream.as_bytes()), ""),
        ("events as JSON", with(plain, stream.as_bytes()), "content_type_mismatch"),
        ("events as text", with("content-type: text/plain\r\n", stream.as_bytes()), "content_type_mismatch"),
        ("events without a type", with("", stream.as_bytes()), "content_type_missing"),
        ("events behind a mark", with(plain, format!("\u{feff}{stream}").as_bytes()), "content_type_mismatch"),
        ("events behind a comment", with(plain, format!("\n: hi\n\n{stream}").as_bytes()), "content_type_mismatch"),
        ("events behind noise", with(plain, format!("hello\n\n{stream}").as_bytes()), "content_type_mismatch"),
        ("events in one", with(events, joined.as_bytes()), "sse_frames_joined"),
        ("events without a last blank line", with(events, stream.trim_end().as_bytes()), "unterminated_sse_frame"),
        ("an unknown encoding", with(&zipped("x-own"), json.as_bytes()), "response_encoding_ignored"),
        (
            "an unknown encoding of events",
            with(&zipped_events("x-own"), stream.as_bytes()),
            "response_encoding_ignored",
        ),
        ("no gzip at all", with(&zipped("gzip"), json.as_bytes()), "response_encoding_ignored"),
        ("no gzip of events", with(&zipped_events("gzip"), stream.as_bytes()), "response_encoding_ignored"),
        ("no brotli at all", with(&zipped("br"), json.as_bytes()), "response_encoding_ignored"),
        ("gzip", with(&zipped("gzip"), &pressed), ""),
        ("gzip of events as JSON", with(&zipped("gzip"), &pressed_events), "content_type_mismatch"),
        ("gzip without its sum", with(&zipped("gzip"), &pressed[..pressed.len() - 8]), "response_encoding_cut"),
        (
            "gzip of events without its sum",
            with(&zipped_events("gzip"), &pressed_events[..pressed_events.len() - 8]),
            "response_encoding_cut",
        ),
        ("gzip named twice", with(&format!("{}content-encoding: gzip\r\n", zipped("gzip")), &gzip(&pressed)), ""),
    ] {
        let (capture, code, said) = judged(raw);
        assert_eq!(capture.calls(), [CALL], "{what} {:?}", capture.issues());
        assert_eq!(capture.issues().join(" "), issues, "{what}");
        assert_eq!((capture.status().as_str(), code), ("ok", 0), "{what} {said}");
    }
}

#[test]
fn what_cannot_be_read_fails_the_audit() {
    let json = reply().to_string();
    let stream = stream();
    let plain = "content-type: application/json\r\n";
    let events = "content-type: text/event-stream\r\n";
    let zipped = format!("{plain}content-encoding: gzip\r\n");
    let pressed = gzip(json.as_bytes());
    let pressed_events = gzip(stream.as_bytes());
    let broken = stream.replacen("data: {", "data: {'", 1);
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/v1/chat/completions\r\ncontent-length: 0\r\n\r\n";
    for (what, raw, issue) in [
        ("no JSON", with(plain, b"<html>no</html>"), "response_not_json"),
        ("no JSON without a type", with("", b"<html>no</html>"), "response_not_json"),
        ("JSON that ends early", with(plain, &json.as_bytes()[..json.len() - 3]), "response_not_json"),
        ("two texts", with(plain, format!("{json}{json}").as_bytes()), "response_not_json"),
        (
            "a number's own mark",
            with(plain, json.replacen('{', "{\"$serde_json::private::Number\":\"1\",", 1).as_bytes()),
            "response_not_json",
        ),
        ("half of gzip", with(&zipped, &pressed[..pressed.len() / 2]), "response_not_decoded"),
        (
            "half of gzip of events",
            with(&format!("{events}content-encoding: gzip\r\n"), &pressed_events[..pressed_events.len() / 2]),
            "response_not_decoded",
        ),
        (
            "an encoding nobody knows",
            with(&format!("{plain}content-encoding: x-own\r\n"), &pressed),
            "response_not_json",
        ),
        ("no brotli", with(&format!("{plain}content-encoding: br\r\n"), &pressed), "response_not_decoded"),
        ("an event that is no JSON", with(events, broken.as_bytes()), "invalid_sse_chunk"),
        ("an event that ends early", with(events, &stream.as_bytes()[..60]), "invalid_sse_chunk"),
        ("another reply", with(plain, b"{\"result\":1}"), "unexpected_response"),
        ("a redirect elsewhere", redirect.as_bytes().to_vec(), "redirected_elsewhere"),
    ] {
        let (capture, code, said) = judged(raw);
        assert!(capture.issues().contains(&issue), "{what} {:?}", capture.issues());
        assert_eq!(code, 2, "{what} {said}");
        assert!(said.contains("TRUNCATED calls not captured"), "{what} {said}");
    }
}

/// Clients look for calls in replies of success only, and know of a reply that broke off.
#[test]
fn what_brings_no_calls_fails_nothing() {
    let json = reply().to_string();
    let plain = "content-type: application/json\r\n";
    for (what, raw) in [
        (
            "an error page",
            with(plain, b"<html>no</html>")
                .strip_prefix(b"HTTP/1.1 200 OK")
                .map(|rest| [b"HTTP/1.1 502 Bad Gateway", rest].concat())
                .unwrap(),
        ),
        ("nothing", with(plain, b"")),
        (
            "JSON that broke off",
            format!("HTTP/1.1 200 OK\r\n{plain}content-length: 9999\r\n\r\n{}", &json[..40]).into_bytes(),
        ),
        (
            "a redirect to here",
            b"HTTP/1.1 308 Permanent Redirect\r\nlocation: /v1/responses?a=b\r\ncontent-length: 0\r\n\r\n".to_vec(),
        ),
    ] {
        let (capture, code, said) = judged(raw);
        assert_eq!((capture.calls(), code), (vec![], 0), "{what} {:?} {said}", capture.issues());
    }
}

#[test]
fn calls_behind_the_end_mark_are_captured() {
    let late = json!({"tool_calls": [{"index": 0, "id": "call_2", "type": "function", "function": {"name": "late", "arguments": "{}"}}]});
    let behind = format!("{}{}", frame(&late, None), frame(&json!({}), Some("tool_calls")));
    let upstream = Upstream::start(move |request, stream| {
        if request.body.windows(6).any(|part| part == b"\"tool\"") {
            let done = json!({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]});
            return drop(stream.write_all(&json_reply(&done)));
        }
        let _ = stream.write_all(SSE_HEAD);
        // In a read of its own, after the end mark has passed.
        for part in [self::stream(), behind.clone()] {
            let _ = stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let proxy = Proxy::start(&upstream, &[]);
    let capture = proxy.capture_of(&proxy.send(CHAT, chat_body()));
    assert_eq!((capture.calls(), capture.status().as_str()), (vec![CALL.to_owned(), "late({})".to_owned()], "ok"));
    assert_eq!(capture.issues(), ["call_after_end", "data_after_done", "tool_call_index_reused"]);
    assert_eq!(capture.end.data["model_requested_tools"][1]["after_end"], true);
    // and its result finds it
    let call = json!({"id": "call_2", "type": "function", "function": {"name": "late", "arguments": "{}"}});
    let next = proxy.capture_of(&proxy.chat(&json!({"messages": [
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_2", "content": "x"}]})));
    assert_eq!(next.start.data["parent_request_ids"], json!([capture.start.trace_id]));
    let audit = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--no-config"])
        .arg(&proxy.folder)
        .output()
        .unwrap();
    assert_eq!(audit.status.code(), Some(0), "{}", String::from_utf8_lossy(&audit.stdout));
}
