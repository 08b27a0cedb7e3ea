//! Clients and upstreams that leave, stall or lie, and a proxy that is stopped or runs out of disk.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::support::*;

fn open(proxy: &Proxy, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address).unwrap();
    stream.write_all(&request(CHAT, proxy.address, body.as_bytes())).unwrap();
    stream
}

#[test]
fn a_client_that_leaves_takes_its_upstream_along() {
    let part = frame(&json!({"content": "part"}), None);
    let chunk = format!("{:x}\r\n{part}\r\n", part.len());
    for (stage, before) in [
        ("before the head", Vec::new()),
        ("after the head", SSE_HEAD.to_vec()),
        ("within the stream", [SSE_HEAD, chunk.as_bytes()].concat()),
        (
            "within a JSON body",
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":[".to_vec(),
        ),
    ] {
        let (left, leaves) = channel::<()>();
        let (sender, receiver) = channel();
        let (leaves, script) = (Mutex::new(leaves), before.clone());
        let upstream = Upstream::start(move |_, stream| {
            let _ = stream.write_all(&script);
            sender.send(()).unwrap();
            leaves.lock().unwrap().recv().unwrap();
            wait_closed(stream);
            sender.send(()).unwrap();
        });
        let proxy = Proxy::start(&upstream, &[]);
        let mut client = open(&proxy, &chat_body());
        receiver.recv().unwrap();
        if !before.is_empty() {
            // Wait for the head, so that the proxy is where the stage says.
            let _ = client.read(&mut [0; 4096]).unwrap();
        }
        left.send(()).unwrap();
        drop(client);
        receiver.recv().unwrap();
        let capture = proxy.only_capture();
        assert_eq!((capture.status().as_str(), capture.error_type()), ("cancelled", "client_disconnected"), "{stage}");
        if stage == "within the stream" {
            assert_eq!(capture.end.data["response"]["choices"][0]["message"]["content"], "part");
        }
    }
}

