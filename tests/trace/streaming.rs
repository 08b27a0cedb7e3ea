//! Streams: what the client gets, when, and what is rebuilt from it.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::*;

fn start(proxy: &Proxy) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(proxy.address).unwrap();
    stream.write_all(&request(CHAT, proxy.address, chat_body().as_bytes())).unwrap();
    BufReader::new(stream)
}

/// What a capture holds of a stream, through the proxy.
fn captured(stream: &str) -> (Captured, Reply) {
    let upstream = Upstream::fixed(sse(stream.as_bytes()));
    let proxy = Proxy::start(&upstream, &[]);
    let got = proxy.send(CHAT, chat_body());
    assert_eq!(got.body, stream.as_bytes());
    (proxy.capture_of(&got), got)
}

#[test]
fn a_stream_is_rebuilt_whatever_its_cuts() {
    let text = tool_stream();
    let length = text.len();
    let upstream = Upstream::start(move |request, stream| {
        let cut: usize = request.header("x-client-request-id").unwrap().parse().unwrap();
        let (left, right) = text.as_bytes().split_at(cut);
        let mut first = [SSE_HEAD, &chunked([left])].concat();
        first.truncate(first.len() - 5);
        let _ = stream.write_all(&first);
        // A pause, so that the two parts arrive apart.
        std::thread::sleep(Duration::from_micros(500));
        let _ = stream.write_all(&chunked([right]));
    });
    let proxy = Proxy::start(&upstream, &[]);
    let whole = tool_stream();
    let mut first: Option<Value> = None;
    for cut in 0..=length {
        let got = proxy.send(&format!("{CHAT}\nx-client-request-id: {cut}"), chat_body());
        assert!(got.whole && got.body == whole.as_bytes(), "cut at {cut}");
        let capture = proxy.capture_of(&got);
        let mut data = Value::Object(capture.end.data);
        data["request_id"].take();
        assert_eq!(*first.get_or_insert(data.clone()), data, "cut at {cut}");
    }
    let data = first.unwrap();
    assert_eq!(data["capture_issues"], json!([]));
    let calls = &data["model_requested_tools"];
    assert_eq!(
        (&calls[0]["arguments"], &calls[1]["arguments"]),
        (&json!({"path": "é東🌦.md"}), &json!({"path": "b.md"}))
    );
    assert_eq!(data["response"]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(data["tool_execution_observed"], false);
}

#[test]
fn chunks_arrive_while_the_stream_goes_on() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let upstream = Upstream::start(move |_, stream| {
        stream.write_all(SSE_HEAD).unwrap();
        for part in ["data: 1\n\n", "data: 2\n\n"] {
            stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let proxy = Proxy::start(&upstream, &[]);
    let mut reader = start(&proxy);
    read_head(&mut reader);
    for part in ["data: 1\n\n", "data: 2\n\n"] {
        let mut body = Vec::new();
        // The upstream says nothing more until this one has been read.
        assert!(read_chunk(&mut reader, &mut body).unwrap());
        assert_eq!(body, part.as_bytes());
        go.send(()).unwrap();
    }
    assert!(!read_chunk(&mut reader, &mut Vec::new()).unwrap());
}

#[test]
fn line_ends_comments_and_noise() {
    let text = tool_stream();
    let (plain, _) = captured(&text);
    let mut noisy = text.replace("data: {", ": keep-alive\n\nid: 1\nretry: 10\ndata:{");
    noisy.insert_str(0, "\u{feff}event: message\n");
    for stream in [text.replace('\n', "\r\n"), text.replace('\n', "\r"), noisy.clone(), noisy.replace('\n', "\r\n")] {
        let (capture, _) = captured(&stream);
        assert_eq!(capture.end.data["response"], plain.end.data["response"]);
        assert_eq!((capture.status().as_str(), capture.issues()), ("ok", vec![]));
    }
    let (capture, _) = captured(&text.replacen("data: {", "data: : keepalive\n\ndata: {", 2));
    assert_eq!(
        (capture.end.data["capture_issue_details"]["invalid_sse_chunk"]["count"].as_u64(), capture.calls().len()),
        (Some(2), 2)
    );
}

#[test]
fn how_streams_end() {
    let text = tool_stream();
    let no_done = text.replace("data: [DONE]\n\n", "");
    let cut = &text[..text.find("b.md").unwrap()];
    let unfinished =
        &text[..text.find("{\"choices\":[{\"delta\":{},").unwrap_or_else(|| text.rfind("data: {").unwrap())];
    let error = format!(
        "{}data: {}\n\n",
        frame(&json!({"content": "par"}), None),
        json!({"error": {"type": "overloaded", "message": "later"}})
    );
    for (stream, status, error_type, issues) in [
        (text.as_str(), "ok", "none", vec![]),
        (&no_done, "ok", "none", vec!["missing_stream_done"]),
        (text.trim_end(), "ok", "none", vec!["unterminated_sse_frame"]),
        (
            cut,
            "error",
            "incomplete_response",
            vec!["finish_reason_missing", "invalid_sse_chunk", "missing_stream_done", "unterminated_sse_frame"],
        ),
        (
            unfinished.trim_end_matches("data: "),
            "error",
            "incomplete_response",
            vec!["finish_reason_missing", "missing_stream_done"],
        ),
        (&error, "error", "overloaded", vec!["finish_reason_missing", "missing_stream_done"]),
        ("", "error", "incomplete_response", vec!["response_empty"]),
    ] {
        let (capture, got) = captured(stream);
        assert!(got.whole);
        assert_eq!((capture.status().as_str(), capture.error_type()), (status, error_type), "{stream}");
        let shown: Vec<&str> =
            capture.issues().into_iter().filter(|issue| !issue.starts_with("tool_arguments")).collect();
        assert_eq!(shown, issues, "{stream}");
    }
    let (capture, _) = captured(cut);
    assert!(capture.end.data["model_requested_tools"].as_array().unwrap().iter().all(|call| call["partial"] == true));
}

#[test]
fn an_abort_comes_back_as_an_abort() {
    let part = frame(&json!({"content": "half"}), None);
    for reply in [
        [SSE_HEAD, format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()].concat(),
        [SSE_HEAD, format!("{:x}\r\n{part}", part.len() + 100).as_bytes()].concat(),
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":"
            .to_string()
            .into_bytes(),
    ] {
        let upstream = Upstream::closing(reply);
        let proxy = Proxy::start(&upstream, &[]);
        let got = proxy.send(CHAT, chat_body());
        assert!(!got.whole, "the client must not take this for a whole reply");
        let capture = proxy.capture_of(&got);
        assert_eq!((capture.status().as_str(), capture.error_type()), ("error", "upstream_aborted"));
        assert!(capture.issues().contains(&"upstream_aborted"));
    }
}

#[test]
fn a_reply_is_registered_at_its_end_mark() {
    let upstream = Upstream::start(|request, stream| {
        if request.body.windows(6).any(|part| part == b"\"tool\"") {
            let _ = stream.write_all(&json_reply(
                &json!({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]}),
            ));
        } else {
            // The end mark, and then a connection that stays open.
            let mut reply = sse(tool_stream().as_bytes());
            reply.truncate(reply.len() - 5);
            let _ = stream.write_all(&reply);
            wait_closed(stream);
        }
    });
    let proxy = Proxy::start(&upstream, &[]);
    let mut reader = start(&proxy);
    let (_, headers) = read_head(&mut reader);
    let mut body = Vec::new();
    while !body.ends_with(b"[DONE]\n\n") {
        read_chunk(&mut reader, &mut body).unwrap();
    }
    let call = |id: &str, path: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": json!({"path": path}).to_string()}});
    let got = proxy.chat(&json!({"messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": null, "tool_calls": [call("call_a", "é東🌦.md"), call("call_b", "b.md")]},
        {"role": "tool", "tool_call_id": "call_a", "content": "A"},
        {"role": "tool", "tool_call_id": "call_b", "content": "B"},
    ]}));
    let first = headers.iter().find(|(name, _)| name == "x-toolreplay-request-id").unwrap().1.clone();
    // What may come behind the mark belongs to the capture, which is open as long as the stream is.
    drop(reader);
    let (next, first) = (proxy.capture_of(&got), proxy.capture(&first));
    assert_eq!(next.association(), "tool_call_reference");
    assert_eq!(next.session(), first.session());
    assert_eq!(next.start.data["parent_request_ids"], json!([first.start.trace_id]));
    assert_eq!((first.status().as_str(), first.calls().len()), ("ok", 2));
}

