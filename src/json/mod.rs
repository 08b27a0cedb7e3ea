//! Strict JSON: one scanner that validates a text, puts it into canonical form and keeps the spans of its parts.
//!
//! The canonical form is the one byte string that stands for a value (`docs/format.md`, section 2): keys sorted by code
//! point, no spaces, everything outside ASCII as lower-case `\uXXXX`, integers digit for digit, floats as the shortest
//! text that reads back. Nothing here builds a tree: a value that already is canonical is a slice of its source.
//!
//! This module must not know what a transcript is, and must never repair what it reads.

mod canonical;
mod error;
mod number;
mod scan;
#[cfg(target_arch = "x86_64")]
mod simd;
mod text;

pub use canonical::{Canonical, MAX_TEXT, Members, Scratch, Span, Unknown, canonical, items, members};
pub use error::{JsonError, JsonErrorKind, Kind};
pub use text::decode_lossless;

/// How deep containers may nest, the outermost one counted.
pub const MAX_DEPTH: usize = 1_000;
