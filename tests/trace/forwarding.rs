//! What crosses, unchanged, and what does not.

use std::process::Command;

use serde_json::json;

use super::support::*;

/// Valid JSON that a parser could not give back byte for byte.
const ODD_BODY: &str = "{ \"messages\" : [ {\"role\":\"user\",\"content\":\"cut \\ud83d \\u0041\"} ],\r\n\t\"seed\":123456789012345678901234567890, \"n\":1e400,\"a\":1,\"a\":2, \"model\":\"m\" }  ";

#[test]
fn bodies_query_and_headers_cross_as_they_are() {
    let reply = "HTTP/1.1 418 Odd Reason\r\ncontent-type: application/json; charset=utf-8\r\nset-cookie: sid=1\r\nx-request-id: up-1\r\nx-ratelimit-remaining: 7\r\nx-hop: 1\r\nconnection: x-hop\r\nkeep-alive: timeout=5\r\ncontent-length: 29\r\n\r\n{\"choices\" : [],  \"id\":\"\\u00e9\"}";
    let reply = reply
        .replace("content-length: 29", &format!("content-length: {}", reply.split("\r\n\r\n").nth(1).unwrap().len()));
    let upstream = Upstream::fixed(reply.clone());
    let proxy = Proxy::start(&upstream, &["--forward-header", "X-Own"]);
    let head = "POST /v1/chat/completions?api-version=2026-01-01&x=%2F%c3%A9&&flag\ncontent-type: application/json\nauthorization: Bearer sk-test-0123456789abcdefghij\ncookie: a=b\nx-own: kept\nx-other: dropped\nopenai-organization: org\nopenai-beta: v2\nidempotency-key: idem\nx-forwarded-for: 10.0.0.1\naccept-encoding: gzip\nx-toolreplay-trace-id: t\nuser-agent: agent/1";
    let got = proxy.send(head, ODD_BODY);

    let sent = upstream.last();
    assert_eq!(sent.line, "POST /base/v1/chat/completions?api-version=2026-01-01&x=%2F%c3%A9&&flag HTTP/1.1");
    assert_eq!(sent.body, ODD_BODY.as_bytes());
    let mut names: Vec<&str> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "authorization",
            "content-length",
            "content-type",
            "host",
            "idempotency-key",
            "openai-beta",
            "openai-organization",
            "user-agent",
            "x-own"
        ]
    );
    assert_eq!(sent.header("host"), Some(upstream.address.to_string().as_str()));

    assert_eq!(got.status, 418);
    assert_eq!(got.body, reply.split("\r\n\r\n").nth(1).unwrap().as_bytes());
    let mut names: Vec<&str> = got.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "content-length",
            "content-type",
            "x-ratelimit-remaining",
            "x-request-id",
            "x-toolreplay-request-id",
            "x-toolreplay-session-id"
        ]
    );

    let capture = proxy.capture_of(&got);
    assert_eq!(capture.issues(), ["lone_surrogates_replaced", "repeated_json_key"]);
    assert_eq!(capture.start.data["request"]["seed"].to_string(), "123456789012345678901234567890");
    assert_eq!(capture.start.data["query_parameters"], json!({"api-version": "2026-01-01", "x": "/é", "flag": ""}));
    assert_eq!((capture.status().as_str(), capture.error_type()), ("error", "upstream_http_error"));
    assert_eq!(capture.session(), got.header("x-toolreplay-session-id").unwrap());
}

#[test]
fn redirects_come_back_and_nothing_is_sent_twice() {
    for status in
        ["307 Temporary Redirect", "429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"]
    {
        let upstream = Upstream::fixed(format!(
            "HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:1/elsewhere\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n"
        ));
        let proxy = Proxy::start(&upstream, &[]);
        let got = proxy.chat(&json!({"messages": []}));
        assert_eq!(got.status.to_string(), status[..3]);
        assert_eq!(got.header("location"), Some("http://127.0.0.1:1/elsewhere"));
        assert_eq!(upstream.count(), 1);
        proxy.capture_of(&got);
    }
}

#[test]
fn what_is_no_request_is_refused_before_the_upstream() {
    let upstream = Upstream::fixed(json_reply(&json!({})));
    let proxy = Proxy::start(&upstream, &[]);
    for body in [
        "",
        "hello",
        "{\"messages\":[]",
        "[1]",
        "{}",
        "{\"messages\":{}}",
        "{\"messages\":\"x\"}",
        "\u{feff}{\"messages\":[]}",
        "{\"messages\":[]} x",
    ] {
        let got = proxy.send(CHAT, body);
        assert_eq!(got.status, 400, "{body}");
        assert_eq!(got.json()["error"]["type"], "invalid_request_error", "{body}");
        let capture = proxy.capture_of(&got);
        assert_eq!((capture.error_type(), capture.status().as_str()), ("invalid_request", "error"));
    }
    let got = proxy.send("POST /v1/messages\ncontent-type: application/json", "{}");
    assert_eq!(
        (got.status, &got.json()["type"], &got.json()["error"]["type"]),
        (400, &json!("error"), &json!("invalid_request_error"))
    );
    let got = proxy.send(&format!("{CHAT}\nx-toolreplay-trace-id: {}", "x".repeat(129)), "{\"messages\":[]}");
    assert_eq!(got.status, 400);
    assert_eq!(upstream.count(), 0);
}