#[test]
fn compressed_bodies_cross_compressed_and_are_read_in_the_copy() {
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let zstd =
        |text: &str| ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let answer = json!({"choices": [{"message": {"content": null, "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}, "finish_reason": "tool_calls"}]}).to_string();
    let stream = tool_stream();
    for (kind, encoding, body, calls, issues) in [
        ("application/json", "gzip", gzip(&answer), 1, vec![]),
        ("application/json", "zstd", zstd(&answer), 1, vec![]),
        ("text/event-stream", "gzip", gzip(&stream), 2, vec![]),
        ("text/event-stream", "zstd", zstd(&stream), 2, vec![]),
        ("application/json", "gzip", answer.clone().into_bytes(), 1, vec!["response_encoding_ignored"]),
        ("application/json", "lzma", answer.clone().into_bytes(), 1, vec!["response_encoding_ignored"]),
    ] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: {encoding}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let upstream = Upstream::fixed([head.as_bytes(), &body].concat());
        let proxy = Proxy::start(&upstream, &[]);
        let got = proxy.send(CHAT, chat_body());
        assert_eq!((got.header("content-encoding"), &got.body), (Some(encoding), &body));
        let capture = proxy.capture_of(&got);
        assert_eq!((capture.calls().len(), capture.issues()), (calls, issues), "{kind} {encoding}");
    }
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    for (encoding, body, issue) in [
        ("zstd", zstd(&chat_body()), None),
        ("gzip", gzip(&chat_body()), None),
        ("zstd", b"\x28\xb5\x2f\xfdbroken".to_vec(), Some("request_not_decoded")),
    ] {
        let got = proxy.send(&format!("{CHAT}\ncontent-encoding: {encoding}"), &body);
        assert_eq!(
            (got.status, upstream.last().header("content-encoding"), &upstream.last().body),
            (200, Some(encoding), &body)
        );
        let capture = proxy.capture_of(&got);
        match issue {
            None => assert_eq!(capture.start.data["request"]["messages"][0]["content"], "hello"),
            Some(issue) => assert!(capture.issues().contains(&issue)),
        }
    }
    let bomb = zstd(&format!("{{\"messages\":[\"{}\"]}}", " ".repeat(20 << 20)));
    let got = proxy.send(&format!("{CHAT}\ncontent-encoding: zstd"), &bomb);
    assert!(got.status == 200 && proxy.capture_of(&got).issues().contains(&"request_too_large_to_decode"));
}

#[test]
fn copies_are_bounded_and_streams_are_not() {
    let big = frame(&json!({"content": "x".repeat(3 << 20)}), None);
    let many: String = (0..3000).map(|_| frame(&json!({"content": "y".repeat(1000)}), None)).collect();
    let end = format!("{}data: [DONE]\n\n", frame(&json!({}), Some("stop")));
    for stream in [format!("{big}{end}"), format!("{many}{end}")] {
        let (capture, got) = captured(&stream);
        assert!(got.whole);
        assert!(capture.issues().contains(&"capture_byte_limit"));
        assert!(capture.issues().contains(&"tool_calls_incomplete"), "what was not kept may have been calls");
        assert_eq!(capture.end.data["response"]["choices"][0]["finish_reason"], "stop");
        assert!(capture.text.len() < 3 << 20, "{}", capture.text.len());
    }
    // The smallest limit there is.
    let upstream = Upstream::fixed(sse(tool_stream().as_bytes()));
    let proxy = Proxy::start(&upstream, &["--max-capture-bytes", "128"]);
    let got = proxy.send(CHAT, chat_body().replace("hello", &"long ".repeat(1000)));
    assert_eq!(got.body, tool_stream().as_bytes());
    let capture = proxy.capture_of(&got);
    assert!(
        capture.issues().contains(&"capture_byte_limit") && capture.start.truncated && capture.text.len() < 4000,
        "{}",
        capture.text
    );
}
