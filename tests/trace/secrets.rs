//! No secret in any capture, log line or error.

use std::io::Write;

use serde_json::json;

use super::support::*;

#[test]
fn secrets_reach_neither_captures_nor_the_log() {
    let header = "zq-header-credential-1";
    let planted = [
        header,
        "zq-cookie-credential",
        "zq-query-credential",
        "zq-forwarded-value",
        "zq-argument-password",
        "zq-body-field",
        "zq-own-field",
        "ghp_zqAbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        "sk-proj-zqAbCdEfGhIjKlMnOpQrStUv",
        "zqpassw0rdInUrl",
        "zqbasicpassword",
    ];
    let upstream = Upstream::start(move |request, stream| {
        // An upstream that repeats what it was sent, as real ones do in errors, and cuts a key over two deltas.
        let echo = request.header("authorization").unwrap_or_default();
        let arguments =
            json!({"password": "zq-argument-password", "note": "see sk-proj-zqAbCdEfGhIjKlMnOpQrStUv"}).to_string();
        let (left, right) = arguments.split_at(arguments.find("zqAbCd").unwrap() + 3);
        let call = |id: Option<&str>, part: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": id.map(|_| "login"), "arguments": part}}]});
        let body = match request.line.as_str() {
            line if line.contains("stream=1") => [
                frame(&json!({"content": format!("Incorrect API key provided: {} and {}", echo.get(..12).unwrap_or_default(), &echo)}), None),
                frame(&call(Some("c"), left), None),
                frame(&call(None, right), Some("tool_calls")),
                "data: [DONE]\n\n".to_owned(),
            ]
            .concat(),
            _ => String::new(),
        };
        if body.is_empty() {
            let text =
                json!({"error": {"message": format!("Incorrect API key provided: {echo}"), "type": echo}}).to_string();
            let _ = stream.write_all(
                format!(
                    "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
                    text.len()
                )
                .as_bytes(),
            );
        } else {
            let _ = stream.write_all(&sse(body.as_bytes()));
        }
    });
    let proxy = Proxy::start(&upstream, &["--forward-header", "x-tenant", "--redact-field", "ticketBody"]);
    let body = json!({
        "stream": true,
        "user": header,
        "api_key": "zq-body-field",
        "ticket_body": {"text": "zq-own-field"},
        "messages": [
            {"role": "user", "content": "token\nghp_zqAbCdEfGhIjKlMnOpQrStUvWxYz0123456789 and https://u:zqpassw0rdInUrl@h/ and zq-cookie-credential zq%2Dquery%2Dcredential zq-forwarded-value"},
            {"role": "assistant", "tool_calls": [{"id": header, "function": {"name": header, "arguments": "{\"password\":\"zq-argument-password\"}"}}]},
            {"role": "tool", "tool_call_id": header, "content": "{\"password\": \"zq-argument-password\", \"text\": \"zq-query-credential\"}"},
        ],
    });
    for (line, query) in
        [("stream=1", "&key=zq-query-credential&x=zq-header-credential-1"), ("plain=1", "&sig=zq-query-credential")]
    {
        for auth in [
            format!("authorization: Bearer {header}"),
            format!("x-api-key: {header}"),
            format!("api-key: {header}\nauthorization: Basic dTp6cWJhc2ljcGFzc3dvcmQ="),
        ] {
            let head = format!(
                "POST /v1/chat/completions?{line}{query}\n{auth}\ncookie: s=zq-cookie-credential\nx-tenant: zq-forwarded-value"
            );
            let got = proxy.send(&head, body.to_string());
            let capture = proxy.capture_of(&got);
            assert!(capture.text.contains("[REDACTED:"), "{}", capture.text);
            // What was forwarded is whole.
            assert_eq!(upstream.last().body, body.to_string().as_bytes());
        }
    }
    // Passed through and refused requests, too.
    let gone =
        Proxy::with("http://127.0.0.1:9/v1", &["--forward-header", "x-tenant", "--redact-field", "ticketBody"], &[]);
    for proxy in [&proxy, &gone] {
        let head = format!(
            "?key=zq-query-credential\nauthorization: Bearer {header}\ncookie: s=zq-cookie-credential\nx-tenant: zq-forwarded-value"
        );
        proxy.send(&format!("GET /v1/models/{header}{head}"), "");
        proxy.send(&format!("POST /v1/chat/completions{head}"), format!("not json {header}"));
        proxy.send(&format!("POST /v1/chat/completions{head}"), body.to_string());
    }
    for proxy in [&proxy, &gone] {
        eventually("all captures are finished", || {
            texts(&proxy.folder).values().all(|text| text.contains("capture_summary"))
        });
        let mut all = texts(&proxy.folder);
        assert!(all.len() >= 2);
        all.insert("log".to_owned(), proxy.log());
        for (name, text) in &all {
            for secret in planted {
                assert!(!text.contains(secret), "{secret} in {name}: {text}");
            }
        }
        assert!(proxy.log().contains("/v1/models/[REDACTED:"));
    }
}

#[test]
fn equal_secrets_stay_equal_within_a_capture() {
    let upstream = Upstream::fixed(json_reply(&json!({"choices": []})));
    let proxy = Proxy::start(&upstream, &[]);
    let body = json!({"messages": [{"role": "user", "content": [
        {"password": "first-secret"}, {"password": "first-secret"}, {"password": "second-secret"},
    ]}]});
    let marks = |capture: &Captured| -> Vec<String> {
        let list = capture.start.data["request"]["messages"][0]["content"].as_array().unwrap().clone();
        list.iter().map(|item| item["password"].as_str().unwrap().to_owned()).collect()
    };
    let one = marks(&proxy.capture_of(&proxy.chat(&body)));
    assert!(one[0] == one[1] && one[0] != one[2] && one[0].starts_with("[REDACTED:field:"));
    let others: Vec<_> = (0..3).map(|_| marks(&proxy.capture_of(&proxy.chat(&body)))).collect();
    assert!(others.iter().any(|other| other[0] != one[0]), "the key must not outlive its capture");
}