#[test]
fn too_large_a_request_gets_a_413_and_a_capture() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &["--max-request-bytes", "2000"]);
    let body = |size: usize| format!("{{\"messages\":[],\"x\":\"{}\"}}", "y".repeat(size - 22));
    assert_eq!(proxy.send(CHAT, body(2000)).status, 200);
    let large = body(300_000);
    for got in [proxy.send(CHAT, body(2001)), proxy.send(CHAT, &large), {
        // Without a declared length.
        let head = format!("{CHAT}\ntransfer-encoding: chunked\nx-size: unknown");
        let mut bytes = request(&head, proxy.address, b"");
        bytes.extend(chunked(large.as_bytes().chunks(7000)));
        let mut stream = std::net::TcpStream::connect(proxy.address).unwrap();
        std::io::Write::write_all(&mut stream, &bytes).unwrap();
        read_reply(&mut std::io::BufReader::new(stream))
    }] {
        assert_eq!(got.status, 413);
        assert!(got.json()["error"]["message"].as_str().unwrap().contains("--max-request-bytes"));
        let capture = proxy.capture_of(&got);
        assert_eq!((capture.error_type(), &capture.end.data["http_status"]), ("request_too_large", &json!(413)));
    }
    assert_eq!(upstream.count(), 1);
}

#[test]
fn an_upstream_that_is_not_there_or_silent() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::with(&format!("http://{gone}/v1"), &[], &[]);
    let got = proxy.chat(&json!({"messages": []}));
    assert_eq!(
        (got.status, &got.json()["error"]["code"], &got.json()["error"]["type"]),
        (502, &json!("upstream_unreachable"), &json!("server_error"))
    );
    assert_eq!(proxy.capture_of(&got).error_type(), "upstream_unreachable");
    assert_eq!(proxy.send("GET /v1/models", "").status, 502);

    let upstream = Upstream::start(|_, stream| {
        wait_closed(stream);
    });
    let proxy = Proxy::start(&upstream, &["--timeout", "0.2"]);
    let got = proxy.chat(&json!({"messages": []}));
    assert_eq!((got.status, &got.json()["error"]["code"]), (504, &json!("upstream_timeout")));
    assert_eq!((proxy.capture_of(&got).error_type(), upstream.count()), ("upstream_timeout", 1));
}

#[test]
fn without_a_capture_nothing_is_sent() {
    let upstream = Upstream::fixed(json_reply(&json!({})));
    let proxy = Proxy::start(&upstream, &[]);
    std::fs::remove_dir_all(&proxy.folder).unwrap();
    let got = proxy.chat(&json!({"messages": []}));
    assert_eq!((got.status, &got.json()["error"]["code"]), (503, &json!("capture_unavailable")));
    assert_eq!(upstream.count(), 0);
    eventually("the log tells", || proxy.log().contains("capture cannot be made"));
}

#[test]
fn web_pages_are_refused() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    for headers in [
        "host: evil.example",
        "host: 127.0.0.1.evil.example:80",
        "host: localhost\norigin: http://localhost",
        "origin: null",
        "host: ",
    ] {
        for line in [CHAT, "GET /v1/models", "GET /health", "GET http://evil.example/v1/models"] {
            let got = proxy.send(&format!("{line}\n{headers}"), if line == CHAT { "{\"messages\":[]}" } else { "" });
            assert_eq!(got.status, 403, "{line} {headers}");
        }
    }
    assert_eq!((upstream.count(), proxy.files().len()), (0, 0));
    for host in ["host: localhost:1", "host: [::1]:8787"] {
        assert_eq!(proxy.send(&format!("{CHAT}\n{host}"), "{\"messages\":[]}").status, 200);
    }
}