#[test]
fn a_client_that_leaves_within_its_request_reaches_nobody() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    let whole = request(CHAT, proxy.address, chat_body().as_bytes());
    for cut in [1, 20, whole.len() - chat_body().len(), whole.len() - 1] {
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        stream.write_all(&whole[..cut]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(proxy.chat(&json!({"messages": []})).status, 200);
    assert_eq!((upstream.count(), proxy.files().len()), (1, 1));
}

#[test]
fn stalled_readers_hold_the_upstream_back_and_no_memory() {
    const CLIENTS: usize = 20;
    let held = Arc::new(AtomicUsize::new(0));
    let written = Arc::new(AtomicUsize::new(0));
    let (counter, blocked) = (written.clone(), held.clone());
    let upstream = Upstream::start(move |_, stream| {
        let part = frame(&json!({"content": "x".repeat(60_000)}), None);
        let chunk = format!("{:x}\r\n{part}\r\n", part.len()).into_bytes();
        let _ = stream.write_all(SSE_HEAD);
        stream.set_nonblocking(true).unwrap();
        // Endless, as fast as it is taken, and told when it is not.
        let (mut at, mut waits) = (0, false);
        loop {
            let result = stream.write(&chunk[at..]);
            let would_block = matches!(&result, Err(error) if error.kind() == ErrorKind::WouldBlock);
            if would_block != waits {
                waits = would_block;
                if waits {
                    blocked.fetch_add(1, Ordering::SeqCst)
                } else {
                    blocked.fetch_sub(1, Ordering::SeqCst)
                };
            }
            match result {
                Ok(count) => {
                    at = (at + count) % chunk.len();
                    counter.fetch_add(count, Ordering::SeqCst);
                }
                Err(_) if would_block => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
    });
    let proxy = Proxy::start(&upstream, &["--max-capture-bytes", "65536"]);
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| open(&proxy, &chat_body())).collect();
    // Until no socket takes any more, and none has taken more since the last look.
    let (mut before, mut same) = (0, 0);
    eventually("the upstream is held back", || {
        let now = written.load(Ordering::SeqCst);
        let full = held.load(Ordering::SeqCst) == CLIENTS && now == std::mem::replace(&mut before, now);
        same = if full { same + 1 } else { 0 };
        same > 100
    });
    // What the sockets hold is the system's; the proxy holds far less than one client was sent.
    assert!(before > CLIENTS * (1 << 20), "{before} bytes");
    assert!(proxy.memory() < 64 << 10, "{} KiB", proxy.memory());
    // Others are served meanwhile.
    assert_eq!(proxy.send("GET /health", "").status, 200);
    drop(clients);
    eventually("all captures are finished", || {
        texts(&proxy.folder).values().filter(|text| text.contains("capture_summary")).count() == 20
    });
}

#[test]
fn a_stale_connection_is_no_second_request() {
    // Replies as if it kept the connection, then closes it at once.
    let upstream = Upstream::closing(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    let mut answered = 0;
    for number in 1..=200 {
        let got = proxy.send(&format!("{CHAT}\nx-client-request-id: {number}"), "{\"messages\":[]}");
        assert!(matches!(got.status, 200 | 502), "{}", got.status);
        answered += usize::from(got.status == 200);
    }
    let seen = upstream.received.lock().unwrap().clone();
    let mut ids: Vec<&str> = seen.iter().map(|request| request.header("x-client-request-id").unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), seen.len(), "a request was sent twice");
    assert!(answered > 100, "{answered}");
}

#[test]
fn killed_hard_what_was_captured_is_readable() {
    let upstream = Upstream::start(|_, stream| {
        let mut reply = sse(frame(&json!({"content": "part"}), None).as_bytes());
        reply.truncate(reply.len() - 5);
        let _ = stream.write_all(&reply);
        wait_closed(stream);
    });
    let mut proxy = Proxy::start(&upstream, &[]);
    let mut reader = BufReader::new(open(&proxy, &chat_body()));
    read_head(&mut reader);
    read_chunk(&mut reader, &mut Vec::new()).unwrap();
    eventually("the start is written", || texts(&proxy.folder).values().any(|text| text.ends_with('\n')));
    proxy.child.kill().unwrap();
    proxy.child.wait().unwrap();
    let capture = toolreplay::trace::read::read(&proxy.files()[0]).unwrap();
    assert_eq!((capture.events.len(), capture.errors.len(), capture.summary), (1, 0, None));
    assert_eq!(capture.events[0].1.data["request"]["messages"][0]["content"], "hello");
}

/// Whether these tests run below `nohup`: a proxy started there does not end with the terminal either.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn asked_to_stop_it_lets_streams_end() {
    for signal in ["TERM", "INT", "HUP"] {
        if signal == "HUP" && hangups_are_ignored() {
            continue;
        }
        let (go, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let upstream = Upstream::start(move |_, stream| {
            let text = tool_stream();
            let (left, right) = text.as_bytes().split_at(100);
            let mut first = [SSE_HEAD, &chunked([left])].concat();
            first.truncate(first.len() - 5);
            stream.write_all(&first).unwrap();
            wait.lock().unwrap().recv().unwrap();
            stream.write_all(&chunked([right])).unwrap();
        });
        let mut proxy = Proxy::start(&upstream, &[]);
        let mut idle = TcpStream::connect(proxy.address).unwrap();
        let mut reader = BufReader::new(open(&proxy, &chat_body()));
        read_head(&mut reader);
        proxy.signal(signal);
        eventually("no new connection is taken", || TcpStream::connect(proxy.address).is_err());
        wait_closed(&mut idle);
        go.send(()).unwrap();
        let mut body = Vec::new();
        read_chunks(&mut reader, &mut body).unwrap();
        assert_eq!(body, tool_stream().as_bytes());
        assert_eq!(proxy.child.wait().unwrap().code(), Some(0), "{signal}");
        let capture = proxy.only_capture();
        assert_eq!((capture.status().as_str(), capture.calls().len()), ("ok", 2));
    }
}

#[test]
fn asked_to_stop_it_marks_streams_that_do_not_end() {
    for twice in [false, true] {
        let upstream = Upstream::start(|_, stream| {
            let _ = stream.write_all(SSE_HEAD);
            wait_closed(stream);
        });
        let mut proxy = Proxy::start(&upstream, &[]);
        let mut reader = BufReader::new(open(&proxy, &chat_body()));
        read_head(&mut reader);
        proxy.signal("TERM");
        if twice {
            eventually("the first signal is taken", || TcpStream::connect(proxy.address).is_err());
            proxy.signal("TERM");
        }
        assert_eq!(proxy.child.wait().unwrap().code(), Some(0));
        let why = if twice { "asked once more: closing" } else { "still open when the time to end was over: closing" };
        assert!(proxy.log().contains(why), "{}", proxy.log());
        let capture = proxy.only_capture();
        assert_eq!((capture.status().as_str(), capture.error_type()), ("cancelled", "proxy_shutdown"));
        assert!(capture.issues().contains(&"proxy_shutdown"));
    }
}

#[test]
fn on_a_full_disk_nothing_is_sent_unrecorded() {
    for best_effort in [false, true] {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("small");
        std::fs::create_dir(&folder).unwrap();
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=600k", "none"]).arg(&folder).status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a small file system cannot be mounted here");
            return;
        }
        let upstream = Upstream::fixed(sse(tool_stream().as_bytes()));
        let mut flags = vec!["--max-capture-bytes", "65536"];
        if best_effort {
            flags.extend(["--record", "best-effort"]);
        }
        let proxy = Proxy::at(&upstream.base(), &flags, &[], folder.clone(), temporary);
        let body = chat_body().replace("hello", &"h".repeat(20_000));
        let replies: Vec<Reply> = (0..60).map(|_| proxy.send(CHAT, &body)).collect();
        let recorded = proxy.files();
        assert!(recorded.len() > 3 && recorded.len() < 60, "{}", recorded.len());
        // What was recorded is recorded whole.
        for file in &recorded {
            let capture = proxy.capture(&file.file_stem().unwrap().to_string_lossy());
            assert_eq!((capture.status().as_str(), capture.calls().len()), ("ok", 2));
        }
        if best_effort {
            assert!(replies.iter().all(|got| got.status == 200 && got.body == tool_stream().as_bytes()));
            assert_eq!(upstream.count(), 60);
            eventually("the log tells", || proxy.log().matches("sent on UNRECORDED").count() == 60 - recorded.len());
        } else {
            let sent = replies.iter().filter(|got| got.status == 200).count();
            assert_eq!((sent, upstream.count()), (recorded.len(), recorded.len()));
            // not the last one, which may have found room that an earlier one waited for
            let refused = replies.iter().find(|got| got.status != 200).unwrap();
            assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!("capture_unavailable")));
            // Room again, and all is as before.
            for file in &recorded {
                std::fs::remove_file(file).unwrap();
            }
            assert_eq!(proxy.send(CHAT, &body).status, 200);
        }
        drop(proxy);
        let _ = std::process::Command::new("umount").arg("-l").arg(&folder).status();
    }
}

