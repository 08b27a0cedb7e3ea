//! Python values on their way into a recording.
//!
//! No code of the observed program runs here: no `repr`, no property, no overridden iteration. What would run any is
//! named by its type instead.

use crate::canonical::int_text;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use pyo3::{PyTypeInfo as _, intern};
use serde_json::{Map, Value};
use toolreplay::trace::{Captured, Limits};

/// Bytes of text that one event's data is searched for secrets. What goes beyond is not recorded: a text may not be cut
/// before it was searched.
const TEXT: usize = 8 << 20;

/// The value, as far as the limits let it be recorded.
pub(crate) fn capture(value: &Bound<'_, PyAny>, limits: Limits) -> Captured {
    let mut capture = Capture { limits, nodes: limits.characters, text: TEXT, cut: false };
    let value = capture.value(value, limits.levels);
    Captured { value, cut: capture.cut }
}

struct Capture {
    limits: Limits,
    /// Values that may still come. Each takes a character at least, so that more of them would be cut anyway; a list
    /// that holds itself many times over would give very many more.
    nodes: usize,
    text: usize,
    cut: bool,
}

impl Capture {
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
            let number = serde_json::Number::from_f64(float.value());
            return Ok(number.map_or_else(|| Captured::of_type("float"), Value::Number));
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
        if let Some(fields) = record_fields(value)? {
            return Ok(self.fields(fields.len(), fields.into_iter(), levels));
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
        let mut fields: Fields<'py> = Vec::new();
        for part in ["__dict__", "__pydantic_extra__"] {
            let Ok(stored) = read(pyo3::types::PyString::new(py, part).as_any()) else { continue };
            if let Ok(stored) = stored.cast::<PyDict>() {
                fields.extend(stored.iter());
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

/// Whether the value is a pydantic model; without pydantic there is none.
fn is_model(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let loaded = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?;
    let Some(module) = loaded.get_item(intern!(py, "pydantic"))? else { return Ok(false) };
    let Ok(model) = module.getattr(intern!(py, "BaseModel")) else { return Ok(false) };
    let order = value.get_type().mro();
    Ok(order.iter().any(|class| class.is(&model)))
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
