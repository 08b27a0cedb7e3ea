//! The exceptions, each with the place of what is wrong.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(
    toolreplay,
    ToolreplayError,
    PyValueError,
    "What was given cannot be read. Attributes: file (str or None), line and column (int from 1, or None)."
);
create_exception!(toolreplay, TranscriptError, ToolreplayError, "A transcript or sealed transcript is none.");
create_exception!(toolreplay, ScopeError, ToolreplayError, "A scope is none.");

/// An exception of type `T` with its place; 0 stands for a place that is not known.
pub(crate) fn at<T: PyTypeInfo>(py: Python<'_>, file: Option<&str>, line: u64, column: u64, what: &str) -> PyErr {
    let mut message = file.map(|file| format!("{file}: ")).unwrap_or_default();
    if line > 0 {
        message.push_str(&format!("line {line}: "));
    }
    if column > 0 {
        message.push_str(&format!("column {column}: "));
    }
    message.push_str(what);
    let known = |number: u64| (number > 0).then_some(number);
    let made = T::type_object(py).call1((message,)).and_then(|error| {
        error.setattr("file", file)?;
        error.setattr("line", known(line))?;
        error.setattr("column", known(column))?;
        Ok(error)
    });
    made.map_or_else(|error| error, PyErr::from_value)
}
