//! Records spans from inside a program, without ever getting in its way.
//!
//! No method here returns an error after [`Recorder::new`], blocks on anything but a short write, or panics: what
//! cannot be recorded is counted in the summary. Everything is synchronous and usable from any thread.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::event::{self, CaptureSummary, Coverage, Event, Kind, Phase, RecordType, Source, Status};
use super::limits::{self, Captured, Limits};
use super::{Redactor, clock};

/// How a recorder is to work.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The capture file; it must not exist yet. Without one, events are kept in memory only.
    pub output: Option<PathBuf>,
    /// Literal secrets that must not be recorded. Shorter ones than [`super::SHORTEST_SECRET`] are not searched for.
    pub known_secrets: Vec<String>,
    /// Field names whose values must not be recorded, beside the built-in ones.
    pub redacted_fields: Vec<String>,
    /// How much is kept.
    pub limits: Limits,
}

/// Why a recorder could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The capture file exists, or cannot be created.
    #[error("cannot create the capture file '{}': {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Records spans. Clones record into the same capture.
///
/// ```
/// use serde_json::json;
/// use toolreplay::trace::{Options, Recorder, event::Kind};
///
/// let recorder = Recorder::new(Options { known_secrets: vec!["a-secret-value".into()], ..Options::default() })?;
/// let agent = recorder.span(Kind::Agent, "support-agent", json!({"task": "close ticket 7"}));
/// {
///     // Spans made on this thread now have `agent` as their parent.
///     let _inside = agent.enter();
///     let tool = recorder.span(Kind::Tool, "read_ticket", json!({"id": 7, "auth": "a-secret-value"}));
///     tool.end(json!({"state": "open"}));
/// }
/// std::thread::scope(|threads| {
///     // Other threads name the parent.
///     threads.spawn(|| agent.child(Kind::Tool, "close_ticket", json!({"id": 7})).fail("Timeout"));
/// });
/// agent.end(json!("done"));
/// let summary = recorder.finish();
/// assert_eq!((summary.events, summary.dropped_events, summary.capture_errors), (6, 0, 0));
///
/// let snapshot = recorder.snapshot();
/// assert_eq!(snapshot["events"][1]["parent_span_id"], snapshot["events"][0]["span_id"]);
/// assert!(!snapshot.to_string().contains("a-secret-value"));
/// # Ok::<(), toolreplay::trace::RecorderError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    trace_id: String,
    redactor: Redactor,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: Option<File>,
    events: Vec<Event>,
    /// Spans whose start is recorded and whose end is not: there is room for their ends.
    open: u64,
    dropped: u64,
    errors: u64,
    /// The summary as it was written; nothing is recorded any more.
    finished: Option<CaptureSummary>,
}

