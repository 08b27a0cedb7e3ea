//! One request's capture file: created before the upstream is called, its start written while the request is
//! under way, its end when the reply ends, however that happens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::association::{Association, Scope, Seen};
use super::encoding::{self, Undecoded};
use super::headers;
use super::room::Pledge;
use super::shared::Shared;
use super::writer::Charge;
use crate::trace::event::{self, Coverage, Event, Kind, Phase, RecordType, Source, Status};
use crate::trace::limits::{self, Keep, Limits};
use crate::trace::protocol::{Head, Issues, Protocol, Reply, ToolCall, ToolResult, body};
use crate::trace::{Redactor, clock};

/// Limits of the copies that are kept for reading. What the audit needs, calls and results, has only the byte
/// limit: a call without its arguments is no evidence.
fn copy_limits(characters: usize) -> Limits {
    Limits { characters, ..Limits::default() }
}
const EVIDENCE: Limits = Limits { events: 2, characters: usize::MAX, items: 4096, levels: 100 };

/// A capture under way.
pub(super) struct Capture {
    shared: Arc<Shared>,
    file: Arc<CaptureFile>,
    pub(super) scope: Scope,
    pub(super) protocol: &'static dyn Protocol,
    pub(super) seen: Seen,
    /// Holds the request's bytes until its start is written.
    charge: Option<Charge>,
}

/// What both ends of the span share.
struct CaptureFile {
    file: File,
    id: Arc<str>,
    span_id: String,
    protocol: &'static str,
    started: Instant,
    /// Made when the writer first needs it, so that the wire does not wait for it.
    redactor: LazyLock<Redactor, Box<dyn FnOnce() -> Redactor + Send>>,
    limit: usize,
    /// What was found in the request; stated at the end.
    request_issues: Mutex<Issues>,
    events: AtomicU64,
    errors: AtomicU64,
    /// The end waits to be written already.
    ended: AtomicBool,
    /// What the end is written along with.
    held: Mutex<Vec<u8>>,
    shared: Arc<Shared>,
    /// The room on the disk until it is written.
    _pledge: Pledge,
}

/// How a request ended.
pub(super) struct CaptureEnd {
    pub(super) http_status: Option<u16>,
    pub(super) status: Status,
    pub(super) error_type: Option<String>,
    pub(super) reply: Reply,
    /// What the reply's bytes take until they are written.
    pub(super) charge: Option<Charge>,
}

impl CaptureEnd {
    pub(super) fn error(http_status: Option<u16>, error_type: &str) -> Self {
        Self {
            http_status,
            status: Status::Error,
            error_type: Some(error_type.to_owned()),
            reply: Reply::default(),
            charge: None,
        }
    }

    pub(super) fn cancelled(http_status: Option<u16>, error_type: &str) -> Self {
        Self { status: Status::Cancelled, ..Self::error(http_status, error_type) }
    }
}

/// What is known of a request when its capture begins.
pub(super) struct Opening<'a> {
    pub(super) id: Arc<str>,
    pub(super) protocol: &'static dyn Protocol,
    pub(super) headers: &'a hyper::HeaderMap,
    pub(super) query: Option<&'a str>,
    pub(super) association: Association,
    pub(super) head: Head,
    pub(super) body: Bytes,
    pub(super) scope: Scope,
    pub(super) issues: Issues,
}

