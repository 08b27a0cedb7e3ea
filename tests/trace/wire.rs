//! Faults of the wire: framing that contradicts itself, clients that close their half or stop sending, protocols that
//! change, and what a web page or a tunnel would make of the port.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use serde_json::json;

use super::support::*;

#[test]
fn a_length_beside_chunks_cuts_nothing() {
    let body = b"{\"choices\":[]}";
    let raw = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
        chunked([&body[..]]).as_slice(),
    ]
    .concat();
    let upstream = Upstream::fixed(raw);
    let proxy = Proxy::start(&upstream, &[]);
    for (head, sent) in [(CHAT, "{\"messages\":[]}"), ("GET /v1/models", "")] {
        let got = proxy.send(head, sent);
        assert!(got.whole && got.body == body && got.header("content-length").is_none(), "{got:?}");
    }
}

#[test]
fn a_client_that_closed_its_half_gets_its_reply() {
    let (go, wait) = channel::<()>();
    let (asked, asks) = channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = Upstream::start(move |request, stream| {
        asked.send(()).unwrap();
        wait.lock().unwrap().recv().unwrap();
        let reply =
            if request.line.starts_with("POST") { sse(tool_stream().as_bytes()) } else { json_reply(&json!({})) };
        let _ = stream.write_all(&reply);
    });
    let proxy = Proxy::start(&upstream, &[]);
    for (head, body) in
        [(CHAT, chat_body()), ("GET /v1/models", String::new()), ("POST /v1/embeddings", "{}".repeat(100_000))]
    {
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        stream.write_all(&request(head, proxy.address, body.as_bytes())).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        asks.recv().unwrap();
        go.send(()).unwrap();
        let mut reader = BufReader::new(stream);
        let got = read_reply(&mut reader);
        assert!(got.status == 200 && got.whole, "{got:?}");
        // and then there is nothing to keep the connection for
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    }
    assert_eq!(proxy.only_capture().status(), "ok");
}

#[test]
fn a_client_that_left_behind_its_closed_half_takes_its_upstream_along() {
    let (asked, asks) = channel::<()>();
    let (closed, closes) = channel::<()>();
    let upstream = Upstream::start(move |_, stream| {
        asked.send(()).unwrap();
        wait_closed(stream);
        closed.send(()).unwrap();
    });
    let proxy = Proxy::start(&upstream, &[]);
    let mut stream = TcpStream::connect(proxy.address).unwrap();
    stream.write_all(&request(CHAT, proxy.address, chat_body().as_bytes())).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    asks.recv().unwrap();
    drop(stream);
    closes.recv().unwrap();
    assert_eq!(proxy.only_capture().error_type(), "client_disconnected");
}

#[test]
fn a_client_that_stops_sending_is_not_waited_for() {
    let upstream = Upstream::fixed(json_reply(&json!({})));
    let proxy = Proxy::start(&upstream, &["--body-timeout", "0.2"]);
    for line in [CHAT, "POST /v1/embeddings"] {
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        let whole = request(line, proxy.address, chat_body().as_bytes());
        stream.write_all(&whole[..whole.len() - 5]).unwrap();
        let got = read_reply(&mut BufReader::new(stream));
        assert_eq!((got.status, &got.json()["error"]["code"]), (408, &json!("request_timeout")), "{line}");
        assert!(got.json()["error"]["message"].as_str().unwrap().contains("--body-timeout"));
    }
    assert!(proxy.files().is_empty());
    assert_eq!(proxy.chat(&json!({"messages": []})).status, 200);
}

#[test]
fn another_protocol_is_not_passed() {
    let upgraded = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nsecret frames";
    let upstream = Upstream::closing(upgraded);
    let proxy = Proxy::start(&upstream, &[]);
    let got = proxy.chat(&json!({"messages": []}));
    assert_eq!((got.status, &got.json()["error"]["code"]), (502, &json!("upstream_upgraded")));
    assert_eq!(proxy.capture_of(&got).error_type(), "upstream_upgraded");
    assert_eq!(proxy.send("GET /v1/models", "").status, 502);
}

#[test]
fn two_names_of_a_session_are_none() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    for headers in
        ["x-toolreplay-trace-id: a\nx-toolreplay-trace-id: b", "x-toolreplay-trace-id: a\nx-attacker-trace-id: a"]
    {
        let got = proxy.send(&format!("{CHAT}\n{headers}"), "{\"messages\":[]}");
        assert_eq!((got.status, &got.json()["error"]["code"]), (400, &json!("invalid_trace_id")));
    }
    assert_eq!(upstream.count(), 0);
}

#[test]
fn an_open_folder_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let upstream = Upstream::fixed(json_reply(&json!({})));
    for (mode, warned) in [(0o777, true), (0o770, true), (0o755, false), (0o700, false)] {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("open");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let proxy = Proxy::at(&upstream.base(), &[], &[], folder, temporary);
        // whatever was said before the first request stands before its line
        proxy.send("GET /v1/models", "");
        eventually("the request is in the log", || proxy.log().contains("passed through"));
        assert_eq!(proxy.log().contains("warning: others than you may write"), warned, "{mode:o} {}", proxy.log());
    }
}