impl Recorder {
    /// Makes a recorder and its capture file.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub fn new(options: Options) -> Result<Self, RecorderError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Options { output, known_secrets, redacted_fields, limits } = options;
        let create = |path: PathBuf| {
            let mut options = OpenOptions::new();
            options.append(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&path).map_err(|source| RecorderError::Create { path, source })
        };
        Ok(Self(Arc::new(Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            trace_id: clock::ordered_id(),
            redactor: Redactor::new(known_secrets, redacted_fields),
            limits,
            state: Mutex::new(State {
                file: output.map(create).transpose()?,
                events: Vec::new(),
                open: 0,
                dropped: 0,
                errors: 0,
                finished: None,
            }),
        })))
    }

    /// The id of this capture.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.0.trace_id
    }

    /// Begins a span inside the one that is entered on this thread, if any.
    #[must_use = "a span that is dropped at once is recorded as cancelled"]
    pub fn span(&self, kind: Kind, name: &str, input: Value) -> Span {
        let parent = CURRENT
            .with_borrow(|open| open.iter().rev().find(|one| one.recorder == self.0.id).map(|one| one.span_id.clone()));
        self.begin(parent, kind, name, input.into())
    }

    /// Begins a span inside the one with the id `parent`, or at the top: for callers that follow by themselves which
    /// span is around which.
    #[must_use = "a span that is dropped at once is recorded as cancelled"]
    pub fn span_in(&self, parent: Option<&str>, kind: Kind, name: &str, input: impl Into<Captured>) -> Span {
        self.begin(parent.map(str::to_owned), kind, name, input.into())
    }

    fn begin(&self, parent: Option<String>, kind: Kind, name: &str, input: Captured) -> Span {
        let mut span = Span {
            recorder: self.clone(),
            span_id: clock::span_id(),
            parent,
            kind,
            name: self.0.redactor.text(name).into_owned(),
            started: clock::instant(),
            ended: AtomicBool::new(false),
            is_recorded: false,
        };
        span.is_recorded = span.record(Phase::Start, Status::Running, None, "input", input);
        span
    }

    /// Writes the summary. Spans that are still open stay unfinished, and nothing more is recorded. Once more it is the
    /// same.
    pub fn finish(&self) -> CaptureSummary {
        let mut state = self.0.state();
        self.0.close(&mut state)
    }

    /// Counts a span that its caller could not begin, among the writes that failed.
    pub fn missed(&self) {
        let mut state = self.0.state();
        if state.finished.is_none() {
            state.errors += 1;
        }
    }

    /// What was recorded so far, as its capture file would hold it if the recording ended now: what audits read.
    #[must_use]
    pub fn capture(&self) -> Vec<u8> {
        let state = self.0.state();
        let mut lines = Vec::new();
        for line in state.events.iter().map(Event::to_json).chain([self.0.summary(&state).to_json()]) {
            lines.extend(line);
            lines.push(b'\n');
        }
        lines
    }

    /// What was recorded so far, as the object that belongs under `execution_trace` in a document.
    #[must_use]
    pub fn snapshot(&self) -> Value {
        let state = self.0.state();
        json!({
            "version": event::VERSION,
            "trace_id": self.0.trace_id,
            "events": state.events,
            "capture_summary": self.0.summary(&state),
        })
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn summary(&self, state: &State) -> CaptureSummary {
        if let Some(summary) = &state.finished {
            return summary.clone();
        }
        CaptureSummary {
            record_type: RecordType::CaptureSummary,
            trace_id: self.trace_id.clone(),
            events: state.events.len() as u64,
            dropped_events: state.dropped,
            capture_errors: state.errors,
            coverage: Coverage::InstrumentedBoundariesOnly,
        }
    }

    fn close(&self, state: &mut State) -> CaptureSummary {
        if state.finished.is_none() {
            let line = self.summary(state).to_json();
            state.put(line);
            // with the errors of writing it
            state.finished = Some(self.summary(state));
        }
        self.summary(state)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = std::mem::replace(
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner),
            State { file: None, events: Vec::new(), open: 0, dropped: 0, errors: 0, finished: None },
        );
        self.close(&mut state);
    }
}

impl State {
    fn put(&mut self, mut line: Vec<u8>) {
        if let Some(file) = &mut self.file {
            line.push(b'\n');
            if file.write_all(&line).is_err() {
                self.errors += 1;
            }
        }
    }
}

/// A span under way. Dropped without an end it is recorded as cancelled, or as an error while panicking.
#[derive(Debug)]
pub struct Span {
    recorder: Recorder,
    span_id: String,
    parent: Option<String>,
    kind: Kind,
    name: String,
    started: Instant,
    ended: AtomicBool,
    /// Its start is in the capture.
    is_recorded: bool,
}