#[test]
fn other_paths_pass_through_with_a_line_in_the_log() {
    let upstream = Upstream::start(|request, stream| {
        let body = if request.line.starts_with("HEAD") { "" } else { "{\"data\" : []}" };
        let _ = std::io::Write::write_all(
            stream,
            format!("HTTP/1.1 200 OK\r\nx-up: 1\r\nset-cookie: a=b\r\ncontent-length: 13\r\n\r\n{body}").as_bytes(),
        );
    });
    let proxy = Proxy::start(&upstream, &[]);
    for (line, body) in [
        ("GET /v1/models?limit=%35&key=s3cr3t-query-value", ""),
        ("POST /v1/embeddings", "{\"input\":\"x\"}"),
        ("POST /v1/messages/count_tokens?beta=true", "not even JSON"),
        ("DELETE /v1/responses/resp_1", ""),
        ("GET /v1/chat/completions", ""),
    ] {
        let got = proxy.send(&format!("{line}\nx-api-key: k\ncookie: c=d"), body);
        assert_eq!(
            (got.status, got.body.as_slice(), got.header("x-up"), got.header("set-cookie")),
            (200, &b"{\"data\" : []}"[..], Some("1"), None)
        );
        let sent = upstream.last();
        assert_eq!(sent.line, format!("{} HTTP/1.1", line.replace("/v1", "/base/v1")));
        assert_eq!(
            (sent.body.as_slice(), sent.header("x-api-key"), sent.header("cookie")),
            (body.as_bytes(), Some("k"), None)
        );
    }
    let mut stream = std::net::TcpStream::connect(proxy.address).unwrap();
    std::io::Write::write_all(&mut stream, &request("HEAD /v1/models", proxy.address, b"")).unwrap();
    let (status, headers) = read_head(&mut std::io::BufReader::new(stream));
    assert!(status == 200 && headers.contains(&("content-length".to_owned(), "13".to_owned())), "{headers:?}");

    eventually("the log names the paths", || proxy.log().lines().count() == 6);
    assert!(
        proxy.log().contains("passed through, not recorded: DELETE /v1/responses/resp_1 -> 200"),
        "{}",
        proxy.log()
    );
    assert!(!proxy.log().contains("s3cr3t"));
    assert!(proxy.files().is_empty());

    let sent = upstream.count();
    for (line, status) in [
        ("GET /v1/../admin", 400),
        ("GET /v1/%2e%2E/admin", 400),
        ("GET /v1/a/.%2e", 400),
        ("GET /v1/%252e%252e/admin", 400),
        ("GET /v1/..;/admin", 400),
        ("GET /v1/..\\admin", 400),
        ("POST /v1/chat/complet%69ons", 400),
        ("POST /v1/chat/completions/", 400),
        ("POST /v1//chat/completions", 400),
        ("POST /v1/chat%2Fcompletions", 400),
        ("PUT /v1/chat/completions", 400),
        ("POST /v1/other/chat/completions", 400),
        ("TRACE /v1/models", 405),
        ("CONNECT 127.0.0.1:443", 405),
        ("GET /v1/models\nsec-fetch-site: cross-site", 403),
        ("GET /v1/models\nsec-fetch-site: same-site", 403),
        ("GET /v2/models", 404),
        ("GET /", 404),
        ("GET /v1x/models", 404),
        ("GET /v1/responses\nconnection: upgrade\nupgrade: websocket", 426),
    ] {
        assert_eq!(proxy.send(line, "").status, status, "{line}");
    }
    let strict = Proxy::start(&upstream, &["--no-passthrough"]);
    assert_eq!(strict.send("GET /v1/models", "").status, 404);
    assert_eq!(strict.send("GET /health", "").json()["status"], "ok");
    assert_eq!(upstream.count(), sent);
}

#[test]
fn proxy_variables_are_not_read() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let nowhere = "http://127.0.0.1:9";
    let proxy = Proxy::with(
        &upstream.base(),
        &[],
        &[("HTTP_PROXY", nowhere), ("http_proxy", nowhere), ("ALL_PROXY", nowhere), ("HTTPS_PROXY", nowhere)],
    );
    assert_eq!(proxy.chat(&json!({"messages": []})).status, 200);
}

#[test]
fn files_are_private_and_new() {
    use std::os::unix::fs::PermissionsExt;
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    proxy.capture_of(&proxy.chat(&json!({"messages": []})));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&proxy.folder), mode(&proxy.files()[0])), (0o700, 0o600));
}

#[test]
fn wrong_settings_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let good = "http://127.0.0.1:9/v1";
    for flags in [
        vec!["--upstream-base-url", "http://user:hunter2secret@127.0.0.1:9/v1"],
        vec!["--upstream-base-url", "http://127.0.0.1:9/v1?key=hunter2secret"],
        vec!["--upstream-base-url", "http://127.0.0.1:9/v1#hunter2secret"],
        vec!["--upstream-base-url", "ftp://127.0.0.1/v1"],
        vec![],
        vec!["--upstream-base-url", good, "--host", "0.0.0.0"],
        vec!["--upstream-base-url", good, "--max-capture-bytes", "127"],
        vec!["--upstream-base-url", good, "--timeout", "0"],
        vec!["--upstream-base-url", good, "--timeout", "-1"],
        vec!["--upstream-base-url", good, "--port", "70000"],
        vec!["--upstream-base-url", good, "--forward-header", "a b"],
        vec!["--upstream-base-url", good, "--forward-header", "Cookie"],
        vec!["--upstream-base-url", good, "--output-dir", file],
        vec!["--upstream-base-url", good, "--port", &port],
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
            .current_dir(folder.path())
            .args(["trace", "proxy", "--port", "0"])
            .args(&flags)
            .output();
        // The last flag wins only where clap lets it; a repeated one is an error as well.
        let out = out.unwrap();
        let message = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{flags:?} {message}");
        assert!(message.starts_with("error: "), "{message}");
        assert!(!message.contains("hunter2secret") && out.stdout.is_empty(), "{message}");
    }
}
