//! What one agent may call.

use crate::json::{self, JsonErrorKind, Kind, Scratch};
use crate::sanitize::{clip, visible};
use crate::tools::ToolSet;
use std::sync::Arc;

/// The largest scope file that is read, in bytes.
pub const MAX_SCOPE: u64 = 16 << 20;

/// A scope file: an agent and the tools it was declared to be allowed to call.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The tools.
    pub allowed_tools: ToolSet,
}

/// Why a scope file is not one. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: column {column}: {what}")]
pub struct ScopeError {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
    /// What is wrong and what was expected.
    pub what: String,
}

impl Scope {
    /// Reads a scope file: an object with exactly `agent`, a string, and `allowed_tools`, an array of strings (and,
    /// for editors, `$schema`).
    ///
    /// # Errors
    /// The first thing that is wrong. A field the tool does not know is refused: it would look as if it were enforced.
    pub fn parse(text: &[u8]) -> Result<Scope, ScopeError> {
        let mut scratch = Scratch::default();
        if text.starts_with(b"\xef\xbb\xbf") {
            return Err(error(
                text,
                0,
                "the file starts with a byte order mark; save it as UTF-8 without one".to_owned(),
            ));
        }
        let names = ["agent", "allowed_tools", "$schema"];
        let found = json::members(text, &names, &mut scratch).map_err(|json| match json.kind {
            JsonErrorKind::NotAnObject(kind) => error(
                text,
                json.offset,
                format!("a scope must be an object with 'agent' and 'allowed_tools', found {kind}"),
            ),
            kind => error(text, json.offset, visible(&kind.to_string()).into_owned()),
        })?;
        if let Some(unknown) = found.unknown.first() {
            let name = visible(&clip(&unknown.name, 80)).into_owned();
            return Err(error(
                text,
                unknown.offset,
                format!("unexpected field '{name}'; a scope has 'agent' and 'allowed_tools'"),
            ));
        }
        let field = |place: usize, expected: Kind| {
            let Some(span) = found.values[place] else {
                return Err(error(text, 0, format!("missing field '{}', which must be {expected}", names[place])));
            };
            let value = span.get(text, &scratch).to_vec();
            let kind = Kind::of(&value);
            if kind == expected {
                return Ok(value);
            }
            let what = format!("field '{}' must be {expected}, found {kind}", names[place]);
            Err(error(text, found.offsets[place] as usize, what))
        };
        if found.values[2].is_some() {
            field(2, Kind::String)?;
        }
        let agent = json::decode_lossless(&field(0, Kind::String)?).into();
        let mut allowed_tools = ToolSet::default();
        for (place, item) in json::items(&field(1, Kind::Array)?).enumerate() {
            if Kind::of(item) != Kind::String {
                let what = format!("item {place} of 'allowed_tools' must be a string, found {}", Kind::of(item));
                return Err(error(text, found.offsets[1] as usize, what));
            }
            allowed_tools.insert_canonical(item);
        }
        Ok(Scope { agent, allowed_tools })
    }
}

pub(super) fn error(text: &[u8], offset: usize, what: String) -> ScopeError {
    let before = &text[..offset.min(text.len())];
    let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u64 + 1;
    ScopeError { line, column, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read() {
        let scope =
            Scope::parse(b"{\n \"agent\": \"docs-reader\", \"allowed_tools\": [\"a\", \"\\u0062\", \"c,]\"]\n}\n")
                .unwrap();
        assert_eq!(&*scope.agent, "docs-reader");
        for name in ["\"a\"", "\"b\"", "\"c,]\""] {
            assert!(scope.allowed_tools.contains(name.as_bytes()), "{name}");
        }
        assert!(!scope.allowed_tools.contains(b"\"A\""));
    }

    #[test]
    fn everything_else_is_refused_with_its_place() {
        for (text, message) in [
            ("{}", "line 1: column 1: missing field 'agent', which must be a string"),
            ("{\"agent\":\"a\"}", "line 1: column 1: missing field 'allowed_tools', which must be an array"),
            (
                "{\"agent\":1,\"allowed_tools\":[]}",
                "line 1: column 10: field 'agent' must be a string, found an integer",
            ),
            (
                "{\"agent\":\"a\",\n\"allowed_tools\":{}}",
                "line 2: column 17: field 'allowed_tools' must be an array, found an object",
            ),
            (
                "{\"agent\":\"a\",\"allowed_tools\":[\"x\",null]}",
                "line 1: column 30: item 1 of 'allowed_tools' must be a string, found null",
            ),
            (
                "{\"agent\":\"a\",\"allowed_tools\":[],\n  \"denied\":[]}",
                "line 2: column 3: unexpected field 'denied'; a scope has 'agent' and 'allowed_tools'",
            ),
            ("[]", "line 1: column 1: a scope must be an object with 'agent' and 'allowed_tools', found an array"),
            (
                "{\"agent\":\"a\",\"agent\":\"b\"}",
                "line 1: column 14: duplicate key 'agent': two readers would see two different records",
            ),
            ("", "line 1: column 1: not JSON: truncated, expected a value but the text ends here"),
        ] {
            assert_eq!(Scope::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }
}
