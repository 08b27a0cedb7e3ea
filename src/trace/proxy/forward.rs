//! One request from its head to the head of its reply.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::{Value, json};

use super::capture::{Capture, CaptureEnd, Opening, undecoded};
use super::client::{Later, Waiting};
use super::config::Record;
use super::request_body::{self, BodyError, Passing};
use super::route::{Route, below, route};
use super::shared::Shared;
use super::tap::{Recording, Tap};
use super::upstream::Outgoing;
use super::{encoding, headers};
use crate::trace::protocol::{CHAT_COMPLETIONS, GENERATE_CONTENT, Head, Issues, PROTOCOLS, Protocol};
use crate::trace::{Redactor, clock};

type Answer = Response<Either<Tap, Full<Bytes>>>;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-toolreplay-request-id");
const SESSION_ID: HeaderName = HeaderName::from_static("x-toolreplay-session-id");

/// A refusal of our own.
struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
}

fn refuse(status: StatusCode, code: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { status, code, message: message.into() }
}

/// Never fails: what goes wrong is an answer too.
pub(super) async fn handle(
    shared: Arc<Shared>,
    waiting: &Waiting,
    request: Request<Incoming>,
) -> Result<Answer, std::convert::Infallible> {
    let path = request.uri().path();
    let shape = shape_for(path);
    let answer = match check_origin(&request).and_then(|()| check_method(request.method())) {
        Err(refusal) => Err(refusal),
        Ok(()) => match route(path) {
            Route::Recorded(protocol) if request.method() == Method::POST => {
                return Ok(record(&shared, waiting, protocol, request).await);
            }
            // what a page of an upstream is asked for brings no calls
            Route::Recorded(_) | Route::Alike(_) if !has_body(request.method()) => {
                pass(&shared, waiting, request).await
            }
            Route::Recorded(_) | Route::Alike(_) => Err(refuse(
                StatusCode::BAD_REQUEST,
                "not_recorded",
                "this is like a request that is recorded, and is not one: it would pass unrecorded",
            )),
            Route::Wrong => Err(refuse(StatusCode::BAD_REQUEST, "invalid_path", "the path cannot be sent on")),
            Route::Passed | Route::Unknown => pass(&shared, waiting, request).await,
        },
    };
    Ok(answer.unwrap_or_else(|refusal| own_error(shape, &refusal)))
}

/// Whose error shape fits a path.
fn shape_for(path: &str) -> &'static dyn Protocol {
    if let Route::Recorded(protocol) | Route::Alike(protocol) = route(path) {
        return protocol;
    }
    if path.starts_with("/v1beta/") {
        return GENERATE_CONTENT;
    }
    let starts = |one: &&&dyn Protocol| one.paths().iter().any(|pattern| path.starts_with(&format!("/v1{pattern}/")));
    PROTOCOLS.iter().find(starts).copied().unwrap_or(CHAT_COMPLETIONS)
}

/// Whether a request of this method may ask a model for something.
fn has_body(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS)
}

/// A tunnel would pass everything unseen, and an echo gives back what the client proves itself with.
fn check_method(method: &Method) -> Result<(), Refusal> {
    match *method {
        Method::CONNECT | Method::TRACE => Err(refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_refused",
            format!("this proxy sends no {method} requests on"),
        )),
        _ => Ok(()),
    }
}

/// A web page must not reach the port: it can make a browser send requests, but not without `Origin` or under
/// one of this machine's own names.
fn check_origin<B>(request: &Request<B>) -> Result<(), Refusal> {
    let foreign = |what: &str| {
        Err(refuse(
            StatusCode::FORBIDDEN,
            "forbidden_origin",
            format!("{what}: only programs on this machine may use this proxy"),
        ))
    };
    if request.headers().contains_key("origin") {
        return foreign("the request carries an Origin header");
    }
    // What browsers add to a request that needs no `Origin`; `none` is a person's own doing.
    if request.headers().get_all("sec-fetch-site").into_iter().any(|site| site.as_bytes() != b"none") {
        return foreign("the request comes from a web page, as its Sec-Fetch-Site header says");
    }
    let mut hosts = request.headers().get_all("host").into_iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let target = request.uri().authority().map_or("", |authority| authority.as_str());
    if hosts.next().is_some() || !is_loopback_name(host) || !(target.is_empty() || is_loopback_name(target)) {
        return foreign("the Host header is not a loopback name");
    }
    Ok(())
}

fn is_loopback_name(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    host.eq_ignore_ascii_case("localhost") || matches!(host, "127.0.0.1" | "[::1]")
}

