//! Takes secrets out of what is about to be recorded.
//!
//! Three rules, each on decoded text: the literal secrets the recording side was told of, fields whose name says
//! that their value is secret, and the shapes of well-known keys. A secret is replaced by `[REDACTED:rule:3f9a]`;
//! the last part is a keyed digest whose key dies with the redactor, so that within one capture equal secrets stay
//! equal and different ones different, and nobody can test a guess. Only copies are redacted, never what is
//! forwarded. Not searched: base64 content of images and files.

mod shapes;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::clock;

/// A known secret shorter than this is not searched for: it would hit ordinary words.
pub const SHORTEST_SECRET: usize = 8;
/// How many times JSON text inside JSON text is opened.
const NESTED: usize = 3;

/// Redacts text and JSON values for one capture.
pub struct Redactor {
    key: [u8; 32],
    /// Longest first, so that a secret which contains another goes whole.
    secrets: Vec<memchr::memmem::Finder<'static>>,
    fields: BTreeSet<String>,
    tags: Mutex<HashMap<[u8; 2], [u8; 32]>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.secrets.len())
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
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
                known.insert(secret.to_owned());
            }
        }
        let mut known: Vec<String> = known.into_iter().collect();
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self {
            key: clock::random(),
            secrets: known.iter().map(|secret| memchr::memmem::Finder::new(secret.as_bytes()).into_owned()).collect(),
            fields: fields.into_iter().map(|field| fold(field.as_ref())).collect(),
            tags: Mutex::new(HashMap::new()),
        }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if secret.find(text.as_bytes()).is_some() {
                text = Cow::Owned(self.replace(&text, |text, from| {
                    let start = from + secret.find(text.as_bytes().get(from..)?)?;
                    Some(shapes::Hit { rule: "known-secret", range: start..start + secret.needle().len() })
                }));
            }
        }
        for find in [shapes::key_shaped, shapes::assigned] {
            if find(&text, 0).is_some() {
                text = Cow::Owned(self.replace(&text, find));
            }
        }
        text
    }

    fn replace(&self, text: &str, find: impl Fn(&str, usize) -> Option<shapes::Hit>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(hit) = find(text, at) {
            // Every rule cuts at ASCII or at the ends of a needle, so these are character boundaries.
            let (Some(before), Some(secret)) = (text.get(at..hit.range.start), text.get(hit.range.clone())) else {
                break;
            };
            out.push_str(before);
            out.push_str(&self.mark(hit.rule, secret));
            at = hit.range.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// Redacts every string of the value, keys included, and the values of sensitive fields.
    pub fn value(&self, value: &mut Value) {
        self.visit(value, "", NESTED);
    }

    /// [`Self::value`] for the fields of an object.
    pub fn fields(&self, fields: &mut Map<String, Value>) {
        let mut value = Value::Object(std::mem::take(fields));
        self.value(&mut value);
        if let Value::Object(redacted) = value {
            *fields = redacted;
        }
    }

    /// Returns true when a field was redacted by its name.
    fn visit(&self, value: &mut Value, parent: &str, nested: usize) -> bool {
        match value {
            Value::String(text) => self.visit_text(text, nested),
            Value::Array(items) => items.iter_mut().fold(false, |hit, item| self.visit(item, parent, nested) | hit),
            Value::Object(fields) => {
                let mut hit = false;
                let mut renamed = Vec::new();
                // a header or a variable as a pair: `{"name": "Authorization", "value": "…"}`
                let named = fields.contains_key("value")
                    && ["name", "key", "header"].iter().any(|field| {
                        fields.get(*field).and_then(Value::as_str).is_some_and(|name| self.is_secret_field(name))
                    });
                for (name, field) in fields.iter_mut() {
                    // A JSON Schema names its properties: `{"properties": {"password": {"type": "string"}}}`.
                    let declared = parent == "properties" && field.is_object();
                    let secret = self.is_secret_field(name) || named && name == "value" || is_token(name, field);
                    if !declared && secret {
                        hit |= self.blank(field);
                    } else {
                        hit |= self.visit(field, name, nested);
                    }
                    if let Cow::Owned(clean) = self.text(name) {
                        renamed.push((name.clone(), clean));
                    }
                }
                hit |= !renamed.is_empty();
                for (name, clean) in renamed {
                    if let Some(field) = fields.remove(&name) {
                        fields.insert(clean, field);
                    }
                }
                hit
            }
            _ => false,
        }
    }

    fn visit_text(&self, text: &mut String, nested: usize) -> bool {
        let mut hit = false;
        if nested > 0
            && text.starts_with(['{', '['])
            && text.contains('"')
            && let Ok(mut inner) = serde_json::from_str::<Value>(text)
            && self.visit(&mut inner, "", nested - 1)
        {
            *text = inner.to_string();
            hit = true;
        }
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
        hit
    }

    /// Replaces every string and number in the value.
    fn blank(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) if text.is_empty() || is_mark(text) => false,
            Value::String(text) => {
                *text = self.mark("field", text);
                true
            }
            Value::Number(number) => {
                *value = Value::String(self.mark("field", &number.to_string()));
                true
            }
            Value::Array(items) => items.iter_mut().fold(false, |hit, item| self.blank(item) | hit),
            Value::Object(fields) => fields.iter_mut().fold(false, |hit, (_, field)| self.blank(field) | hit),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Whether the value of a field or query parameter of this name is secret.
    #[must_use]
    pub fn is_secret_field(&self, name: &str) -> bool {
        if name.len() > 128 {
            return false;
        }
        // Most names are none; folding every one would cost more than all the rest.
        if self.fields.is_empty() && !may_be_sensitive(name) {
            return false;
        }
        let folded = fold(name);
        // `PassWord` is one word to whoever wrote it
        self.fields.contains(&folded)
            || is_sensitive(&folded)
            || matches!(folded.as_str(), "pass_word" | "pass_words" | "pass_phrase" | "pass_wd")
    }

    /// Whether the value of a query parameter of this name is secret: the same names and the short ones of URLs.
    #[must_use]
    pub fn is_secret_parameter(&self, name: &str) -> bool {
        self.is_secret_field(name)
            || matches!(fold(name).as_str(), "key" | "token" | "sig" | "signature" | "auth" | "access" | "code")
    }

    /// The text that stands for a secret.
    #[must_use]
    pub fn mark(&self, rule: &str, secret: &str) -> String {
        let digest = *blake3::keyed_hash(&self.key, secret.as_bytes()).as_bytes();
        let short = [digest[0], digest[1]];
        let mut tags = self.tags.lock().unwrap_or_else(PoisonError::into_inner);
        // Two secrets with one short tag: the later gets a longer one.
        let length = if *tags.entry(short).or_insert(digest) == digest { 2 } else { 8 };
        format!("[REDACTED:{rule}:{}]", hex::encode(&digest[..length]))
    }
}

/// Whether a field is a token: models write their words into fields of that name as well, so the value must look like one.
fn is_token(name: &str, value: &Value) -> bool {
    let random = |text: &str| {
        text.len() >= 20
            && text.bytes().all(|byte| byte.is_ascii_graphic())
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && text.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    name.eq_ignore_ascii_case("token") && value.as_str().is_some_and(random)
}

fn is_mark(text: &str) -> bool {
    text.starts_with("[REDACTED:") && text.ends_with(']') && text.bytes().filter(|&b| b == b'[').count() == 1
}

/// `X-Api-Key`, `xApiKey` and `x.api_key` are one name: `x_api_key`.
fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && previous_lower {
                folded.push('_');
            }
            previous_lower = c.is_lowercase() || c.is_numeric();
            folded.extend(c.to_lowercase());
        } else {
            if !folded.ends_with('_') && !folded.is_empty() {
                folded.push('_');
            }
            previous_lower = false;
        }
    }
    folded.truncate(folded.trim_end_matches('_').len());
    folded
}

