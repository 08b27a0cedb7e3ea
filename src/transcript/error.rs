//! Why a file is not a transcript, and where.

use crate::json::{JsonError, JsonErrorKind, Kind};
use crate::limits::Exceeded;
use crate::sanitize::{clip, visible};
use std::fmt;

/// Why a line is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordError {
    /// It is not strict JSON, or no object.
    Json(JsonErrorKind),
    /// Fields that a record does not have, sorted by name.
    Unexpected(Vec<String>),
    /// Fields that a record must have, sorted by name.
    Missing(Vec<&'static str>),
    /// A field with a value of another kind.
    FieldKind {
        /// The field.
        field: &'static str,
        /// The kind it must have.
        expected: Kind,
        /// The kind it has.
        found: Kind,
    },
    /// An index that is not the next one.
    IndexOrder {
        /// The next index.
        expected: u64,
        /// The digits that stand there.
        found: String,
    },
    /// A byte order mark at the start of the file, by the name of its encoding.
    ByteOrderMark(&'static str),
    /// More records than [`MAX_RECORDS`](super::lines::MAX_RECORDS).
    TooManyRecords,
    /// More than the run takes in.
    Exceeded(Exceeded),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Json(JsonErrorKind::DuplicateKey(key)) => {
                write!(f, "{}", visible(&JsonErrorKind::DuplicateKey(key.clone()).to_string()))
            }
            RecordError::Json(kind) => write!(f, "{kind}"),
            RecordError::Unexpected(names) => {
                const SHOWN: usize = 10;
                let shown: Vec<String> =
                    names.iter().take(SHOWN).map(|name| visible(&clip(name, 80)).into_owned()).collect();
                write!(f, "unexpected field(s): {}", shown.join(", "))?;
                if names.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
            }
            RecordError::Missing(names) => write!(f, "missing field(s): {}", names.join(", ")),
            RecordError::FieldKind { field, expected, found } => {
                write!(f, "field '{field}' must be {expected}, found {found}")
            }
            RecordError::IndexOrder { expected, found } => {
                write!(f, "field 'index' must be {expected}, the next one; found {}", clip(found, 40))
            }
            RecordError::ByteOrderMark(encoding) => {
                write!(f, "the file starts with a byte order mark ({encoding}); save it as UTF-8 without one")
            }
            RecordError::Exceeded(exceeded) => write!(f, "{exceeded}"),
            RecordError::TooManyRecords => write!(f, "more than {} records in one file", super::lines::MAX_RECORDS),
        }
    }
}

/// Why a file could not be read as a transcript.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A line is not a record. Lines and columns count from 1, columns in characters; a column of 0 says that the error
    /// is about the line as a whole.
    #[error("line {line}: {}{kind}", ColumnPrefix(*.column))]
    Record {
        /// The physical line.
        line: u64,
        /// The column on it.
        column: u64,
        /// What is wrong.
        kind: RecordError,
    },
    /// The file could not be read on.
    #[error("cannot read after line {line}: {error}")]
    Io {
        /// The last line that was read.
        line: u64,
        /// What the operating system said.
        error: std::io::Error,
    },
}

struct ColumnPrefix(u64);

impl fmt::Display for ColumnPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            column => write!(f, "column {column}: "),
        }
    }
}

impl ReadError {
    /// A read that failed behind a line: a limit that was exceeded is a fault of the line that follows.
    pub(crate) fn behind(line: u64, error: std::io::Error) -> ReadError {
        match Exceeded::of(&error) {
            Some(exceeded) => LineError::whole(RecordError::Exceeded(exceeded)).on_line(line + 1),
            None => ReadError::Io { line, error },
        }
    }

    /// The line the error is about.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self {
            ReadError::Record { line, .. } | ReadError::Io { line, .. } => *line,
        }
    }

    /// The column the error is about; 0: the line as a whole.
    #[must_use]
    pub fn column(&self) -> u64 {
        match self {
            ReadError::Record { column, .. } => *column,
            ReadError::Io { .. } => 0,
        }
    }

    /// The error without its place.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            ReadError::Record { kind, .. } => kind.to_string(),
            ReadError::Io { error, .. } => format!("cannot be read: {error}"),
        }
    }
}

/// An error in a line, before the number of the line is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineError {
    /// Counted in characters from 1; 0: the line as a whole.
    pub(crate) column: u64,
    pub(crate) kind: RecordError,
}

impl LineError {
    pub(crate) fn whole(kind: RecordError) -> LineError {
        LineError { column: 0, kind }
    }

    pub(crate) fn at(line: &[u8], offset: usize, kind: RecordError) -> LineError {
        LineError { column: column(line, offset), kind }
    }

    pub(crate) fn json(line: &[u8], error: JsonError) -> LineError {
        LineError::at(line, error.offset, RecordError::Json(error.kind))
    }

    pub(crate) fn on_line(self, line: u64) -> ReadError {
        ReadError::Record { line, column: self.column, kind: self.kind }
    }
}

/// The column of a byte: one more than the characters before it. Bytes that are no UTF-8 count one each.
fn column(line: &[u8], offset: usize) -> u64 {
    let before = line.get(..offset).unwrap_or(line);
    let characters: usize =
        before.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum();
    characters as u64 + 1
}