fn own_error(protocol: &'static dyn Protocol, refusal: &Refusal) -> Answer {
    json_answer(refusal.status, &protocol.error(refusal.status.as_u16(), refusal.code, &refusal.message))
}

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Either::Right(Full::from(body.to_string())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Sends on a path without a decoder, unrecorded.
async fn pass(shared: &Shared, waiting: &Waiting, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let path = request.uri().path();
    if path == "/health" && matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(json_answer(
            StatusCode::OK,
            &json!({"status": "ok", "service": "toolreplay trace proxy", "version": env!("CARGO_PKG_VERSION")}),
        ));
    }
    let below = below(path)
        .ok_or_else(|| {
            refuse(
                StatusCode::NOT_FOUND,
                "not_found",
                "paths below /v1 and /v1beta are sent on, others are not known here",
            )
        })?
        .to_owned();
    let prefix = path.strip_suffix(&below).unwrap_or_default().to_owned();
    if request.headers().contains_key("upgrade") {
        return Err(refuse(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade_refused",
            "this proxy records HTTP requests and upgrades no connection",
        ));
    }
    if !shared.config.passthrough {
        return Err(refuse(
            StatusCode::NOT_FOUND,
            "not_recorded",
            "this path is not recorded and --no-passthrough is set",
        ));
    }
    let method = request.method().clone();
    let uri = upstream_uri(shared, &below, request.uri().query())?;
    let (parts, body) = request.into_parts();
    let wait = Later::default();
    let mut silent = None;
    let mut outgoing = Request::new(if body.is_end_stream() {
        wait.get_or_init(|| waiting.begin());
        Either::Left(Full::default())
    } else {
        let (body, told) = Passing::new(body, shared.config.body_timeout, waiting, &wait);
        silent = Some(told);
        Either::Right(body)
    });
    *outgoing.method_mut() = method.clone();
    *outgoing.uri_mut() = uri;
    *outgoing.headers_mut() = headers::request(&parts.headers, &shared.config.forward_headers);
    let mut sent = send(shared, outgoing).await;
    if sent.is_err() && silent.is_some_and(|silent| silent.load(Ordering::Relaxed)) {
        sent = Err(silent_client(shared));
    }
    let status = sent.as_ref().map_or_else(|refusal| refusal.status, Response::status);
    let secrets = headers::secrets(&parts.headers, parts.uri.query(), &shared.config.forward_headers, &shared.names);
    let shown: String =
        Redactor::new(secrets, [""; 0]).text(&below).chars().take(200).flat_map(char::escape_default).collect();
    (shared.log)(&format!("passed through, not recorded: {method} {prefix}{shown} -> {}", status.as_u16()));
    let (mut parts, body) = sent?.into_parts();
    headers::strip_response(&mut parts.headers);
    Ok(Response::from_parts(parts, Either::Left(Tap::new(body, None, Some(wait)))))
}

fn upstream_uri(shared: &Shared, below: &str, query: Option<&str>) -> Result<Uri, Refusal> {
    let wrong = |_| refuse(StatusCode::BAD_REQUEST, "invalid_path", "the path cannot be sent on");
    shared.config.upstream.uri(below, query).map_err(wrong)
}