impl Capture {
    /// Creates the file and has the start written. Fails when the capture cannot be made.
    pub(super) async fn open(shared: &Arc<Shared>, opening: Opening<'_>) -> std::io::Result<Self> {
        let Opening { id, protocol, headers, query, association, head, body, scope, issues } = opening;
        let folder = &shared.config.output_dir;
        let pledge = shared.room.pledge(folder, body.len(), shared.config.max_capture_bytes).ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::StorageFull, "the disk has no room for it beside those under way")
        })?;
        let path = folder.join(format!("{id}.jsonl"));
        let file = shared.files.take(&path).map_or_else(|| create(&path), Ok)?;
        let config = &shared.config;
        let secrets = headers::secrets(headers, query, &config.forward_headers, &shared.names);
        let file = Arc::new(CaptureFile {
            file,
            id: id.clone(),
            span_id: clock::span_id(),
            protocol: protocol.name(),
            started: clock::instant(),
            redactor: LazyLock::new({
                let shared = shared.clone();
                Box::new(move || Redactor::new(secrets, &shared.config.redact_fields))
            }),
            limit: config.max_capture_bytes,
            request_issues: Mutex::new(issues),
            events: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            held: Mutex::new(Vec::new()),
            shared: shared.clone(),
            _pledge: pledge,
        });
        let seen = Seen { request_id: id, session_id: association.session_id.clone() };
        let mut charge = Charge::new(&shared.budget);
        let encoding =
            headers.get("content-encoding").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let body = if charge.hold(body.len()) {
            Some(body)
        } else {
            file.issue("capture_overloaded");
            None
        };
        let timestamp = clock::since_epoch();
        let query = query.map(str::to_owned);
        let writing = file.clone();
        let (confirm, confirmed) = if shared.room.is_failing() {
            let (confirm, confirmed) = tokio::sync::oneshot::channel();
            (Some(confirm), Some(confirmed))
        } else {
            (None, None)
        };
        shared.writer.run(move || {
            let data =
                writing.start_data(association, head.results, query.as_deref(), body.as_deref(), &encoding, protocol);
            let line = writing.event(timestamp, Phase::Start, Status::Running, None, data, 0);
            match confirm {
                Some(confirm) => drop(confirm.send(writing.put(line, 1))),
                // The request is over, and the end is the next that is written of it: once is enough.
                None if writing.ended.load(Ordering::Acquire) => {
                    *writing.held() = line;
                }
                None => drop(writing.put(line, 1)),
            }
        });
        if let Some(confirmed) = confirmed
            && confirmed.await != Ok(true)
        {
            return Err(std::io::Error::other("the last write failed, and so did the first of this one"));
        }
        Ok(Self { shared: shared.clone(), file, scope, protocol, seen, charge: Some(charge) })
    }

    /// The request is on its way and its bytes are no longer held here.
    pub(super) fn sent(&mut self) {
        if let Some(charge) = self.charge.take() {
            self.shared.writer.run(move || drop(charge));
        }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn new_charge(&self) -> Charge {
        Charge::new(&self.shared.budget)
    }

    pub(super) fn byte_limit(&self) -> usize {
        self.file.limit
    }

    /// Has the end written.
    pub(super) fn finish(self, outcome: CaptureEnd) {
        let duration = clock::elapsed_ms(self.file.started);
        let timestamp = clock::since_epoch();
        let (file, charge) = (self.file, self.charge);
        file.ended.store(true, Ordering::Release);
        self.shared.writer.run(move || {
            let CaptureEnd { http_status, status, error_type, reply, charge: reply_charge } = outcome;
            let data = file.end_data(http_status, error_type, reply);
            let before = u64::from(!file.held().is_empty());
            let end = file.event(timestamp, Phase::End, status, Some(duration), data, before);
            let mut lines = std::mem::take(&mut *file.held());
            lines.extend(end);
            lines.extend(file.summary(before + 1));
            file.put(lines, before + 1);
            drop((charge, reply_charge));
        });
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    // New: neither a file nor a link of that name is ever followed or overwritten.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A line that waited for another one which never came.
impl Drop for CaptureFile {
    fn drop(&mut self) {
        let held = std::mem::take(&mut *self.held());
        if !held.is_empty() {
            self.put(held, 1);
        }
    }
}

impl CaptureFile {
    fn held(&self) -> MutexGuard<'_, Vec<u8>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn issue(&self, code: &'static str) {
        self.request_issues.lock().unwrap_or_else(PoisonError::into_inner).add(code);
    }

    fn start_data(
        &self,
        association: Association,
        results: Vec<ToolResult>,
        query: Option<&str>,
        body: Option<&[u8]>,
        encoding: &str,
        protocol: &'static dyn Protocol,
    ) -> (Map<String, Value>, bool) {
        let mut results: Value = results.iter().map(ToolResult::to_json).collect();
        self.redactor.value(&mut results);
        let mut cut = limits::shape(&mut results, EVIDENCE, Keep::Last);
        let unlinked: Vec<Value> = association
            .unlinked
            .iter()
            .map(|&at| results.get(at).map_or(Value::Null, |result| result["id"].clone()))
            .collect();
        // Results come first: half of the limit is theirs, the request has what they leave.
        cut |= limits::fit(&mut results, self.limit / 2);
        let mut request = body.map_or(Value::Null, |body| self.request_copy(body, encoding, protocol));
        self.redactor.value(&mut request);
        let rest = self.limit.saturating_sub(text_length(&results)).max(64);
        cut |= fit_copy(&mut request, rest);

        let mut data = Map::new();
        data.insert("protocol".into(), protocol.name().into());
        data.insert("request_id".into(), self.id.as_ref().into());
        data.insert("session_id".into(), association.session_id.as_ref().into());
        data.insert("association".into(), association.kind.into());
        if let Some(reason) = association.reason {
            data.insert("association_reason".into(), reason.into());
        }
        data.insert(
            "parent_request_ids".into(),
            association.parents.iter().map(|id| Value::from(id.as_ref())).collect(),
        );
        data.insert("agent_reported_tool_results".into(), results);
        data.insert("unlinked_tool_results".into(), unlinked.into());
        data.insert("query_parameters".into(), self.query_copy(query));
        data.insert("request".into(), request);
        (data, cut)
    }

    fn request_copy(&self, body: &[u8], encoding: &str, protocol: &'static dyn Protocol) -> Value {
        let mut issues = self.request_issues.lock().unwrap_or_else(PoisonError::into_inner);
        let decoded;
        let text = if encoding::is_plain(encoding) {
            body
        } else {
            match encoding::decode(encoding, body, self.shared.config.max_request_bytes) {
                Ok(body) => {
                    decoded = body;
                    &decoded
                }
                Err(error) => {
                    issues.add(undecoded(
                        error,
                        ["request_encoding_unknown", "request_not_decoded", "request_too_large_to_decode"],
                    ));
                    return Value::Null;
                }
            }
        };
        match body::parse(text) {
            Ok(parsed) => {
                parsed.issues.into_iter().for_each(|issue| issues.add(issue));
                let mut request = parsed.value;
                protocol.open_request(&mut request, &mut issues);
                request
            }
            Err(_) => {
                issues.add("request_not_parsed");
                let text = String::from_utf8_lossy(text);
                Value::from(self.redactor.text(&text).into_owned())
            }
        }
    }

    fn query_copy(&self, query: Option<&str>) -> Value {
        let mut copy = Map::new();
        for (name, value) in headers::parameters(query.unwrap_or_default()).take(128) {
            let value = if self.redactor.is_secret_parameter(&name) {
                self.redactor.mark("query", &value)
            } else {
                self.redactor.text(&value).into_owned()
            };
            let name = self.redactor.text(&name).into_owned();
            match copy.get_mut(&name) {
                None => drop(copy.insert(name, value.into())),
                Some(Value::Array(values)) => values.push(value.into()),
                Some(first) => *first = json!([first.take(), value]),
            }
        }
        let mut copy = Value::Object(copy);
        limits::fit(&mut copy, self.limit);
        copy
    }

    fn end_data(
        &self,
        http_status: Option<u16>,
        error_type: Option<String>,
        reply: Reply,
    ) -> (Map<String, Value>, bool) {
        let Reply { mut response, calls, server_calls, mut issues, .. } = reply;
        issues.merge(std::mem::take(&mut *self.request_issues.lock().unwrap_or_else(PoisonError::into_inner)));
        let mut asked: Value = calls.iter().map(ToolCall::to_json).collect();
        let mut ran: Value = server_calls.iter().map(ToolCall::to_json).collect();
        let mut cut = false;
        for list in [&mut asked, &mut ran] {
            self.redactor.value(list);
            cut |= limits::shape(list, EVIDENCE, Keep::First);
            cut |= limits::fit(list, self.limit / 2);
        }
        self.redactor.value(&mut response);
        let rest = self.limit.saturating_sub(text_length(&asked)).max(64);
        cut |= fit_copy(&mut response, rest);
        if cut {
            issues.add("capture_byte_limit");
        }
        let mut details = issues.details();
        self.redactor.value(&mut details);

        let mut data = Map::new();
        data.insert("request_id".into(), self.id.as_ref().into());
        data.insert("http_status".into(), json!(http_status));
        data.insert("response".into(), response);
        data.insert("model_requested_tools".into(), asked);
        if !server_calls.is_empty() {
            data.insert("server_executed_tools".into(), ran);
        }
        data.insert("tool_execution_observed".into(), false.into());
        data.insert("capture_issues".into(), issues.codes());
        if !issues.is_empty() {
            data.insert("capture_issue_details".into(), details);
        }
        data.insert("error_type".into(), json!(error_type.map(|error| self.redactor.text(&error).into_owned())));
        (data, cut)
    }

    fn event(
        &self,
        timestamp: Duration,
        phase: Phase,
        status: Status,
        duration_ms: Option<f64>,
        (data, truncated): (Map<String, Value>, bool),
        held: u64,
    ) -> Vec<u8> {
        let event = Event {
            version: event::VERSION,
            trace_id: self.id.to_string(),
            span_id: self.span_id.clone(),
            parent_span_id: None,
            sequence: self.events.load(Ordering::Relaxed) + held + 1,
            timestamp: clock::rfc3339(timestamp),
            kind: Kind::Model,
            name: self.protocol.to_owned(),
            phase,
            status,
            duration_ms,
            data,
            truncated,
            source: Source::ModelProxy,
        };
        self.line(event.to_json())
    }

    /// The last line, as it reads when so many more events have been written.
    fn summary(&self, more: u64) -> Vec<u8> {
        let summary = event::CaptureSummary {
            record_type: RecordType::CaptureSummary,
            trace_id: self.id.to_string(),
            events: self.events.load(Ordering::Relaxed) + more,
            dropped_events: 0,
            capture_errors: self.errors.load(Ordering::Relaxed),
            coverage: Coverage::ModelProtocolOnly,
        };
        self.line(summary.to_json())
    }

    fn line(&self, mut json: Vec<u8>) -> Vec<u8> {
        json.push(b'\n');
        if self.errors.load(Ordering::Relaxed) > 0 {
            // What could be written of an earlier line must not swallow this one.
            json.insert(0, b'\n');
        }
        json
    }

    /// Writes the lines of so many events, and says whether that worked.
    fn put(&self, lines: Vec<u8>, events: u64) -> bool {
        let written = (&self.file).write_all(&lines);
        self.shared.room.wrote(written.is_ok());
        match &written {
            Ok(()) => drop(self.events.fetch_add(events, Ordering::Relaxed)),
            Err(error) => {
                if self.errors.fetch_add(1, Ordering::Relaxed) == 0 {
                    (self.shared.log)(&format!("capture {}: write failed: {error}", self.id));
                }
            }
        }
        written.is_ok()
    }
}

/// Item and level limits, then size. A history keeps its newest items.
fn fit_copy(value: &mut Value, characters: usize) -> bool {
    let limits = copy_limits(characters);
    let mut cut = false;
    match &mut *value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let keep = if matches!(name.as_str(), "messages" | "input") { Keep::Last } else { Keep::First };
                cut |= limits::shape(field, Limits { levels: limits.levels - 1, ..limits }, keep);
            }
        }
        other => cut |= limits::shape(other, limits, Keep::First),
    }
    cut | limits::fit(value, characters)
}

fn text_length(value: &Value) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

/// The issue for a copy that could not be decoded: unknown, broken, too large.
pub(super) fn undecoded(error: Undecoded, codes: [&'static str; 3]) -> &'static str {
    match error {
        Undecoded::Unknown => codes[0],
        Undecoded::Broken => codes[1],
        Undecoded::TooLarge => codes[2],
    }
}