/// Runs of whole segments that make a name sensitive wherever they stand in it; sorted, of at most three segments.
const SENSITIVE: &[&str] = &[
    "access_key",
    "access_token",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "bearer",
    "bearer_token",
    "connect_sid",
    "connection_string",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "csrf",
    "csrf_token",
    "dsn",
    "id_token",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "private_key",
    "pwd",
    "refresh_token",
    "secret",
    "secret_key",
    "secrets",
    "security_token",
    "session_token",
    "sessionid",
    "signing_key",
    "xsrf_token",
];
/// Last segments that say the value is about a secret and is none.
const ABOUT: &[&str] = &[
    "count", "cost", "limit", "budget", "length", "policy", "required", "enabled", "type", "expires", "expiry", "at",
    "in", "name", "url", "uri", "hint", "field", "id",
];

/// Parts of which every sensitive name has one.
const PARTS: &[&str] =
    &["auth", "key", "token", "cookie", "pass", "pwd", "secret", "bearer", "cred", "connect", "dsn", "csrf", "session"];

fn may_be_sensitive(name: &str) -> bool {
    static FINDER: LazyLock<Option<aho_corasick::AhoCorasick>> =
        LazyLock::new(|| aho_corasick::AhoCorasick::builder().ascii_case_insensitive(true).build(PARTS).ok());
    // Letters beyond ASCII may fold into one.
    !name.is_ascii() || FINDER.as_ref().is_none_or(|finder| finder.is_match(name))
}

fn is_sensitive(folded: &str) -> bool {
    let last = folded.rsplit('_').next().unwrap_or_default();
    if ABOUT.contains(&last) {
        return false;
    }
    // Every run of one to three segments, as a slice of the name.
    let starts = std::iter::once(0).chain(folded.match_indices('_').map(|(at, _)| at + 1));
    starts.into_iter().any(|start| {
        let ends = folded[start..].match_indices('_').map(|(at, _)| start + at).chain([folded.len()]);
        ends.take(3).any(|end| SENSITIVE.binary_search(&&folded[start..end]).is_ok())
    })
}

#[cfg(test)]
mod tests;