/// Sends and waits for the head of the reply.
async fn send(shared: &Shared, request: Request<Outgoing>) -> Result<Response<Incoming>, Refusal> {
    match tokio::time::timeout(shared.config.timeout, shared.client.request(request)).await {
        // Nothing was to be upgraded, and what came behind this head would pass unseen.
        Ok(Ok(response)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => Err(refuse(
            StatusCode::BAD_GATEWAY,
            "upstream_upgraded",
            "the upstream answered with another protocol, which this proxy does not pass",
        )),
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => {
            let (code, what) = if error.is_connect() {
                ("upstream_unreachable", "the upstream cannot be reached")
            } else {
                ("upstream_closed", "the upstream gave no reply; nothing was sent again")
            };
            Err(refuse(StatusCode::BAD_GATEWAY, code, format!("{what}: {}", causes(&error))))
        }
        Err(_) => Err(refuse(
            StatusCode::GATEWAY_TIMEOUT,
            "upstream_timeout",
            format!("the upstream sent no reply within {} s (--timeout)", shared.config.timeout.as_secs_f64()),
        )),
    }
}

fn silent_client(shared: &Shared) -> Refusal {
    let seconds = shared.config.body_timeout.as_secs_f64();
    let message = format!("nothing more of the request body came for {seconds} s (--body-timeout)");
    refuse(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Sends on a request of a known protocol, with its capture.
async fn record(
    shared: &Arc<Shared>,
    waiting: &Waiting,
    protocol: &'static dyn Protocol,
    request: Request<Incoming>,
) -> Answer {
    let (parts, body) = request.into_parts();
    let id: Arc<str> = clock::ordered_id().into();
    let query = parts.uri.query();
    // as the client wrote it: what a path names is its own
    let below = below(parts.uri.path()).unwrap_or_default();
    let scope = shared.associations.scope(&parts.headers);

    let mut issues = Issues::default();
    let mut refusal = None;
    let body = match request_body::read(body, shared.config.max_request_bytes, shared.config.body_timeout).await {
        Ok(body) => body,
        Err(BodyError::Silent) => return own_error(protocol, &silent_client(shared)),
        Err(BodyError::Gone) => {
            return own_error(
                protocol,
                &refuse(StatusCode::BAD_REQUEST, "incomplete_request", "the request body ended early"),
            );
        }
        Err(BodyError::TooLarge) => {
            let message = format!(
                "the request body is larger than {} bytes (--max-request-bytes)",
                shared.config.max_request_bytes
            );
            refusal = Some(refuse(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message));
            Bytes::new()
        }
    };
    // From here on a client that closes its half may wait for its reply.
    let wait = Later::default();
    wait.get_or_init(|| waiting.begin());
    let head = match &refusal {
        Some(_) => Head::default(),
        None => inspect(shared, protocol, &parts.headers, &body, &mut issues).unwrap_or_else(|why| {
            refusal = Some(refuse(StatusCode::BAD_REQUEST, "invalid_request", why));
            Head::default()
        }),
    };
    let uri = upstream_uri(shared, below, query).map_err(|why| refusal.get_or_insert(why).status).ok();
    let association = match shared.associations.resolve(scope, protocol.name(), &parts.headers, &head) {
        Ok(association) => association,
        Err(why) => return own_error(protocol, &refuse(StatusCode::BAD_REQUEST, "invalid_trace_id", why)),
    };
    let session_id = association.session_id.clone();
    let named = |mut answer: Answer| {
        for (name, value) in [(REQUEST_ID, &id), (SESSION_ID, &session_id)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                answer.headers_mut().insert(name, value);
            }
        }
        answer
    };
    let opening = Opening {
        id: id.clone(),
        protocol,
        headers: &parts.headers,
        query,
        association,
        head,
        body: body.clone(),
        scope,
        issues,
    };
    // rather late than without a capture
    shared.writer.room().await;
    let best_effort = shared.config.record == Record::BestEffort;
    let capture = match Capture::open(shared, opening).await {
        Ok(capture) => Some(capture),
        Err(error) if best_effort => {
            (shared.log)(&format!("request {id} sent on UNRECORDED: its capture cannot be made: {error}"));
            None
        }
        Err(error) => {
            (shared.log)(&format!("request {id} refused: its capture cannot be made: {error}"));
            return named(own_error(
                protocol,
                &refuse(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "capture_unavailable",
                    format!(
                        "the capture cannot be made, and the request was not sent: {error} (--record best-effort sends it all the same)"
                    ),
                ),
            ));
        }
    };
    // Should the client leave while the upstream is silent, this future is dropped, and with it the guard.
    let mut guard = Guard(capture);
    let uri = match (refusal, uri) {
        (None, Some(uri)) => uri,
        (refusal, _) => {
            let refusal = refusal
                .unwrap_or_else(|| refuse(StatusCode::BAD_REQUEST, "invalid_path", "the path cannot be sent on"));
            guard.finish(CaptureEnd::error(Some(refusal.status.as_u16()), refusal.code));
            return named(own_error(protocol, &refusal));
        }
    };
    let mut outgoing = Request::new(Either::Left(Full::new(body)));
    *outgoing.method_mut() = Method::POST;
    *outgoing.uri_mut() = uri;
    *outgoing.headers_mut() = headers::request(&parts.headers, &shared.config.forward_headers);
    drop(parts);
    match send(shared, outgoing).await {
        Ok(response) => {
            let (mut parts, body) = response.into_parts();
            headers::strip_response(&mut parts.headers);
            let recording =
                guard.0.take().map(|capture| Recording::new(capture, parts.status.as_u16(), &parts.headers));
            named(Response::from_parts(parts, Either::Left(Tap::new(body, recording, Some(wait)))))
        }
        Err(refusal) => {
            (shared.log)(&format!("request {id}: {} ({})", refusal.code, refusal.status.as_u16()));
            guard.finish(CaptureEnd::error(Some(refusal.status.as_u16()), refusal.code));
            named(own_error(protocol, &refusal))
        }
    }
}

/// Reads the head of a request's copy. An error says why the request is refused.
fn inspect(
    shared: &Shared,
    protocol: &'static dyn Protocol,
    headers: &hyper::HeaderMap,
    body: &Bytes,
    issues: &mut Issues,
) -> Result<Head, &'static str> {
    let encoding = headers.get("content-encoding").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if encoding::is_plain(encoding) {
        return protocol.inspect(body);
    }
    match encoding::decode(encoding, body, shared.config.max_request_bytes) {
        Ok(body) => protocol.inspect(&body),
        // The upstream may know better than this copy.
        Err(error) => {
            issues.add(undecoded(
                error,
                ["request_encoding_unknown", "request_not_decoded", "request_too_large_to_decode"],
            ));
            Ok(Head::default())
        }
    }
}

struct Guard(Option<Capture>);

impl Guard {
    fn finish(&mut self, outcome: CaptureEnd) {
        if let Some(capture) = self.0.take() {
            capture.finish(outcome);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(capture) = self.0.take() {
            let stopping = capture.shared().stopping.load(Ordering::Relaxed);
            capture
                .finish(CaptureEnd::cancelled(None, if stopping { "proxy_shutdown" } else { "client_disconnected" }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names() {
        for good in ["127.0.0.1", "127.0.0.1:8787", "localhost:1", "LOCALHOST", "[::1]:8787", "[::1]"] {
            assert!(is_loopback_name(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "127.0.0.1:80:80",
            "[::1]x",
            "0.0.0.0",
            "user@localhost",
        ] {
            assert!(!is_loopback_name(bad), "{bad}");
        }
    }
}
