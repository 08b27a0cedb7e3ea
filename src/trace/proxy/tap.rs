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

use super::capture::{Capture, CaptureEnd};
use super::client::Later;
use super::encoding::{self, Inflater, Undecoded};
use super::route::{Route, route};
use super::writer::Charge;
use crate::trace::event::Status;
use crate::trace::protocol::{Issues, Reply, ReplyStream, ToolCall, lenient, sse};

/// The body.
pub(super) struct Tap {
    inner: Incoming,
    recording: Option<Recording>,
    /// The client waits for this.
    _wait: Option<Later>,
}

impl Tap {
    pub(super) fn new(inner: Incoming, recording: Option<Recording>, wait: Option<Later>) -> Self {
        Self { inner, recording, _wait: wait }
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
                if let (Some(recording), Some(data)) = (self.recording.as_mut(), frame.data_ref()) {
                    recording.take(data);
                }
                // Not at the protocol's end mark: what comes behind it reaches the client too.
                if last {
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
    coding: Coding,
    body: Reading,
}

/// How the body is compressed.
enum Coding {
    Plain,
    /// The first bytes of a stream that is said to be compressed.
    First {
        encoding: String,
        bytes: Vec<u8>,
    },
    Stream(Inflater),
    /// Decoded when all is there.
    Late(String),
    /// It could not be read on.
    Broken,
}

/// What has been read of the body, decompressed.
struct Reading {
    state: State,
    label: Label,
    /// What of the reply is known to those that later requests may refer to.
    registered: Vec<ToolCall>,
    settled: bool,
    ended: bool,
}

/// What the reply says that it is. Clients look at the body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Stream,
    Other,
    Missing,
}

enum State {
    /// Too little to tell what it is.
    Begin(Vec<u8>),
    Stream {
        parser: sse::Parser,
        decoder: Box<dyn ReplyStream>,
    },
    Whole(Vec<u8>),
    /// The copy was given up.
    Lost,
}

/// What a body begins as, if that can be told; `all` says that no more will come.
fn sniff(bytes: &[u8], label: Label, all: bool) -> Option<bool> {
    const FIELDS: [&[u8]; 6] = [b"data:", b"event:", b"id:", b"retry:", b"error:", b":"];
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let (&first, _) = text.split_first()?;
    let wide = bytes.len() >= 2 && (bytes[0] >= 0xfe || bytes.iter().take(4).any(|byte| *byte == 0));
    if wide || matches!(first, b'{' | b'[') {
        return Some(false);
    }
    if label == Label::Stream || FIELDS.iter().any(|field| text.starts_with(field)) {
        return Some(true);
    }
    let may_become = FIELDS.iter().any(|field| field.starts_with(text)) || (first == 0xef && text.len() < 3);
    (all || !may_become).then_some(false)
}

impl Recording {
    /// Begins the copy of a reply with this status, content type and encoding.
    pub(super) fn new(mut capture: Capture, status: u16, headers: &hyper::HeaderMap) -> Self {
        capture.sent();
        let text = |name: &str| {
            let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
            values.collect::<Vec<_>>().join(",").to_ascii_lowercase()
        };
        let (kind, encoding) = (text("content-type"), text("content-encoding"));
        let mut issues = Issues::default();
        let label = match kind.trim() {
            "" => Label::Missing,
            kind if kind.starts_with("text/event-stream") => Label::Stream,
            _ => Label::Other,
        };
        let coding = if encoding::is_plain(&encoding) {
            Coding::Plain
        } else if Inflater::knows(&encoding) {
            Coding::First { encoding, bytes: Vec::new() }
        } else {
            Coding::Late(encoding)
        };
        if label == Label::Missing && status != 204 {
            issues.add("content_type_missing");
        }
        if let Some(location) = headers.get("location").filter(|_| (300..400).contains(&status)) {
            let recorded = location.to_str().is_ok_and(|location| {
                let path = location.split(['?', '#']).next().unwrap_or_default();
                !path.starts_with("//") && matches!(route(path), Route::Recorded(_))
            });
            // A client that follows it elsewhere gets a reply that is in no capture.
            issues.add(if recorded { "redirected" } else { "redirected_elsewhere" });
        }
        let charge = capture.new_charge();
        let state = State::Begin(Vec::new());
        let body = Reading { state, label, registered: Vec::new(), settled: false, ended: false };
        Self { capture, status, charge, issues, coding, body }
    }

