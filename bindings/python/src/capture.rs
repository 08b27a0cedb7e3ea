//! Python values on their way into a recording.
//!
//! No code of the observed program runs here: no `repr`, no property, no overridden iteration. What would run any is
//! named by its type instead. The types of the standard library that stand for a value (dates, paths, decimals, enums,
//! sets, bytes, …) are recorded by it, so that two of them can be compared.

use crate::canonical::int_text;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType,
};
use pyo3::{PyTypeInfo as _, intern};
use serde_json::{Map, Value, json};
use toolreplay::trace::{Captured, Limits, Redactor};

/// Bytes of text that one event's data is searched for secrets. What goes beyond is not recorded: a text may not be cut
/// before it was searched.
const TEXT: usize = 8 << 20;

/// The value, as far as the limits let it be recorded.
pub(crate) fn capture(value: &Bound<'_, PyAny>, limits: Limits, redactor: &Redactor) -> Captured {
    let mut capture = Capture { limits, redactor, nodes: limits.characters, text: TEXT, cut: false };
    let value = capture.value(value, limits.levels);
    Captured { value, cut: capture.cut }
}

struct Capture<'r> {
    limits: Limits,
    /// For what is not searched as text afterwards.
    redactor: &'r Redactor,
    /// Values that may still come. Each takes a character at least, so that more of them would be cut anyway; a list
    /// that holds itself many times over would give very many more.
    nodes: usize,
    text: usize,
    cut: bool,
}

impl Capture<'_> {
    fn value(&mut self, value: &Bound<'_, PyAny>, levels: usize) -> Value {
        let Some(nodes) = self.nodes.checked_sub(1) else {
            self.cut = true;
            return Captured::too_large();
        };
        self.nodes = nodes;
        self.known(value, levels).unwrap_or_else(|_| Captured::of_type(&type_name(&value.get_type())))
    }

    fn known(&mut self, value: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(self.text(text));
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            return Ok(Value::Bool(truth.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            return Ok(serde_json::from_str(&int_text(value)?).unwrap_or_default());
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            let number = float.value();
            // JSON has no such numbers: their names, as Python's json writes them
            let name = || match number {
                number if number.is_nan() => "NaN",
                number if number > 0.0 => "Infinity",
                _ => "-Infinity",
            };
            return Ok(serde_json::Number::from_f64(number).map_or_else(|| name().into(), Value::Number));
        }
        if let Ok(list) = value.cast::<PyList>() {
            return Ok(self.items(list.len(), list.iter(), levels));
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return Ok(self.items(tuple.len(), tuple.iter(), levels));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            // a copy of its references: the dict may change while other threads run
            let items = dict.items();
            let pairs = items.iter().filter_map(|item| item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok());
            return Ok(self.fields(items.len(), pairs, levels));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(self.bytes(bytes.as_bytes()));
        }
        if let Ok(bytes) = value.cast::<PyByteArray>() {
            return Ok(self.bytes(&bytes.to_vec()));
        }
        if value.is_exact_instance_of::<PySet>() || value.is_exact_instance_of::<PyFrozenSet>() {
            return self.set(value, levels);
        }
        if let Some(secret) = secret_of(value)? {
            return Ok(self.redactor.mark("secret-type", &secret).into());
        }
        if let Some(fields) = record_fields(value)? {
            return Ok(self.fields(fields.len(), fields.into_iter(), levels));
        }
        if let Some(inner) = enum_value(value)? {
            return Ok(self.value(&inner, levels));
        }
        if let Some(text) = text_of(value)? {
            return Ok(self.text(&text));
        }
        Ok(Captured::of_type(&type_name(&value.get_type())))
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Value {
        let text = text.to_string_lossy();
        match self.text.checked_sub(text.len()) {
            Some(rest) => {
                self.text = rest;
                Value::String(text.into_owned())
            }
            None => {
                self.cut = true;
                Captured::too_large()
            }
        }
    }

    /// As base64, which is not searched for secrets: where the bytes are text that has one, nothing of them is kept.
    fn bytes(&mut self, bytes: &[u8]) -> Value {
        let size = bytes.len().div_ceil(3) * 4;
        if size > self.text {
            self.cut = true;
            return Captured::too_large();
        }
        self.text -= size;
        let text = String::from_utf8_lossy(bytes);
        if let std::borrow::Cow::Owned(_) = self.redactor.text(&text) {
            return self.redactor.mark("bytes", &text).into();
        }
        json!({"bytes_base64": base64(bytes)})
    }

    /// A set as a list in the order of what its items are recorded as, so that equal sets are equal.
    fn set(&mut self, set: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
        let len = set.len()?;
        let Some(levels) = levels.checked_sub(1) else { return Ok(self.below(len)) };
        if len > self.limits.items {
            // which of them are kept would be chance
            self.cut = true;
            return Ok(Captured::some_items(Value::Array(Vec::new()), len));
        }
        let items: Vec<Bound<'_, PyAny>> = set.try_iter()?.collect::<PyResult<_>>()?;
        let mut kept: Vec<Value> = items.iter().map(|item| self.value(item, levels)).collect();
        kept.sort_by_cached_key(Value::to_string);
        Ok(Value::Array(kept))
    }

    fn items<'py>(&mut self, len: usize, items: impl Iterator<Item = Bound<'py, PyAny>>, levels: usize) -> Value {
        let Some(levels) = levels.checked_sub(1) else { return self.below(len) };
        let kept = items.take(self.limits.items).map(|item| self.value(&item, levels)).collect();
        self.some(Value::Array(kept), len)
    }

    fn fields<'py>(
        &mut self,
        len: usize,
        fields: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        levels: usize,
    ) -> Value {
        let Some(levels) = levels.checked_sub(1) else { return self.below(len) };
        let mut kept = Map::new();
        for (key, value) in fields.take(self.limits.items) {
            let mut name = key_name(&key);
            while kept.contains_key(&name) {
                name.push('\'');
            }
            let value = self.value(&value, levels);
            kept.insert(name, value);
        }
        self.some(Value::Object(kept), len)
    }

    fn below(&mut self, len: usize) -> Value {
        self.cut = true;
        Captured::below_levels(len)
    }

    fn some(&mut self, kept: Value, len: usize) -> Value {
        match len.saturating_sub(self.limits.items) {
            0 => kept,
            omitted => {
                self.cut = true;
                Captured::some_items(kept, omitted)
            }
        }
    }
}

