//! Many at once: every request has its whole capture, and nothing is left behind.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::support::*;

fn finished(proxy: &Proxy, count: usize) {
    eventually("every request has its capture", || proxy.files().len() == count);
    for file in proxy.files() {
        eventually("every capture is finished", || std::fs::read_to_string(&file).unwrap().contains("capture_summary"));
    }
}

#[test]
fn a_thousand_streams_at_once() {
    let upstream = Upstream::start(|_, stream| {
        let text = tool_stream();
        let _ = stream.write_all(SSE_HEAD);
        for frame in text.split_inclusive("\n\n") {
            std::thread::sleep(Duration::from_millis(20));
            let _ = stream.write_all(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let proxy = Proxy::start(&upstream, &[]);
    assert_eq!(proxy.send(CHAT, chat_body()).status, 200);
    finished(&proxy, 1);
    // The writer may just be making spare files.
    std::thread::sleep(Duration::from_millis(200));
    let descriptors = proxy.descriptors();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                let open = |number: usize| {
                    let mut stream = TcpStream::connect(proxy.address).unwrap();
                    let body = json!({"stream": true, "messages": [{"role": "user", "content": format!("n{number}")}]})
                        .to_string();
                    stream.write_all(&request(CHAT, proxy.address, body.as_bytes())).unwrap();
                    stream
                };
                let streams: Vec<TcpStream> = (0..125).map(open).collect();
                for stream in streams {
                    let got = read_reply(&mut BufReader::new(stream));
                    assert!(got.status == 200 && got.whole && got.body == tool_stream().as_bytes());
                }
            });
        }
    });
    finished(&proxy, 1001);
    for file in proxy.files() {
        let capture = Captured::read(&file);
        assert_eq!((capture.status().as_str(), capture.calls().len(), capture.issues()), ("ok", 2, vec![]));
    }
    // Upstream connections are kept for four seconds; then nothing is left.
    eventually("no descriptor is left", || proxy.descriptors() <= descriptors);
}

#[test]
fn of_many_requests_each_is_captured_whole() {
    let upstream = Upstream::start(|request, stream| {
        // The reply carries the request's own number, so that mixed up captures would show.
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let reply = json!({"id": "c", "choices": [{"message": {"content": body["messages"][0]["content"]}, "finish_reason": "stop"}]});
        let _ = stream.write_all(&json_reply(&reply));
    });
    let proxy = Proxy::start(&upstream, &[]);
    std::thread::scope(|threads| {
        for client in 0..32 {
            let proxy = &proxy;
            threads.spawn(move || {
                let mut stream = BufReader::new(TcpStream::connect(proxy.address).unwrap());
                for number in 0..100 {
                    let body =
                        json!({"messages": [{"role": "user", "content": format!("{client}/{number}")}]}).to_string();
                    stream.get_mut().write_all(&request(CHAT, proxy.address, body.as_bytes())).unwrap();
                    assert_eq!(
                        read_reply(&mut stream).json()["choices"][0]["message"]["content"],
                        format!("{client}/{number}")
                    );
                }
            });
        }
    });
    finished(&proxy, 3200);
    let mut seen = std::collections::BTreeSet::new();
    for file in proxy.files() {
        let capture = Captured::read(&file);
        let asked = &capture.start.data["request"]["messages"][0]["content"];
        assert_eq!(*asked, capture.end.data["response"]["choices"][0]["message"]["content"]);
        seen.insert(asked.as_str().unwrap().to_owned());
    }
    assert_eq!(seen.len(), 3200);
}

/// The one thing that the command has no option for: how much all captures together may hold.
#[test]
fn over_budget_captures_lose_their_copies_and_traffic_loses_nothing() {
    use toolreplay::trace::proxy::{Config, Proxy as Service, Upstream as Base};

    let upstream = Upstream::fixed(sse(tool_stream().as_bytes()));
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut config = Config::new(Base::parse(&upstream.base()).unwrap());
    config.output_dir = folder.path().join("captures");
    config.port = 0;
    config.capture_budget = 150;
    let output = config.output_dir.clone();
    let service = runtime.block_on(Service::bind(config, std::sync::Arc::new(|_: &str| {}))).unwrap();
    let address = service.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = runtime.spawn(service.serve(async { drop(stopped.await) }, std::future::pending()));
    let large = exchange(address, CHAT, chat_body().replace("hello", &"h".repeat(400)));
    let small = exchange(address, CHAT, chat_body());
    stop.send(()).unwrap();
    runtime.block_on(serving).unwrap();
    for (got, request_kept) in [(large, false), (small, true)] {
        assert_eq!((got.status, got.body.as_slice()), (200, tool_stream().as_bytes()));
        let capture = Captured::read(&output.join(format!("{}.jsonl", got.request_id())));
        assert!(capture.issues().contains(&"capture_overloaded"), "{:?}", capture.issues());
        assert_eq!(capture.start.data["request"].is_null(), !request_kept);
        assert_eq!((capture.status().as_str(), capture.calls().len()), ("ok", 0));
    }
}