    /// Reads one chunk.
    fn take(&mut self, data: &[u8]) {
        let Self { capture, issues, coding, body, charge, .. } = self;
        if matches!(body.state, State::Lost) {
            return;
        }
        if let Coding::First { encoding, bytes } = coding {
            bytes.extend_from_slice(data);
            if bytes.len() < 2 {
                return;
            }
            let bytes = std::mem::take(bytes);
            *coding = match Inflater::new(encoding, &bytes) {
                Some(inflater) => Coding::Stream(inflater),
                None => {
                    // There are clients that take it as it is.
                    issues.add("response_encoding_ignored");
                    Coding::Plain
                }
            };
            return self.take(&bytes);
        }
        let mut lost = None;
        match coding {
            Coding::Plain | Coding::Late(_) => lost = body.feed(data, capture, matches!(coding, Coding::Late(_))),
            Coding::Stream(inflater) => {
                let result = inflater.feed(data, &mut |piece| {
                    if lost.is_none() {
                        lost = body.feed(piece, capture, false);
                    }
                });
                if result.is_err() {
                    issues.add("response_not_decoded");
                    *coding = Coding::Broken;
                }
            }
            Coding::First { .. } | Coding::Broken => {}
        }
        if lost.is_none() && !charge.hold(body.held()) {
            lost = Some("capture_overloaded");
        }
        if let Some(issue) = lost {
            issues.add(issue);
            body.state = State::Lost;
            charge.hold(0);
        }
        if (200..300).contains(&self.status) {
            self.body.register(&self.capture);
        }
    }