/// A key as a name: those of JSON as `json.dumps` would write them, others by their type.
fn key_name(key: &Bound<'_, PyAny>) -> String {
    if let Ok(text) = key.cast::<PyString>() {
        return text.to_string_lossy().into_owned();
    }
    if key.is_none() {
        return "null".to_owned();
    }
    if let Ok(truth) = key.cast::<PyBool>() {
        return truth.is_true().to_string();
    }
    let number = match key.cast::<PyFloat>() {
        Ok(float) => Some(float.value().to_string()),
        Err(_) if key.is_instance_of::<PyInt>() => int_text(key).ok(),
        Err(_) => None,
    };
    number.unwrap_or_else(|| format!("capture_omitted {}", type_name(&key.get_type())))
}

/// The name of a type, asked of the type's own type so that no metaclass of the program's is.
fn type_name(of: &Bound<'_, PyType>) -> String {
    let py = of.py();
    let name = PyType::type_object(py)
        .getattr(intern!(py, "__dict__"))
        .and_then(|fields| fields.get_item(intern!(py, "__name__")))
        .and_then(|name| name.call_method1(intern!(py, "__get__"), (of,)))
        .and_then(|name| name.extract::<String>());
    name.unwrap_or_else(|_| "unknown".to_owned())
}

type Fields<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The fields of a dataclass or pydantic model, read from where they are stored.
fn record_fields<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Fields<'py>>> {
    let py = value.py();
    let of = value.get_type();
    if of.is(PyType::type_object(py)) || value.is_instance_of::<PyType>() {
        return Ok(None);
    }
    let plain = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "object"))?;
    let read = |name: &Bound<'py, PyAny>| plain.call_method1(intern!(py, "__getattribute__"), (value, name));
    if is_model(value)? {
        let excluded = excluded_fields(&of)?;
        let mut fields: Fields<'py> = Vec::new();
        for part in ["__dict__", "__pydantic_extra__"] {
            let Ok(stored) = read(pyo3::types::PyString::new(py, part).as_any()) else { continue };
            if let Ok(stored) = stored.cast::<PyDict>() {
                let is_out =
                    |name: &Bound<'py, PyAny>| name.extract::<String>().is_ok_and(|name| excluded.contains(&name));
                fields.extend(stored.iter().filter(|(name, _)| !is_out(name)));
            }
        }
        return Ok(Some(fields));
    }
    let Some(declared) = class_attribute(&of, intern!(py, "__dataclass_fields__"))? else { return Ok(None) };
    let declared = declared.cast_into::<PyDict>()?;
    let mut fields = Vec::new();
    for (name, field) in declared.iter() {
        // pseudo-fields, such as ClassVar, hold nothing
        let kind = field.getattr(intern!(py, "_field_type"))?.getattr(intern!(py, "name"))?;
        if kind.extract::<String>()? != "_FIELD" {
            continue;
        }
        let owner = class_attribute(&of, name.cast::<PyString>()?)?;
        if owner.is_some_and(|owner| is_getter(&owner)) {
            continue;
        }
        if let Ok(stored) = read(&name) {
            fields.push((name, stored));
        }
    }
    Ok(Some(fields))
}

