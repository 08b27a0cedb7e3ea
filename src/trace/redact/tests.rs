use serde_json::json;

use super::*;

fn plain() -> Redactor {
    Redactor::new(["known-literal-value"], ["ticketBody"])
}

fn rule_of(text: &str) -> Option<String> {
    let redacted = plain().text(text).into_owned();
    let at = redacted.find("[REDACTED:")?;
    redacted[at + 10..].split(':').next().map(str::to_owned)
}

#[test]
fn shapes_are_found_in_running_text() {
    let alnum = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2qR5";
    for (rule, secret) in [
        ("openai-key", format!("sk-proj-{alnum}")),
        ("openai-key", format!("sk-{alnum}")),
        ("anthropic-key", format!("sk-ant-api03-{alnum}")),
        ("openrouter-key", format!("sk-or-v1-{alnum}")),
        ("groq-key", format!("gsk_{alnum}")),
        ("hugging-face-token", format!("hf_{alnum}")),
        ("google-key", format!("AIza{alnum}")),
        ("aws-key-id", "AKIAIOSFODNN7EXAMPLE".to_owned()),
        ("github-token", format!("ghp_{alnum}")),
        ("github-token", format!("github_pat_{alnum}")),
        ("slack-token", format!("xoxb-{alnum}")),
        ("npm-token", format!("npm_{alnum}")),
        ("stripe-key", format!("sk_live_{alnum}")),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJ{alnum}.{alnum}")),
        ("authorization", format!("Bearer {alnum}")),
        ("known-secret", "known-literal-value".to_owned()),
        ("known-secret", "known%2Dliteral%2Dvalue".to_owned()),
        ("assigned-secret", format!("OPENAI_API_KEY={alnum}")),
        ("assigned-secret", format!(r#"{{\"password\": \"{alnum}\"}}"#)),
        ("assigned-secret", format!("deploy --auth-token {alnum} now")),
        ("assigned-secret", format!("deploy --token   '{alnum}'")),
        ("assigned-secret", format!("x-auth-token: {alnum}")),
        ("assigned-secret", format!("curl -u admin:{alnum} https://h")),
        ("assigned-secret", format!("curl --user \"admin:{alnum}\" https://h")),
        ("url-secret", "https://h/p?a=1&key=s3cr3tvalue&b=2".to_owned()),
        ("url-secret", "https://h/p?X-Amz-Signature=abcdef012345".to_owned()),
    ] {
        for text in
            [secret.clone(), format!("line\n{secret}\nnext"), format!("(\"{secret}\")"), format!("中{secret} 東")]
        {
            assert_eq!(rule_of(&text).as_deref(), Some(rule), "{text}");
            let redacted = plain().text(&text).into_owned();
            assert!(!redacted.contains(alnum), "{redacted}");
        }
    }
}

#[test]
fn a_private_key_goes_whole_even_when_its_end_is_missing() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nAAAA";
    assert_eq!(plain().text(&format!("{key}\n-----END RSA PRIVATE KEY----- after")).split(']').nth(1), Some(" after"));
    assert!(!plain().text(key).contains("MIIE"));
    assert_eq!(plain().text("-----BEGIN CERTIFICATE-----\nMIIE"), "-----BEGIN CERTIFICATE-----\nMIIE");
}

#[test]
fn what_only_resembles_a_secret_stays() {
    for text in [
        "<task-notification>",
        "claude-sonnet-4-5-20250929",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha512-9fceb02d0ae598e95dc970b74767f19372d61af8ZZZZ==",
        "Bearer token required",
        "password: required",
        "api_key=settings.api_key",
        "api_key = os.environ[\"X\"]",
        "OPENAI_API_KEY=$OPENAI_API_KEY",
        "token=<token>",
        "https://example.com:8080/a@b",
        "risk-management-framework-for-large-organizations",
        "primary_key = user_account_identifier_v2",
        "https://h/list?next_page_token=abcdefghij",
        "basic understanding of the matter",
        "deploy --token required --fast",
        "deploy --password-file /etc/secrets/p4ssw0rd",
        "docker run -u 100000:100000 image",
        "docker exec -u $USER:$GROUPS image",
        "sort -u file:name",
        "one-time-token 12345678",
    ] {
        assert_eq!(plain().text(text), text);
    }
}

#[test]
fn redaction_is_idempotent_and_keeps_equality() {
    let redactor = plain();
    let text = "a sk-proj-aB3dE6gH9jK2mN5pQ8sT1vW4 b sk-proj-aB3dE6gH9jK2mN5pQ8sT1vW4 c sk-proj-ZZ3dE6gH9jK2mN5pQ8sT1vW4 https://u:pässw0rd@h/x?key=abcdefgh password=hunter2hunter2";
    let once = redactor.text(text).into_owned();
    assert_eq!(redactor.text(&once), once);
    let tags: Vec<&str> = once.split("[REDACTED:openai-key:").skip(1).map(|rest| &rest[..4]).collect();
    assert_eq!(tags[0], tags[1]);
    assert_ne!(tags[0], tags[2]);
    assert!(!once.contains("ssw0rd") && !once.contains("hunter2"), "{once}");
    // Another capture has another key.
    let others: Vec<String> = (0..4).map(|_| Redactor::new([""], [""]).mark("r", "x")).collect();
    assert!(others.windows(2).any(|w| w[0] != w[1]));
}

#[test]
fn fields_by_name() {
    let mut value = json!({
        "password": "hunter2", "dbPassword": "x", "X-Api-Key": "y", "pin": 1, "aws_secret_access_key": "z",
        "credentials": {"user": "u", "list": [1, true, null]},
        "ticket_body": "private", "max_tokens": 5, "token": "t", "session_id": "s", "password_policy": "long",
        "prompt_tokens": 3, "signature": "sig",
        "parameters": {"properties": {"password": {"type": "string"}}, "required": ["password"]},
        "arguments": "{\"apiKey\": \"abc\", \"n\": 1}",
        "twice": "{\"inner\": \"{\\\"password\\\": \\\"q\\\"}\"}",
        "known-literal-value": 1, "PassWord": "p", "Token": "abcdefghij0123456789",
        "headers": [{"name": "Authorization", "value": "opaque"}, {"name": "Accept", "value": "text/html"}],
        "logprobs": [{"token": " unbelievably", "logprob": -1.5}],
    });
    plain().value(&mut value);
    let hidden = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("[REDACTED:field:"));
    for name in ["password", "dbPassword", "X-Api-Key", "aws_secret_access_key", "ticket_body"] {
        assert!(hidden(&value[name]), "{name}: {value}");
    }
    assert!(hidden(&value["PassWord"]) && hidden(&value["Token"]) && hidden(&value["headers"][0]["value"]), "{value}");
    assert_eq!(
        (&value["headers"][1]["value"], &value["logprobs"][0]["token"]),
        (&json!("text/html"), &json!(" unbelievably"))
    );
    assert!(hidden(&value["credentials"]["user"]) && hidden(&value["credentials"]["list"][0]));
    assert_eq!(value["credentials"]["list"][1], true);
    for (name, kept) in [
        ("pin", json!(1)),
        ("max_tokens", json!(5)),
        ("token", json!("t")),
        ("session_id", json!("s")),
        ("password_policy", json!("long")),
        ("signature", json!("sig")),
    ] {
        assert_eq!(value[name], kept);
    }
    assert_eq!(value["parameters"], json!({"properties": {"password": {"type": "string"}}, "required": ["password"]}));
    let arguments: Value = serde_json::from_str(value["arguments"].as_str().unwrap()).unwrap();
    assert!(hidden(&arguments["apiKey"]) && arguments["n"] == 1);
    assert!(!value["twice"].as_str().unwrap().contains("\\\"q"), "{value}");
    assert!(!value.to_string().contains("known-literal-value"));
}