    fn finish(mut self, end: End) {
        let clean = end == End::Clean;
        let shutdown = end == End::Dropped && self.capture.shared().stopping.load(Ordering::Relaxed);
        if let Coding::First { bytes, .. } = &mut self.coding {
            let bytes = std::mem::take(bytes);
            self.coding = Coding::Plain;
            self.take(&bytes);
        }
        let Self { capture, status, charge, mut issues, mut coding, body } = self;
        let Reading { state, label, mut registered, settled, ended } = body;
        let lost = matches!(state, State::Lost);
        let cut = if let Coding::Stream(inflater) = &mut coding { clean && !inflater.is_at_end() } else { false };
        let (mut reply, whole) = match state {
            State::Lost => (Reply { complete: clean, ..Reply::default() }, false),
            State::Stream { parser, decoder } => {
                if label == Label::Other {
                    issues.add("content_type_mismatch");
                }
                (finish_stream(parser, decoder, end), settled || clean)
            }
            State::Begin(bytes) | State::Whole(bytes) => {
                let late = if let Coding::Late(encoding) = &coding { encoding } else { "" };
                (read_whole(&capture, &bytes, late, label, clean, &mut issues), clean)
            }
        };
        if cut {
            let all_there = ended || reply.complete && !issues.has("response_not_json");
            issues.add(if all_there { "response_encoding_cut" } else { "response_not_decoded" });
        }
        reply.issues.merge(issues);
        if lost || reply.issues.has("capture_byte_limit") {
            // what the copy lacks may be calls, which is more than a copy that is shown shorter
            reply.issues.add("tool_calls_incomplete");
        }
        if shutdown {
            reply.issues.add("proxy_shutdown");
        }
        if end == End::Aborted {
            reply.issues.add("upstream_aborted");
        }
        if !whole {
            reply.calls.iter_mut().for_each(|call| call.complete = false);
        }
        let dropped = end == End::Dropped && (lost || !whole);
        let (status_word, error_type) = if dropped {
            (Status::Cancelled, Some(if shutdown { "proxy_shutdown" } else { "client_disconnected" }.to_owned()))
        } else if end == End::Aborted && !whole {
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
            let id = if reply.complete { reply.id.as_deref() } else { None };
            register(&capture, id, &reply.calls, &mut registered);
        }
        capture.finish(CaptureEnd {
            http_status: Some(status),
            status: status_word,
            error_type,
            reply,
            charge: Some(charge),
        });
    }
}

impl Reading {
    /// Takes in decompressed bytes, or with `late` compressed ones. An issue says why the copy has to be given up.
    fn feed(&mut self, data: &[u8], capture: &Capture, late: bool) -> Option<&'static str> {
        let limit = capture.byte_limit();
        if let State::Begin(begun) = &mut self.state {
            begun.extend_from_slice(data);
            let is_stream = if late { Some(false) } else { sniff(begun, self.label, false) };
            let too_long = begun.len() > limit;
            let bytes = match is_stream {
                Some(_) => std::mem::take(begun),
                None => return too_long.then_some("capture_byte_limit"),
            };
            self.state = if is_stream == Some(true) {
                State::Stream { parser: sse::Parser::new(limit), decoder: capture.protocol.stream(limit) }
            } else {
                State::Whole(Vec::new())
            };
            return self.feed(&bytes, capture, late);
        }
        match &mut self.state {
            State::Begin(_) | State::Lost => {}
            State::Whole(bytes) => {
                if bytes.len() + data.len() > limit {
                    return Some("capture_byte_limit");
                }
                bytes.extend_from_slice(data);
            }
            State::Stream { parser, decoder } => {
                parser.feed(data, &mut |frame| decoder.frame(frame.event, frame.data));
            }
        }
        None
    }

    fn held(&self) -> usize {
        match &self.state {
            State::Begin(bytes) | State::Whole(bytes) => bytes.len(),
            State::Stream { parser, decoder } => parser.held() + decoder.held(),
            State::Lost => 0,
        }
    }

    /// Makes the calls known as soon as a client may answer them.
    fn register(&mut self, capture: &Capture) {
        let State::Stream { decoder, .. } = &self.state else { return };
        let (settled, ended) = (decoder.settled(), decoder.ended());
        if settled && !self.settled || ended && !self.ended {
            (self.settled, self.ended) = (settled, ended);
            register(capture, decoder.response_id().as_deref(), &decoder.calls(), &mut self.registered);
        }
    }
}

/// Makes known what is not known yet.
fn register(capture: &Capture, id: Option<&str>, calls: &[ToolCall], known: &mut Vec<ToolCall>) {
    let Capture { scope, protocol, seen, .. } = capture;
    let mut left = known.clone();
    let mut new = Vec::new();
    for call in calls {
        match left.iter().position(|other| other == call) {
            Some(at) => drop(left.swap_remove(at)),
            None => new.push(call.clone()),
        }
    }
    capture.shared().associations.register(*scope, protocol.name(), seen, id, &new);
    known.extend(new);
}

fn finish_stream(mut parser: sse::Parser, mut decoder: Box<dyn ReplyStream>, end: End) -> Reply {
    let inside = parser.is_inside_frame();
    let mut unread = false;
    if inside {
        // Readers that go line by line have what its lines say without the blank one.
        let ended = decoder.ended();
        let mut data = Vec::new();
        parser.finish(&mut |frame| data.push((frame.event.map(str::to_owned), frame.data.to_vec())));
        for (event, data) in &data {
            let readable = data.trim_ascii() == b"[DONE]" || lenient::parse(data, &mut Issues::default()).is_ok();
            if readable {
                decoder.frame(event.as_deref(), data);
            }
            // A client or an upstream that left takes the rest of the frame along; one that is at its end has said all.
            unread |= !readable && !ended && end == End::Clean;
        }
    }
    let mut reply = decoder.finish(end == End::Clean);
    if inside {
        reply.issues.add("unterminated_sse_frame");
    }
    if unread {
        reply.issues.add("invalid_sse_chunk");
    }
    if parser.oversized() > 0 {
        reply.issues.add("capture_byte_limit");
        // A frame is missing, and with it perhaps part of a call.
        reply.calls.iter_mut().for_each(|call| call.complete = false);
    }
    reply
}