/// The names of a model's fields that it never writes out: `exclude=True`.
fn excluded_fields(of: &Bound<'_, PyType>) -> PyResult<Vec<String>> {
    let py = of.py();
    let mut excluded = Vec::new();
    let Some(declared) = class_attribute(of, intern!(py, "__pydantic_fields__"))? else { return Ok(excluded) };
    let Ok(declared) = declared.cast_into::<PyDict>() else { return Ok(excluded) };
    for (name, field) in declared.iter() {
        if field.getattr(intern!(py, "exclude")).is_ok_and(|said| said.is(PyBool::new(py, true))) {
            excluded.push(name.extract()?);
        }
    }
    Ok(excluded)
}

/// A module that is loaded; what is not loaded has no objects.
fn loaded<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?.get_item(name)
}

/// Whether the type of a value is, or comes from, a class of a module.
fn is_a(value: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    let Some(module) = loaded(value.py(), module)? else { return Ok(false) };
    let Ok(class) = module.getattr(class) else { return Ok(false) };
    Ok(value.get_type().mro().iter().any(|one| one.is(&class)))
}

/// What a `SecretStr`, `SecretBytes` or another `Secret` of pydantic hides, to be told from another one by its mark.
fn secret_of(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    if !is_a(value, "pydantic.types", "_SecretBase")? {
        return Ok(None);
    }
    let plain = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "object"))?;
    let hidden = plain.call_method1(intern!(py, "__getattribute__"), (value, "_secret_value"))?;
    if let Ok(text) = hidden.cast::<PyString>() {
        return Ok(Some(text.to_string_lossy().into_owned()));
    }
    if let Ok(bytes) = hidden.cast::<PyBytes>() {
        return Ok(Some(String::from_utf8_lossy(bytes.as_bytes()).into_owned()));
    }
    Ok(None)
}

/// The value of a member of an enum.
fn enum_value<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if !is_a(value, "enum", "Enum")? {
        return Ok(None);
    }
    let plain = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "object"))?;
    Ok(plain.call_method1(intern!(py, "__getattribute__"), (value, "_value_")).ok())
}

/// Classes of the standard library that stand for a value, and their methods that write it as text.
const TEXTS: [(&str, &str, &str); 10] = [
    ("datetime", "datetime", "isoformat"),
    ("datetime", "date", "isoformat"),
    ("datetime", "time", "isoformat"),
    ("datetime", "timedelta", "__str__"),
    ("decimal", "Decimal", "__str__"),
    ("uuid", "UUID", "__str__"),
    ("pathlib", "PosixPath", "__str__"),
    ("pathlib", "WindowsPath", "__str__"),
    ("pathlib", "PurePosixPath", "__str__"),
    ("pathlib", "PureWindowsPath", "__str__"),
];

/// The text of a value of these very classes: one that comes from them may have code of the program's.
fn text_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    let py = value.py();
    let of = value.get_type();
    for (module, class, method) in TEXTS {
        let Some(module) = loaded(py, module)? else { continue };
        let Ok(class) = module.getattr(class) else { continue };
        if !of.is(&class) {
            continue;
        }
        // a time zone may be anything; those of the standard library are no code of the program's
        if let Ok(zone) = value.getattr(intern!(py, "tzinfo"))
            && !zone.is_none()
            && !is_exactly(&zone, "datetime", "timezone")?
            && !is_exactly(&zone, "zoneinfo", "ZoneInfo")?
        {
            return Ok(None);
        }
        return Ok(class.call_method1(method, (value,))?.cast_into::<PyString>().ok());
    }
    Ok(None)
}

fn is_exactly(value: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    let Some(module) = loaded(value.py(), module)? else { return Ok(false) };
    Ok(module.getattr(class).is_ok_and(|class| value.get_type().is(&class)))
}

/// Standard base64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|place| u32::from(chunk.get(place).copied().unwrap_or_default()));
        let bits = a << 16 | b << 8 | c;
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS[(bits >> shift & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Whether the value is a pydantic model; without pydantic there is none.
fn is_model(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_a(value, "pydantic", "BaseModel")
}

/// An attribute as a class in the order of resolution holds it, without descriptors and metaclasses.
fn class_attribute<'py>(of: &Bound<'py, PyType>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = of.py();
    let stored = PyType::type_object(py).getattr(intern!(py, "__dict__"))?.get_item(intern!(py, "__dict__"))?;
    for class in of.mro().iter() {
        let fields = stored.call_method1(intern!(py, "__get__"), (&class,))?;
        if let Ok(found) = fields.get_item(name) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether reading the attribute would run a getter of the program's: anything with one that is no slot.
fn is_getter(attribute: &Bound<'_, PyAny>) -> bool {
    let of = attribute.get_type();
    let slot = of.name().is_ok_and(|name| name == "member_descriptor");
    !slot && class_attribute(&of, intern!(attribute.py(), "__get__")).is_ok_and(|getter| getter.is_some())
}