/// Names and shapes in arguments that come in pieces, cut anywhere, in each protocol: what is captured of the call and of
/// the reply holds no secret.
#[test]
fn secrets_cut_over_deltas() {
    use crate::trace::protocol::{CHAT_COMPLETIONS, MESSAGES, Protocol, RESPONSES, Reply};
    let secret = "kQ7vZ2mXr9TbW4nYc8HdLp3FsJ6gUaE5oKiV";
    let texts = [
        json!({"password": secret}).to_string(),
        json!({"env": {"AWS_SECRET_ACCESS_KEY": secret}, "n": 1}).to_string(),
        json!({"command": format!("AWS_SECRET_ACCESS_KEY={secret} deploy")}).to_string(),
        json!({"command": format!("curl -H 'Authorization: token {secret}' https://h")}).to_string(),
        json!({"file": json!({"client_secret": secret}).to_string() + "\n" + &json!({"a": 1}).to_string()}).to_string(),
        json!({"text": format!("see {} there", json!({"api_key": secret}))}).to_string(),
        json!({"url": format!("https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{secret}")}).to_string(),
        json!({"xml": format!("<a><password>{secret}</password></a>")}).to_string(),
        json!({"text": format!("glpat-{secret}")}).to_string(),
        // cut off: the arguments never end
        format!("{{\"password\": \"{secret}"),
        // two objects in one text, a line before
        format!("\n{{\"a\": 1}}{{\"password\": \"{secret}\"}}"),
    ];
    let run = |protocol: &dyn Protocol, frames: Vec<Value>| -> Reply {
        let mut stream = protocol.stream(1 << 20);
        frames.iter().for_each(|frame| stream.frame(frame["type"].as_str(), frame.to_string().as_bytes()));
        stream.finish(true)
    };
    for text in &texts {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (left, right) = text.split_at(cut);
            let chat = |id: Option<&str>, part: &str| json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": id, "function": {"name": id.map(|_| "f"), "arguments": part}}]}}]});
            let piece = |part: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}});
            let delta = |part: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": part});
            let replies = [
                run(
                    CHAT_COMPLETIONS,
                    vec![
                        chat(Some("c"), left),
                        chat(None, right),
                        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                    ],
                ),
                run(
                    MESSAGES,
                    vec![
                        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
                        piece(left),
                        piece(right),
                        json!({"type": "content_block_stop", "index": 0}),
                    ],
                ),
                run(
                    RESPONSES,
                    vec![
                        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}}),
                        delta(left),
                        delta(right),
                    ],
                ),
            ];
            for reply in replies {
                let mut kept: Value = reply.calls.iter().map(crate::trace::protocol::ToolCall::to_json).collect();
                kept = json!([kept, reply.response, reply.issues.details()]);
                plain().value(&mut kept);
                assert!(!kept.to_string().contains(secret), "{text} at {cut}: {kept}");
            }
        }
    }
}

#[test]
fn known_secrets_with_quotes_and_letters_beyond_ascii_are_found_in_json_text() {
    let secret = "a\"b\\c-päss-😀";
    let redactor = Redactor::new([secret], [""; 0]);
    let once = serde_json::to_string(&json!({"note": secret})).unwrap();
    let twice = serde_json::to_string(&json!({"inner": once})).unwrap();
    let ascii = r#"{"note": "a\"b\\c-p\u00e4ss-\ud83d\ude00"}"#;
    let ascii_twice = format!("x {}", serde_json::to_string(ascii).unwrap());
    for text in [secret, &once, &twice, ascii, &ascii_twice] {
        let clean = redactor.text(text);
        assert!(clean.contains("[REDACTED:known-secret:") && !clean.contains("ss-"), "{text}: {clean}");
    }
}
