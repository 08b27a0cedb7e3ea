//! A reply's body on its way to the client, and the copy that is read as it passes.
//!
//! The body hands on exactly what it gets, when it gets it; nothing is fetched before the client asks for more.
//! The copy is read before a chunk is handed on, so that whoever has read a reply's end finds its calls
//! registered. Dropping the body, at whatever point, closes the upstream connection and finishes the capture.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::capture::{Capture, Outcome, undecoded};
use super::encoding::{self, Inflater, Undecoded};
use super::writer::Charge;
use crate::trace::event::Status;
use crate::trace::protocol::{Issues, Reply, ReplyStream, body, sse};

/// The body.
pub(super) struct Tap {
    inner: Incoming,
    recording: Option<Recording>,
}

impl Tap {
    pub(super) fn new(inner: Incoming, recording: Option<Recording>) -> Self {
        Self { inner, recording }
    }

    fn finish(&mut self, end: End) {
        if let Some(recording) = self.recording.take() {
            recording.finish(end);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The upstream ended the body.
    Clean,
    /// The upstream broke off.
    Aborted,
    /// Nobody wants the rest.
    Dropped,
}

impl Body for Tap {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.finish(End::Clean),
            Poll::Ready(Some(Err(_))) => self.finish(End::Aborted),
            Poll::Ready(Some(Ok(frame))) => {
                let last = self.inner.is_end_stream();
                let ended = match (self.recording.as_mut(), frame.data_ref()) {
                    (Some(recording), Some(data)) => recording.take(data),
                    _ => false,
                };
                if last || ended {
                    self.finish(End::Clean);
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let end = if self.inner.is_end_stream() { End::Clean } else { End::Dropped };
        self.finish(end);
    }
}

/// The copy of one reply.
pub(super) struct Recording {
    capture: Capture,
    status: u16,
    charge: Charge,
    issues: Issues,
    mode: Mode,
}

enum Mode {
    Stream {
        parser: sse::Parser,
        decoder: Box<dyn ReplyStream>,
        inflater: Option<Inflater>,
        invalid: bool,
    },
    Whole {
        bytes: Vec<u8>,
        encoding: String,
        is_stream: bool,
    },
    /// The copy was given up.
    Lost,
}

impl Recording {
    /// Begins the copy of a reply with this status, content type and encoding.
    pub(super) fn new(mut capture: Capture, status: u16, asked_for_stream: bool, headers: &hyper::HeaderMap) -> Self {
        capture.sent();
        let text = |name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
        };
        let (kind, encoding) = (text("content-type"), text("content-encoding"));
        let limit = capture.byte_limit();
        // The type decides; a reply without one is what was asked for.
        let is_stream = kind.starts_with("text/event-stream") || (kind.is_empty() && asked_for_stream && status < 300);
        let inflater = if encoding::is_plain(&encoding) { Some(None) } else { Inflater::new(&encoding).map(Some) };
        let mode = match inflater {
            Some(inflater) if is_stream => Mode::Stream {
                parser: sse::Parser::new(limit),
                decoder: capture.protocol.stream(limit),
                inflater,
                invalid: false,
            },
            _ => Mode::Whole { bytes: Vec::new(), encoding, is_stream },
        };
        let charge = capture.new_charge();
        Self { capture, status, charge, issues: Issues::default(), mode }
    }

    /// Reads one chunk. Returns true once the protocol's end mark has passed.
    fn take(&mut self, data: &[u8]) -> bool {
        let limit = self.capture.byte_limit();
        let mut lost = None;
        let mut ended = false;
        match &mut self.mode {
            Mode::Lost => {}
            Mode::Whole { bytes, .. } => {
                if bytes.len() + data.len() > limit {
                    lost = Some("capture_byte_limit");
                } else if self.charge.hold(bytes.len() + data.len()) {
                    bytes.extend_from_slice(data);
                } else {
                    lost = Some("capture_overloaded");
                }
            }
            Mode::Stream { parser, decoder, inflater, invalid } => {
                let mut feed = |bytes: &[u8]| parser.feed(bytes, &mut |frame| decoder.frame(frame.event, frame.data));
                match inflater {
                    None => feed(data),
                    Some(_) if *invalid => {}
                    Some(inflater) => {
                        if inflater.feed(data, &mut feed).is_err() {
                            *invalid = true;
                            self.issues.add("response_not_decoded");
                        }
                    }
                }
                ended = decoder.ended();
                if !self.charge.hold(parser.held() + decoder.held()) {
                    lost = Some("capture_overloaded");
                }
            }
        }
        if let Some(issue) = lost {
            self.issues.add(issue);
            self.mode = Mode::Lost;
            self.charge.hold(0);
        }
        ended
    }

    fn finish(self, end: End) {
        let Self { capture, status, charge, issues, mode } = self;
        let shutdown = end == End::Dropped && capture.shared().stopping.load(Ordering::Relaxed);
        let lost = matches!(mode, Mode::Lost);
        let (mut reply, whole) = match mode {
            Mode::Lost => (Reply { complete: end == End::Clean, ..Reply::default() }, false),
            Mode::Stream { parser, decoder, .. } => {
                let ended = decoder.ended();
                let mut reply = decoder.finish(end == End::Clean);
                if parser.is_inside_frame() && !ended {
                    reply.issues.add("unterminated_sse_frame");
                }
                if parser.oversized() > 0 {
                    reply.issues.add("capture_byte_limit");
                    // A frame is missing, and with it perhaps part of a call.
                    reply.calls.iter_mut().for_each(|call| call.complete = false);
                }
                (reply, ended || end == End::Clean)
            }
            Mode::Whole { bytes, encoding, is_stream } => {
                (read_whole(&capture, &bytes, &encoding, is_stream), end == End::Clean)
            }
        };
        reply.issues.merge(issues);
        if lost || reply.issues.has("capture_byte_limit") {
            // what the copy lacks may be calls, which is more than a copy that is shown shorter
            reply.issues.add("tool_calls_incomplete");
        }
        if shutdown {
            reply.issues.add("proxy_shutdown");
        }
        if !whole {
            reply.calls.iter_mut().for_each(|call| call.complete = false);
        }
        let dropped = end == End::Dropped && (lost || !whole);
        let (status_word, error_type) = if dropped {
            (Status::Cancelled, Some(if shutdown { "proxy_shutdown" } else { "client_disconnected" }.to_owned()))
        } else if end == End::Aborted && !whole {
            reply.issues.add("upstream_aborted");
            (Status::Error, Some("upstream_aborted".to_owned()))
        } else if let Some(error) = reply.error.clone() {
            (Status::Error, Some(error))
        } else if !(200..400).contains(&status) {
            (Status::Error, Some("upstream_http_error".to_owned()))
        } else if !reply.complete {
            (Status::Error, Some("incomplete_response".to_owned()))
        } else {
            (Status::Ok, None)
        };
        if (200..300).contains(&status) && !dropped {
            let Capture { scope, protocol, seen, .. } = &capture;
            let id = if reply.complete { reply.id.as_deref() } else { None };
            capture.shared().associations.register(*scope, protocol.name(), seen, id, &reply.calls);
        }
        capture.finish(Outcome {
            http_status: Some(status),
            status: status_word,
            error_type,
            reply,
            charge: Some(charge),
        });
    }
}

/// Reads a reply that came as one body.
fn read_whole(capture: &Capture, bytes: &[u8], encoding: &str, is_stream: bool) -> Reply {
    let mut issues = Issues::default();
    let decoded;
    let text = if encoding::is_plain(encoding) {
        bytes
    } else {
        match encoding::decode(encoding, bytes, capture.byte_limit()) {
            Ok(body) => {
                decoded = body;
                &decoded
            }
            Err(error) => {
                let complete = error == Undecoded::TooLarge;
                issues
                    .add(undecoded(error, ["response_encoding_unknown", "response_not_decoded", "capture_byte_limit"]));
                return Reply { issues, complete, ..Reply::default() };
            }
        }
    };
    if is_stream {
        let mut parser = sse::Parser::new(capture.byte_limit());
        let mut decoder = capture.protocol.stream(capture.byte_limit());
        parser.feed(text, &mut |frame| decoder.frame(frame.event, frame.data));
        return decoder.finish(true);
    }
    match body::parse(text) {
        Ok(parsed) => {
            let mut reply = capture.protocol.reply(parsed.value);
            parsed.issues.into_iter().for_each(|issue| reply.issues.add(issue));
            reply
        }
        Err(_) => {
            issues.add("response_not_json");
            let text = String::from_utf8_lossy(text).into_owned();
            Reply { response: text.into(), issues, complete: false, ..Reply::default() }
        }
    }
}
