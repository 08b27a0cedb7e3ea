//! What can be wrong with a JSON text, and where.

use std::fmt;

/// A JSON text that was refused: what was wrong at which byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct JsonError {
    /// Byte offset into the text, at most its length.
    pub offset: usize,
    /// What was wrong there.
    pub kind: JsonErrorKind,
}

/// The kinds of JSON value, as error messages name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number without fraction and exponent.
    Integer,
    /// A number with a fraction or an exponent.
    Float,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl Kind {
    /// The kind of a valid JSON value, by its canonical text.
    #[must_use]
    pub fn of(text: &[u8]) -> Kind {
        match text.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ if text.iter().any(|b| matches!(b, b'.' | b'e' | b'E')) => Kind::Float,
            _ => Kind::Integer,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Integer => "an integer",
            Kind::Float => "a float",
            Kind::Boolean => "a boolean",
            Kind::Null => "null",
        })
    }
}

/// The ways in which a text is not strict JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// Another token was due.
    #[error("not JSON: expected {expected}, found {found}")]
    Unexpected {
        /// What would have been right.
        expected: &'static str,
        /// What stands there, safe to print.
        found: String,
    },
    /// The text stops in the middle of a value.
    #[error("not JSON: truncated, expected {expected} but the text ends here")]
    Truncated {
        /// What would have had to follow.
        expected: &'static str,
    },
    /// A byte sequence that no UTF-8 text holds.
    #[error("not UTF-8: byte 0x{byte:02x}; save the file as UTF-8")]
    Utf8 {
        /// The first byte of the sequence.
        byte: u8,
    },
    /// `NaN`, `Infinity` or `-Infinity`.
    #[error("not JSON: {0} is no JSON number; write null or a string instead")]
    NotFinite(&'static str),
    /// A float beyond the range of a double.
    #[error("the number {0} overflows a double")]
    Overflow(String),
    /// A raw control character inside a string.
    #[error("not JSON: control character U+{0:04X} inside a string must be escaped")]
    Control(u8),
    /// A backslash with a letter that JSON does not know.
    #[error("not JSON: invalid escape {0} in a string")]
    Escape(String),
    /// The same key twice in one object.
    #[error("duplicate key {0}: two readers would see two different records")]
    DuplicateKey(String),
    /// Containers nest deeper than [`MAX_DEPTH`](super::bounds::MAX_DEPTH).
    #[error("nesting deeper than {} levels", super::bounds::MAX_DEPTH)]
    TooDeep,
    /// The text is longer than [`MAX_TEXT`](super::bounds::MAX_TEXT).
    #[error("the text is longer than {} MiB", super::bounds::MAX_TEXT >> 20)]
    TooLong,
    /// A whole value where an object was due.
    #[error("expected an object, found {0}")]
    NotAnObject(Kind),
}

/// A key as a message shows it: cut to a readable length.
pub(super) fn quoted(name: &str) -> String {
    let mut shown: String = name.chars().take(80).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("'{shown}'")
}
