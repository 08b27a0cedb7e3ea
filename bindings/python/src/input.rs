//! Transcripts and scopes as Python hands them over: paths, or bytes.

use crate::errors::{self, ScopeError};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString, PyTuple};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;
use toolreplay::audit::{Baseline, Input, MAX_BASELINE};
use toolreplay::scope::{MAX_SCOPE, Policy};

/// One transcript.
pub(crate) enum Source {
    /// In a file, which was named or found in a folder.
    File(PathBuf, bool),
    /// In memory, with the name that reports give it.
    Memory(String, Shared),
}

/// Bytes of a Python object that more than one reader may hold.
#[derive(Clone)]
pub(crate) struct Shared(Arc<PyBackedBytes>);

impl Shared {
    fn of(bytes: &Bound<'_, PyAny>) -> PyResult<Shared> {
        Ok(Shared(Arc::new(bytes.extract()?)))
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Source {
    /// A path, bytes, or a pair of a name and bytes; `None`: it is something else.
    fn of(given: &Bound<'_, PyAny>, place: usize) -> PyResult<Option<Source>> {
        if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
            return Ok(Some(Source::Memory(format!("<bytes {place}>"), Shared::of(given)?)));
        }
        if let Ok(pair) = given.cast::<PyTuple>()
            && pair.len() == 2
            && pair.get_item(1)?.is_none()
        {
            return Ok(Some(Source::File(pair.get_item(0)?.extract()?, false)));
        }
        if let Ok(pair) = given.cast::<PyTuple>()
            && pair.len() == 2
            && let Ok(name) = pair.get_item(0)?.extract::<String>()
            && let content = pair.get_item(1)?
            && (content.is_instance_of::<PyBytes>() || content.is_instance_of::<PyByteArray>())
        {
            return Ok(Some(Source::Memory(name, Shared::of(&content)?)));
        }
        if given.is_instance_of::<PyString>() || given.hasattr("__fspath__")? {
            return Ok(Some(Source::File(given.extract()?, true)));
        }
        Ok(None)
    }

    /// Exactly one.
    pub(crate) fn one(given: &Bound<'_, PyAny>) -> PyResult<Source> {
        Source::of(given, 0)?.ok_or_else(|| wrong_type("a path or bytes", given))
    }

    /// One, or as many as an iterable gives.
    pub(crate) fn many(given: &Bound<'_, PyAny>) -> PyResult<Vec<Source>> {
        if let Some(one) = Source::of(given, 0)? {
            return Ok(vec![one]);
        }
        let expected = "a path, bytes, (name, bytes), or an iterable of these";
        let items = given.try_iter().map_err(|_| wrong_type(expected, given))?;
        let each = items.enumerate().map(|(place, item)| {
            let item = item?;
            Source::of(&item, place)?.ok_or_else(|| wrong_type(expected, &item))
        });
        each.collect()
    }

    /// Its name in messages and reports.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::File(path, _) => path.to_string_lossy().replace(MAIN_SEPARATOR, "/"),
            Source::Memory(name, _) => name.clone(),
        }
    }

    /// It as the library wants it. Bytes have no path: the library must not open them.
    pub(crate) fn input(&self) -> Input {
        let name = self.name();
        let from_root = name.strip_prefix("./").unwrap_or(&name).to_owned();
        let path = match self {
            Source::File(path, _) => Some(path.clone()),
            Source::Memory(..) => None,
        };
        Input { path, shown: name, from_root, named: !matches!(self, Source::File(_, false)), more: Vec::new() }
    }

    /// How large it is; what is no regular file counts as large.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Source::File(path, _) => match path.metadata() {
                Ok(metadata) if metadata.is_file() => metadata.len(),
                Ok(_) => u64::from(u32::MAX),
                Err(_) => 0,
            },
            Source::Memory(_, bytes) => bytes.as_ref().len() as u64,
        }
    }

    /// Opens it.
    pub(crate) fn content(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Source::File(path, _) => Box::new(File::open(path)?),
            Source::Memory(_, bytes) => Box::new(Cursor::new(bytes.clone())),
        })
    }
}

fn wrong_type(expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let name = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("expected {expected}, found {name}"))
}

/// A folder would give an error about its content: which of its files are meant is not for this module to decide.
pub(crate) fn refuse_folders(sources: &[Source]) -> PyResult<()> {
    for source in sources {
        if let Source::File(path, _) = source
            && path.is_dir()
        {
            let message = format!(
                "{} is a folder; name its files, for example sorted(pathlib.Path(folder).rglob(\"*.jsonl\"))",
                source.name()
            );
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(())
}

/// Reads a scope: a path, bytes, or the object itself.
pub(crate) fn scope(given: &Bound<'_, PyAny>) -> PyResult<Policy> {
    let py = given.py();
    let (name, text) = if given.is_instance_of::<PyDict>() {
        (None, crate::canonical::json_text(given)?)
    } else {
        let source =
            Source::of(given, 0)?.ok_or_else(|| wrong_type("a path, bytes, or a dict that is the scope", given))?;
        let name = source.name();
        let text = py.detach(|| read_scope(&source)).map_err(|error| io_error(py, &error, &name))?;
        (Some(name), text)
    };
    if text.len() as u64 > MAX_SCOPE {
        let what = format!("a scope must not be larger than {} MiB", MAX_SCOPE >> 20);
        return Err(errors::at::<ScopeError>(py, name.as_deref(), 0, 0, &what));
    }
    Policy::read(&text)
        .map_err(|error| errors::at::<ScopeError>(py, name.as_deref(), error.line, error.column, &error.what))
}

fn read_scope(source: &Source) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.content()?.take(MAX_SCOPE + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The `OSError` that Python itself would raise, with its number and the file.
pub(crate) fn io_error(py: Python<'_>, error: &io::Error, file: &str) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return pyo3::exceptions::PyOSError::new_err(format!("{file}: {error}"));
    };
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    match text {
        Ok(text) => pyo3::exceptions::PyOSError::new_err((number, text.unbind(), file.to_owned())),
        Err(error) => error,
    }
}

/// Reads a baseline.
pub(crate) fn baseline(py: Python<'_>, path: &Path) -> PyResult<Baseline> {
    let shown = path.display().to_string();
    let read = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        File::open(path)?.take(MAX_BASELINE + 1).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = py.detach(read).map_err(|error| io_error(py, &error, &shown))?;
    let wrong =
        |what: &str| PyValueError::new_err(toolreplay::sanitize::visible(&format!("{shown}: {what}")).into_owned());
    if text.len() as u64 > MAX_BASELINE {
        return Err(wrong(&format!("larger than {} MiB", MAX_BASELINE >> 20)));
    }
    Baseline::parse(&text).map_err(|what| wrong(&format!("no baseline of toolreplay: {what}")))
}