/// Reads a reply that came as one body.
fn read_whole(capture: &Capture, bytes: &[u8], late: &str, label: Label, clean: bool, issues: &mut Issues) -> Reply {
    let limit = capture.byte_limit();
    let (decoded, result) = encoding::decode_some(late, bytes, limit);
    match result {
        Ok(()) => {}
        Err(Undecoded::TooLarge) => {
            issues.add("capture_byte_limit");
            return Reply { complete: true, ..Reply::default() };
        }
        // Clients that do not know it take the body as it is, and those that do use what they get.
        Err(Undecoded::Unknown) => issues.add("response_encoding_ignored"),
        Err(Undecoded::Broken) => {}
    }
    let broken = result == Err(Undecoded::Broken);
    let read = |text: &[u8], issues: &mut Issues| read_text(capture, text, label, clean, issues);
    if !broken {
        return read(&decoded, issues);
    }
    let mut of_part = Issues::default();
    let part = read(&decoded, &mut of_part);
    if part.complete && !of_part.has("response_not_json") && !part.issues.has("missing_stream_done") {
        issues.merge(of_part);
        issues.add("response_encoding_cut");
        return part;
    }
    let mut of_plain = Issues::default();
    let plain = read(bytes, &mut of_plain);
    if decoded.is_empty() && plain.complete && !of_plain.has("response_not_json") {
        issues.merge(of_plain);
        issues.add("response_encoding_ignored");
        return plain;
    }
    issues.merge(of_part);
    issues.add("response_not_decoded");
    part
}

/// Reads a reply's text, an event stream or JSON.
fn read_text(capture: &Capture, text: &[u8], label: Label, clean: bool, issues: &mut Issues) -> Reply {
    let limit = capture.byte_limit();
    if text.trim_ascii().is_empty() {
        issues.add("response_empty");
        return Reply { complete: false, ..Reply::default() };
    }
    let stream = |issues: &mut Issues| {
        let text = lenient::utf8(text);
        let mut parser = sse::Parser::new(limit);
        let mut decoder = capture.protocol.stream(limit);
        let mut frames = 0_u64;
        parser.feed(&text, &mut |frame| {
            frames += 1;
            decoder.frame(frame.event, frame.data);
        });
        (frames > 0 || parser.is_inside_frame()).then(|| {
            if label != Label::Stream {
                issues.add("content_type_mismatch");
            }
            finish_stream(parser, decoder, if clean { End::Clean } else { End::Aborted })
        })
    };
    let utf8 = lenient::utf8(text);
    if sniff(&utf8, label, true) == Some(true)
        && let Some(reply) = stream(issues)
    {
        return reply;
    }
    match lenient::parse(text, issues) {
        Ok(value) => {
            if label == Label::Stream {
                issues.add("content_type_mismatch");
            }
            capture.protocol.reply(value)
        }
        Err(unreadable) => {
            // lines that are no fields are skipped by readers of streams
            if let Some(reply) = stream(issues).filter(|reply| !reply.calls.is_empty() || reply.id.is_some()) {
                return reply;
            }
            // Of a body that broke off, clients know that they have no reply.
            issues.add(if unreadable.cut && !clean { "response_cut" } else { "response_not_json" });
            let text = String::from_utf8_lossy(&utf8).into_owned();
            Reply { response: text.into(), complete: false, ..Reply::default() }
        }
    }
}