impl Span {
    /// Its id in the capture.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.span_id
    }

    /// Begins a span inside this one, on whatever thread.
    #[must_use = "a span that is dropped at once is recorded as cancelled"]
    pub fn child(&self, kind: Kind, name: &str, input: Value) -> Span {
        self.recorder.begin(Some(self.span_id.clone()), kind, name, input.into())
    }

    /// Makes this span the parent of those begun on this thread until the guard is dropped.
    #[must_use = "the span is left when the guard is dropped"]
    pub fn enter(&self) -> Entered {
        Entered::new(self.recorder.0.id, self.span_id.clone())
    }

    /// Makes this span the parent of those begun while the future runs, on whichever thread it is polled.
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped { future: Box::pin(future), recorder: self.recorder.0.id, span_id: self.span_id.clone() }
    }

    /// Ends it with its output.
    pub fn end(self, output: impl Into<Captured>) {
        self.close(Status::Ok, "output", output.into());
    }

    /// Ends it with an error, named by its type; messages may carry secrets and are not recorded.
    pub fn fail(self, error_type: &str) {
        self.close(Status::Error, "error_type", Value::from(error_type).into());
    }

    /// Ends it as cancelled.
    pub fn cancel(self) {
        self.close(Status::Cancelled, "output", Value::Null.into());
    }

    fn close(&self, status: Status, field: &str, value: Captured) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            self.record(Phase::End, status, Some(clock::elapsed_ms(self.started)), field, value);
        }
    }

    /// Whether it came into the capture. A start takes room for its end as well: what began before the limit was met,
    /// such as the agent around everything, is not left without an end.
    fn record(&self, phase: Phase, status: Status, duration_ms: Option<f64>, field: &str, value: Captured) -> bool {
        let inner = &self.recorder.0;
        // Redaction and shaping happen outside the lock, so that threads do not wait for each other's data.
        let Captured { value, cut } = value;
        let mut data = Map::new();
        if !value.is_null() {
            data.insert(field.to_owned(), value);
        }
        inner.redactor.fields(&mut data);
        let truncated = limits::bound(&mut data, inner.limits) | cut;

        let mut state = inner.state();
        let taken = (state.events.len() as u64).saturating_add(state.open);
        let fits = match phase {
            Phase::Start => taken.saturating_add(2) <= inner.limits.events,
            Phase::End => self.is_recorded,
        };
        if state.finished.is_some() {
            return false;
        }
        if !fits {
            state.dropped += 1;
            return false;
        }
        state.open = match phase {
            Phase::Start => state.open + 1,
            Phase::End => state.open.saturating_sub(1),
        };
        let event = Event {
            version: event::VERSION,
            trace_id: inner.trace_id.clone(),
            span_id: self.span_id.clone(),
            parent_span_id: self.parent.clone(),
            sequence: state.events.len() as u64 + 1,
            timestamp: clock::timestamp(),
            kind: self.kind,
            name: self.name.clone(),
            phase,
            status,
            duration_ms,
            data,
            truncated,
            source: Source::RuntimeWrapper,
        };
        state.put(event.to_json());
        state.events.push(event);
        true
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.close(Status::Error, "error_type", Value::from("panic").into());
        } else {
            self.close(Status::Cancelled, "output", Value::Null.into());
        }
    }
}

struct Open {
    recorder: u64,
    span_id: String,
    token: u64,
}

thread_local! {
    static CURRENT: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a span entered on this thread.
#[derive(Debug)]
pub struct Entered {
    token: u64,
    /// The stack is the thread's, so the guard must not leave it.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Entered {
    fn new(recorder: u64, span_id: String) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let token = NEXT.fetch_add(1, Ordering::Relaxed);
        CURRENT.with_borrow_mut(|open| open.push(Open { recorder, span_id, token }));
        Self { token, _thread: std::marker::PhantomData }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // By token: guards may be dropped in any order, also while the thread ends.
        let _ = CURRENT.try_with(|open| open.borrow_mut().retain(|one| one.token != self.token));
    }
}

/// A future that runs inside a span.
#[derive(Debug)]
pub struct Scoped<F> {
    future: Pin<Box<F>>,
    recorder: u64,
    span_id: String,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _inside = Entered::new(self.recorder, self.span_id.clone());
        self.future.as_mut().poll(context)
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
