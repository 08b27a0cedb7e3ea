//! Which headers cross, and which of their values are secrets.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::secrets;
use crate::trace::Redactor;

/// Request headers that are sent on. Everything else stays here: no cookies, no forwarding headers, nothing that
/// names this machine.
const REQUEST: &[&str] = &[
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "api-key",
    "authorization",
    "content-encoding",
    "content-type",
    "http-referer",
    "idempotency-key",
    "openai-beta",
    "openai-organization",
    "openai-project",
    "session-id",
    "session_id",
    "thread-id",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-api-key",
    "x-claude-code-session-id",
    "x-client-request-id",
    "x-goog-api-client",
    "x-goog-api-key",
    "x-goog-user-project",
    "x-session-affinity",
    "x-session-id",
    "x-title",
];

/// Headers that name this proxy's sessions; consumed here.
pub(super) const TRACE_ID: [&str; 2] = ["x-toolreplay-trace-id", "x-attacker-trace-id"];

/// Session headers that agents send of their own accord, the most specific first.
pub(super) const AGENT_SESSION: &[&str] = &[
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
    "x-dynamo-session-id",
];

/// What a client proves itself with.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "api-key", "x-goog-api-key"];

const HOP_BY_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn is_never_forwarded(name: &HeaderName) -> bool {
    let name = name.as_str();
    HOP_BY_HOP.contains(&name)
        || TRACE_ID.contains(&name)
        || matches!(name, "cookie" | "host" | "content-length" | "origin" | "expect")
}

/// The headers for the upstream.
pub(super) fn request(headers: &HeaderMap, also: &[HeaderName]) -> HeaderMap {
    let dropped = named_by_connection(headers);
    let mut out = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let allowed = REQUEST.contains(&name.as_str()) || also.contains(name);
        if allowed && !dropped.iter().any(|other| other == name.as_str()) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

/// Takes out of a reply's headers what belongs to the upstream's connection, and cookies.
pub(super) fn strip_response(headers: &mut HeaderMap) {
    if headers.contains_key("transfer-encoding") {
        // The coding frames the body; a length beside it is wrong, and would cut what is sent on.
        headers.remove("content-length");
    }
    for name in named_by_connection(headers) {
        headers.remove(name);
    }
    for name in HOP_BY_HOP.iter().chain(&["set-cookie", "set-cookie2"]) {
        headers.remove(*name);
    }
}

fn named_by_connection(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all("connection").into_iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase());
    // A connection option must not make a reply lose what frames it.
    names.filter(|name| !matches!(name.as_str(), "" | "content-length" | "content-type" | "content-encoding")).collect()
}

/// What tells two clients apart: credentials, organisation and project, each with its name and length.
pub(super) fn scope_parts(headers: &HeaderMap) -> Vec<u8> {
    let mut parts = Vec::new();
    for name in CREDENTIALS.iter().chain(&["openai-organization", "openai-project"]) {
        for value in headers.get_all(*name) {
            for part in [name.as_bytes(), value.as_bytes()] {
                parts.extend_from_slice(&(part.len() as u64).to_le_bytes());
                parts.extend_from_slice(part);
            }
        }
    }
    parts
}

/// Every value of the request's head that must not be found in a capture.
pub(super) fn secrets(headers: &HeaderMap, query: Option<&str>, also: &[HeaderName], names: &Redactor) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in headers {
        let text = || String::from_utf8_lossy(value.as_bytes()).into_owned();
        match name.as_str() {
            "authorization" | "proxy-authorization" => credential(&text(), &mut secrets),
            "cookie" => {
                secrets.extend(text().split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned())))
            }
            other if CREDENTIALS.contains(&other) || names.is_secret_field(other) || also.contains(name) => {
                credential(&text(), &mut secrets)
            }
            _ => {}
        }
    }
    for (name, value) in parameters(query.unwrap_or_default()) {
        if names.is_secret_parameter(&name) {
            secrets.push(value);
        }
    }
    secrets
}

fn credential(value: &str, secrets: &mut Vec<String>) {
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
            secrets.push(token.trim().to_owned());
            if scheme.eq_ignore_ascii_case("basic")
                && let Some(decoded) =
                    secrets::base64(token.trim().as_bytes()).and_then(|text| String::from_utf8(text).ok())
                && let Some((_, password)) = decoded.split_once(':')
            {
                secrets.push(password.to_owned());
            }
        }
        _ => secrets.push(value.trim().to_owned()),
    }
}

/// The parameters of a query, decoded.
pub(super) fn parameters(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let decode =
        |text: &str| percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    query.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

/// A header value as text, if it is 1 to `longest` visible characters.
pub(super) fn label(value: &HeaderValue, longest: usize) -> Option<&str> {
    let text = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    let length = text.chars().count();
    (length >= 1 && length <= longest && !text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_listed_request_headers_cross() {
        let headers = map(&[
            ("authorization", "Bearer x"),
            ("cookie", "a=b"),
            ("x-forwarded-for", "10.0.0.1"),
            ("anthropic-beta", "b"),
            ("x-own", "1"),
            ("x-toolreplay-trace-id", "t"),
            ("connection", "close, OpenAI-Beta"),
            ("openai-beta", "assistants"),
            ("accept-encoding", "gzip"),
        ]);
        let mut names: Vec<String> =
            request(&headers, &[HeaderName::from_static("x-own")]).keys().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["anthropic-beta", "authorization", "x-own"]);
    }

    #[test]
    fn responses_lose_only_connection_headers_and_cookies() {
        let mut headers = map(&[
            ("set-cookie", "a"),
            ("x-request-id", "1"),
            ("connection", "x-hop, content-length"),
            ("x-hop", "1"),
            ("content-length", "3"),
            ("retry-after-ms", "5"),
            ("transfer-encoding", "chunked"),
            ("keep-alive", "timeout=5"),
            ("x-accel-buffering", "no"),
        ]);
        let mut whole = headers.clone();
        strip_response(&mut headers);
        let mut names: Vec<String> = headers.keys().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["retry-after-ms", "x-accel-buffering", "x-request-id"]);
        whole.remove("transfer-encoding");
        strip_response(&mut whole);
        assert!(whole.contains_key("content-length"));
    }

    #[test]
    fn secrets_of_a_request_head() {
        let headers = map(&[
            ("authorization", "Basic dXNlcjpwYXNzd29yZDEyMw=="),
            ("x-api-key", "key-value"),
            ("cookie", "sid=cookie-value; b=c"),
            ("x-portkey-api-key", "portkey"),
            ("user-agent", "agent"),
            ("x-mine", "mine"),
        ]);
        let found = secrets(
            &headers,
            Some("api-version=2&key=query%2Dvalue&sig=s"),
            &[HeaderName::from_static("x-mine")],
            &Redactor::new([""], [""]),
        );
        for secret in [
            "dXNlcjpwYXNzd29yZDEyMw==",
            "password123",
            "key-value",
            "cookie-value",
            "portkey",
            "mine",
            "query-value",
            "s",
        ] {
            assert!(found.iter().any(|one| one == secret), "{secret}");
        }
        assert!(!found.iter().any(|one| one == "agent" || one == "2"));
    }
}