/// A client need not wait for the end mark of a reply that has said why it ends.
#[test]
fn a_client_that_leaves_before_a_late_end_mark_has_whole_calls() {
    let reply = tool_stream().replace("data: [DONE]\n\n", "");
    let (left, leaves) = channel::<()>();
    let leaves = Mutex::new(leaves);
    let text = reply.clone();
    let upstream = Upstream::start(move |request, stream| {
        if request.body.windows(6).any(|part| part == b"\"tool\"") {
            let done = json!({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]});
            return drop(stream.write_all(&json_reply(&done)));
        }
        let mut all = sse(text.as_bytes());
        all.truncate(all.len() - 5);
        stream.write_all(&all).unwrap();
        wait_closed(stream);
        left.send(()).unwrap();
    });
    let proxy = Proxy::start(&upstream, &[]);
    let mut reader = BufReader::new(open(&proxy, &chat_body()));
    let (_, headers) = read_head(&mut reader);
    let mut body = Vec::new();
    while body.len() < reply.len() {
        read_chunk(&mut reader, &mut body).unwrap();
    }
    drop(reader);
    leaves.lock().unwrap().recv().unwrap();
    let id = headers.iter().find(|(name, _)| name == "x-toolreplay-request-id").unwrap().1.clone();
    let capture = proxy.capture(&id);
    assert_eq!((capture.status().as_str(), capture.issues()), ("ok", vec!["missing_stream_done"]));
    assert!(
        capture.end.data["model_requested_tools"].as_array().unwrap().iter().all(|call| call.get("partial").is_none())
    );
    let call = |id: &str, path: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": json!({"path": path}).to_string()}});
    let next = proxy.capture_of(&proxy.chat(&json!({"messages": [
        {"role": "assistant", "tool_calls": [call("call_a", "é東🌦.md"), call("call_b", "b.md")]},
        {"role": "tool", "tool_call_id": "call_a", "content": "A"}, {"role": "tool", "tool_call_id": "call_b", "content": "B"}]})));
    assert_eq!(next.start.data["parent_request_ids"], json!([id]));
}
