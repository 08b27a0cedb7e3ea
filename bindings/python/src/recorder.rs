//! The recorder, for `toolreplay.tracing`, which knows which span is around which.

use crate::capture::capture;
use crate::input::io_error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use toolreplay::trace::event::{CaptureSummary, Kind};
use toolreplay::trace::{self, Limits, Options, RecorderError, Redactor};

/// How many forks lie between this process and the one that loaded the module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Says that this process is a fork. What was open before stays its parent's: two writers would spoil one file, and a
/// lock may have been held by a thread that is not here.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Something of the process that made it, never touched in a fork of it.
struct Own<T> {
    forks: u64,
    it: Option<T>,
}

impl<T> Own<T> {
    fn new(it: T) -> Own<T> {
        Own { forks: FORKS.load(Ordering::Relaxed), it: Some(it) }
    }

    fn get(&self) -> Option<&T> {
        self.it.as_ref().filter(|_| self.forks == FORKS.load(Ordering::Relaxed))
    }

    fn require(&self) -> PyResult<&T> {
        self.get().ok_or_else(|| PyRuntimeError::new_err("this recorder belongs to the process that made it"))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.get().is_none() {
            std::mem::forget(self.it.take());
        }
    }
}

/// Records spans.
#[pyclass(frozen, module = "toolreplay._native")]
pub(crate) struct Recorder {
    recorder: Own<trace::Recorder>,
    limits: Limits,
    redactor: Arc<Redactor>,
}

/// A span under way. Dropped without an end it is recorded as cancelled.
#[pyclass(frozen, module = "toolreplay._native")]
pub(crate) struct Span {
    id: String,
    limits: Limits,
    redactor: Arc<Redactor>,
    span: Own<Mutex<Option<trace::Span>>>,
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (output, secret_values, redacted_fields, max_events, max_data_chars))]
    fn new(
        py: Python<'_>,
        output: Option<PathBuf>,
        secret_values: Vec<String>,
        redacted_fields: Vec<String>,
        max_events: u64,
        max_data_chars: usize,
    ) -> PyResult<Recorder> {
        let limits = Limits { events: max_events, characters: max_data_chars, ..Limits::default() };
        let redactor = Arc::new(Redactor::new(&secret_values, &redacted_fields));
        let options = Options { output, known_secrets: secret_values, redacted_fields, limits };
        match py.detach(|| trace::Recorder::new(options)) {
            Ok(recorder) => Ok(Recorder { recorder: Own::new(recorder), limits, redactor }),
            Err(RecorderError::Create { path, source }) => Err(io_error(py, &source, &path.to_string_lossy())),
        }
    }

    #[getter]
    fn trace_id(&self) -> PyResult<&str> {
        Ok(self.recorder.require()?.trace_id())
    }

    /// Begins a span inside the one with the id `parent`, or at the top.
    fn begin(
        &self,
        py: Python<'_>,
        parent: Option<&str>,
        kind: &str,
        name: &str,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Span> {
        let kind = kind_named(kind)?;
        let recorder = self.recorder.require()?;
        let data = capture(data, self.limits, &self.redactor);
        Ok(self.span(py.detach(|| recorder.span_in(parent, kind, name, data))))
    }

    /// Begins a span whose data could not be taken in; the mark says so.
    fn begin_without_data(&self, py: Python<'_>, parent: Option<&str>, kind: &str, name: &str) -> PyResult<Span> {
        let kind = kind_named(kind)?;
        let data = serde_json::json!({"capture_omitted": "arguments"});
        let recorder = self.recorder.require()?;
        Ok(self.span(py.detach(|| recorder.span_in(parent, kind, name, data))))
    }

    /// Counts something that was not recorded, for a reason that only the caller knows.
    fn missed(&self, py: Python<'_>) {
        if let Some(recorder) = self.recorder.get() {
            py.detach(|| recorder.missed());
        }
    }

    /// What was recorded so far, as its file would hold it if the recording ended now.
    fn capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let recorder = self.recorder.require()?;
        Ok(PyBytes::new(py, &py.detach(|| recorder.capture())))
    }

    /// What was recorded so far, as JSON.
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        let recorder = self.recorder.require()?;
        Ok(py.detach(|| recorder.snapshot().to_string()))
    }

    /// Writes the summary, and returns it as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let recorder = self.recorder.require()?;
        let summary: CaptureSummary = py.detach(|| recorder.finish());
        Ok(String::from_utf8_lossy(&summary.to_json()).into_owned())
    }
}

impl Recorder {
    fn span(&self, span: trace::Span) -> Span {
        Span {
            id: span.id().to_owned(),
            limits: self.limits,
            redactor: Arc::clone(&self.redactor),
            span: Own::new(Mutex::new(Some(span))),
        }
    }
}

impl Span {
    fn take(&self) -> Option<trace::Span> {
        self.span.get()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Span {
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Ends it with its output.
    fn end(&self, py: Python<'_>, output: &Bound<'_, PyAny>) {
        let Some(span) = self.take() else { return };
        let output = capture(output, self.limits, &self.redactor);
        py.detach(|| span.end(output));
    }

    /// Ends it with an error, by the name of its type.
    fn fail(&self, py: Python<'_>, error_type: &str) {
        let span = self.take();
        py.detach(|| span.map(|span| span.fail(error_type)));
    }

    /// Ends it as cancelled.
    fn cancel(&self, py: Python<'_>) {
        let span = self.take();
        py.detach(|| span.map(trace::Span::cancel));
    }
}

fn kind_named(name: &str) -> PyResult<Kind> {
    Ok(match name {
        "agent" => Kind::Agent,
        "loop" => Kind::Loop,
        "model" => Kind::Model,
        "tool" => Kind::Tool,
        _ => return Err(PyValueError::new_err(format!("kind must be agent, loop, model or tool, found {name:?}"))),
    })
}
