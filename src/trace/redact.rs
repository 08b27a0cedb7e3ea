//! Takes secrets out of what is about to be recorded.
//!
//! What a secret looks like stands in [`crate::secrets`]; here it is taken out of texts and of JSON values: the literal
//! secrets the recording side was told of, fields whose name says that their value is secret, and the shapes of
//! well-known keys. A secret is replaced by `[REDACTED:rule:3f9a]`; the last part is a keyed digest whose key dies with
//! the redactor, so that within one capture equal secrets stay equal and different ones different, and nobody can test a
//! guess. Only copies are redacted, never what is forwarded. Not searched: base64 content of images and files.

use crate::secrets::{self, Finder, Masker};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

use super::clock;

/// A known secret shorter than this is not searched for: it would hit ordinary words.
pub const SHORTEST_SECRET: usize = 8;
/// How often a text is gone through again: what stood beside a secret may show only when that is gone.
const ROUNDS: usize = 8;

/// Redacts text and JSON values for one capture.
#[derive(Debug)]
pub struct Redactor {
    finder: Finder,
    masker: Masker,
}

impl Redactor {
    /// A redactor for these literal secrets and, beside the built-in ones, these field names.
    pub fn new<S: AsRef<str>, F: AsRef<str>>(
        secrets: impl IntoIterator<Item = S>,
        fields: impl IntoIterator<Item = F>,
    ) -> Self {
        let mut known = BTreeSet::new();
        for secret in secrets {
            let secret = secret.as_ref().trim();
            if secret.len() >= SHORTEST_SECRET {
                known.insert(
                    percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string(),
                );
                // as JSON text within text has it, and JSON text within that
                for ascii in [false, true] {
                    let once = in_json(secret, ascii);
                    known.insert(in_json(&once, ascii));
                    known.insert(once);
                }
                known.insert(secret.to_owned());
            }
        }
        Self {
            finder: Finder::new(known.into_iter().map(String::into_bytes), fields),
            masker: Masker::new(clock::random()),
        }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..ROUNDS {
            let found = self.finder.find(text.as_bytes());
            if found.is_empty() {
                break;
            }
            let mut clean = Vec::with_capacity(text.len());
            secrets::masked(text.as_bytes(), &found, &self.masker, &mut clean);
            // Every shape cuts at ASCII or at the ends of a needle, so this is text.
            text = Cow::Owned(String::from_utf8_lossy(&clean).into_owned());
        }
        text
    }

    /// Redacts every string of the value, keys included, and the values of sensitive fields.
    pub fn value(&self, value: &mut Value) {
        self.visit(value, "");
    }

    /// [`Self::value`] for the fields of an object.
    pub fn fields(&self, fields: &mut Map<String, Value>) {
        let mut value = Value::Object(std::mem::take(fields));
        self.value(&mut value);
        if let Value::Object(redacted) = value {
            *fields = redacted;
        }
    }

    fn visit(&self, value: &mut Value, parent: &str) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => self.visit_items(items, parent),
            Value::Object(fields) => self.visit_fields(fields, parent),
            _ => {}
        }
    }

    fn visit_items(&self, items: &mut [Value], parent: &str) {
        // an option and its argument: `["deploy", "--token", "…"]`
        let mut before = String::new();
        let mut option = String::new();
        for item in items {
            let text = item.as_str().unwrap_or_default();
            let secret =
                option.starts_with('-') && secrets::takes_secret(option.as_bytes(), before.as_bytes(), text.as_bytes());
            if before.len() < 256 {
                before.push_str(&option);
                before.push(' ');
            }
            option.clear();
            if text.len() <= 128 {
                option.push_str(text);
            }
            if secret {
                self.blank(item);
            } else {
                self.visit(item, parent);
            }
        }
    }

    fn visit_fields(&self, fields: &mut Map<String, Value>, parent: &str) {
        let mut renamed = Vec::new();
        // a header or a variable as a pair: `{"name": "Authorization", "value": "…"}`
        let named = fields.contains_key("value")
            && ["name", "key", "header"]
                .iter()
                .any(|field| fields.get(*field).and_then(Value::as_str).is_some_and(|name| self.is_secret_field(name)));
        for (name, field) in fields.iter_mut() {
            // A JSON Schema names its properties: `{"properties": {"password": {"type": "string"}}}`.
            let declared = parent == "properties" && field.is_object();
            let token = secrets::is_token_name(name) && field.as_str().is_some_and(secrets::is_token);
            if !declared && (self.is_secret_field(name) || named && name == "value" || token) {
                self.blank(field);
            } else {
                self.visit(field, name);
            }
            if let Cow::Owned(clean) = self.text(name) {
                renamed.push((name.clone(), clean));
            }
        }
        for (name, clean) in renamed {
            if let Some(field) = fields.remove(&name) {
                fields.insert(clean, field);
            }
        }
    }

    /// Replaces every string and number in the value.
    fn blank(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.is_empty() || secrets::is_mark(text.as_bytes()) => {}
            Value::String(text) => *text = self.mark("field", text),
            Value::Number(number) => *value = Value::String(self.mark("field", &number.to_string())),
            Value::Array(items) => items.iter_mut().for_each(|item| self.blank(item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| self.blank(field)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Whether the value of a field or query parameter of this name is secret.
    #[must_use]
    pub fn is_secret_field(&self, name: &str) -> bool {
        self.finder.is_secret_field(name)
    }

    /// Whether the value of a query parameter of this name is secret: the same names and the short ones of URLs.
    #[must_use]
    pub fn is_secret_parameter(&self, name: &str) -> bool {
        self.is_secret_field(name)
            || matches!(
                secrets::fold(name).as_str(),
                "key" | "token" | "sig" | "signature" | "auth" | "access" | "code"
            )
    }

    /// The text that stands for a secret.
    #[must_use]
    pub fn mark(&self, rule: &str, secret: &str) -> String {
        self.masker.mark(rule, secret.as_bytes())
    }
}

/// The inside of a JSON string of the text; with `ascii`, all else is escaped, as many writers do.
fn in_json(text: &str, ascii: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if u32::from(c) < 0x20 || (ascii && !c.is_ascii()) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
