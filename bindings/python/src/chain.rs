//! Transcripts as files: sealed, verified, and made of other recordings.

use crate::audit::thread_count;
use crate::errors::{self, TranscriptError};
use crate::input::{Source, io_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use toolreplay::audit::{self as library, Input};
use toolreplay::formats::{self, Options};
use toolreplay::seal::{self as chain, SealError};
use toolreplay::transcript::ReadError;

/// Seals a transcript, a path or bytes: returns the sealed transcript.
#[pyfunction]
pub(crate) fn seal<'py>(py: Python<'py>, transcript: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::one(transcript)?;
    let threads = thread_count(None)?;
    let sealed = py.detach(|| {
        let mut sealed = Vec::new();
        let reader = source.content().map_err(|error| SealError::Read(ReadError::Io { line: 0, error }))?;
        chain::seal(reader, threads, &mut sealed).map(|_| sealed)
    });
    match sealed {
        Ok(sealed) => Ok(PyBytes::new(py, &sealed)),
        Err(SealError::Read(error)) => Err(read_error(py, error, &source.name())),
        Err(SealError::Write(error)) => Err(error.into()),
    }
}

/// Makes a transcript of a recording in another format, as `toolreplay import` does: a path or bytes.
///
/// A transcript is returned as it is. What would be lost, and a recording without a call, raise a TranscriptError, unless
/// `allow_loss` is set.
#[pyfunction]
#[pyo3(signature = (recording, *, allow_loss=false))]
pub(crate) fn import_recording<'py>(
    py: Python<'py>,
    recording: &Bound<'py, PyAny>,
    allow_loss: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::one(recording)?;
    let threads = thread_count(None)?;
    let input = source.input();
    let content = source.content().map_err(|error| io_error(py, &error, &source.name()))?;
    let imported = py.detach(|| transcript_of(&input, content, allow_loss, threads));
    let at = |failure: library::Failure| {
        errors::at::<TranscriptError>(py, Some(&source.name()), failure.line, failure.column, &failure.what)
    };
    imported.map(|transcript| PyBytes::new(py, &transcript)).map_err(at)
}

fn transcript_of(
    input: &Input,
    content: Box<dyn std::io::Read + Send>,
    allow_loss: bool,
    threads: usize,
) -> Result<Vec<u8>, library::Failure> {
    let whole = |error: std::io::Error| library::Failure::of_file(error.to_string());
    let options = Options { allow_loss, ..Options::default() };
    let mut transcript = Vec::new();
    match formats::open(content, input.path.as_deref(), &options)? {
        formats::Opening::Native(mut content) => {
            content.read_to_end(&mut transcript).map_err(whole)?;
        }
        formats::Opening::Unknown(formats::Unknown { why, .. })
        | formats::Opening::Other(formats::Stranger { why, .. }) => {
            return Err(library::Failure::of_file(toolreplay::sanitize::visible(&why).into_owned()));
        }
        formats::Opening::Foreign(foreign) => {
            let mut recording = formats::Recording::to_write(&options);
            recording.add(foreign, input.source_file(), &|path| input.beside(path), threads)?;
            let mut imported = recording.finish().map_err(whole)?;
            if let Some((place, what)) = imported.loss() {
                let column = u64::from(place.column);
                return Err(library::Failure { line: place.line, column, ..library::Failure::of_file(what) });
            }
            if imported.balance.calls_in == 0 && !allow_loss {
                let what = "not a single call was found; is it the right format?".to_owned();
                return Err(library::Failure::of_file(what));
            }
            for part in imported.parts() {
                imported.write(&part, &mut transcript).map_err(whole)?;
            }
        }
    }
    Ok(transcript)
}

/// A sealed transcript, read and recomputed.
#[pyclass(frozen, get_all, module = "toolreplay")]
pub(crate) struct Chain {
    /// Whether every link holds, and the last digest is the expected one where one was given.
    intact: bool,
    /// Links.
    links: u64,
    /// The last stored digest: keep it to tell later whether the tail was cut off.
    head: String,
    /// The index of the first link that does not hold.
    broken_index: Option<u64>,
    /// Its line, from 1.
    line: Option<u64>,
    /// The digest that would hold there.
    expected: Option<String>,
    /// The digest that stands there.
    found: Option<String>,
}

#[pymethods]
impl Chain {
    fn __repr__(&self) -> String {
        match self.broken_index {
            None => format!("<Chain: intact, {} links, head {}>", self.links, self.head),
            Some(index) => format!("<Chain: broken at index {index}>"),
        }
    }
}

/// Verifies a sealed transcript, a path or bytes, and that its last digest is `expect`, if that is given.
#[pyfunction]
#[pyo3(signature = (sealed, expect=None))]
pub(crate) fn verify(py: Python<'_>, sealed: &Bound<'_, PyAny>, expect: Option<&str>) -> PyResult<Chain> {
    let source = Source::one(sealed)?;
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if expect.is_some_and(|digest| !is_digest(digest)) {
        return Err(PyValueError::new_err("expect must be 64 lower-case hexadecimal digits"));
    }
    let threads = thread_count(None)?;
    let verified = py.detach(|| {
        let reader = source.content().map_err(|error| ReadError::Io { line: 0, error })?;
        chain::verify(reader, threads)
    });
    let mut verified = verified.map_err(|error| read_error(py, error, &source.name()))?;
    if let Some(digest) = expect {
        verified.expect_head(digest);
    }
    let broken = verified.broken;
    Ok(Chain {
        intact: broken.is_none(),
        links: verified.links,
        head: verified.head,
        broken_index: broken.as_ref().map(|broken| broken.index),
        line: broken.as_ref().map(|broken| broken.line).filter(|line| *line > 0),
        expected: broken.as_ref().map(|broken| broken.expected.clone()),
        found: broken.map(|broken| broken.found),
    })
}

fn read_error(py: Python<'_>, error: ReadError, file: &str) -> PyErr {
    match error {
        ReadError::Io { line: 0, error } if error.raw_os_error().is_some() => {
            io_error(py, &error, &PathBuf::from(file).to_string_lossy())
        }
        error => errors::at::<TranscriptError>(py, Some(file), error.line(), error.column(), &error.what()),
    }
}
