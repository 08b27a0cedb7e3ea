//! `canonical`: the canonical form of Python objects that are JSON.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toolreplay::json::{self, MAX_DEPTH, Scratch};

/// The canonical form of a JSON value, as digests and comparisons use it.
///
/// For every value that json.dumps and json.loads carry unchanged it is
/// json.dumps(obj, sort_keys=True, separators=(",", ":")). Keys that are not str, NaN and infinities are refused.
#[pyfunction]
pub(crate) fn canonical(obj: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = json_text(obj)?;
    let canonical = obj.py().detach(|| {
        let mut scratch = Scratch::default();
        json::canonical(&text, &mut scratch).map(|span| span.get(&text, &scratch).to_vec())
    });
    let canonical = canonical.map_err(|error| PyValueError::new_err(error.to_string()))?;
    String::from_utf8(canonical).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The object as JSON, not yet canonical.
pub(crate) fn json_text(obj: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::new();
    write(obj, 0, &mut out)?;
    Ok(out)
}

fn write(obj: &Bound<'_, PyAny>, depth: usize, out: &mut Vec<u8>) -> PyResult<()> {
    let py = obj.py();
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err(format!("nesting deeper than {MAX_DEPTH} levels")));
    }
    if obj.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(text) = obj.cast::<PyString>() {
        write_string(text, out)?;
    } else if let Ok(truth) = obj.cast::<PyBool>() {
        out.extend_from_slice(if truth.is_true() { b"true" } else { b"false" });
    } else if obj.is_instance_of::<PyInt>() {
        // the type's own method: a subclass may print itself as it likes
        out.extend_from_slice(int_text(obj)?.as_bytes());
    } else if let Ok(float) = obj.cast::<PyFloat>() {
        let value = float.value();
        if !value.is_finite() {
            return Err(PyValueError::new_err(format!("{value} is no JSON number")));
        }
        let text = py.get_type::<PyFloat>().call_method1("__repr__", (obj,))?;
        out.extend_from_slice(text.cast::<PyString>()?.to_str()?.as_bytes());
    } else if let Ok(list) = obj.cast::<PyList>() {
        write_items(list.iter(), depth, out)?;
    } else if let Ok(tuple) = obj.cast::<PyTuple>() {
        write_items(tuple.iter(), depth, out)?;
    } else if let Ok(dict) = obj.cast::<PyDict>() {
        out.push(b'{');
        for (place, (key, value)) in dict.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            let Ok(key) = key.cast::<PyString>() else {
                let name = key.get_type().name()?;
                return Err(PyTypeError::new_err(format!("keys must be str, found {name}")));
            };
            write_string(key, out)?;
            out.push(b':');
            write(&value, depth + 1, out)?;
        }
        out.push(b'}');
    } else {
        let name = obj.get_type().name()?;
        return Err(PyTypeError::new_err(format!("an object of type {name} is no JSON value")));
    }
    Ok(())
}

fn write_items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize, out: &mut Vec<u8>) -> PyResult<()> {
    out.push(b'[');
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(&item, depth + 1, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_string(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(text) = text.to_str() {
        out.extend_from_slice(&json::canonical_string(text));
        return Ok(());
    }
    // half surrogate pairs have no UTF-8, but escapes
    out.push(b'"');
    let units = text.call_method1("encode", ("utf-16-be", "surrogatepass"))?.extract::<Vec<u8>>()?;
    for unit in units.chunks_exact(2) {
        out.extend_from_slice(format!("\\u{:02x}{:02x}", unit[0], unit[1]).as_bytes());
    }
    out.push(b'"');
    Ok(())
}

/// The digits of an int, also of one that is too large for 64 bits.
pub(crate) fn int_text(int: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(small) = int.extract::<i64>() {
        return Ok(small.to_string());
    }
    int.py().get_type::<PyInt>().call_method1("__repr__", (int,))?.extract()
}
