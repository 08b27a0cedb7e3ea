//! How long and how deep a text may be.

/// The longest text, in bytes. Canonical text is at most six times as long, so every position fits 32 bits.
pub const MAX_TEXT: usize = 640 << 20;

/// How deep containers may nest, the outermost one counted.
pub const MAX_DEPTH: usize = 1_000;
