//! Transcripts and sealed transcripts: the strict, streaming reader.
//!
//! One record a line, as `docs/format.md` says. Nothing is repaired and nothing is guessed: a line either is a record
//! or ends the reading with an error that names line and column. Memory is bounded by the longest line.

mod blocks;
mod error;
mod ordered;
mod record;

pub use blocks::{Block, Blocks};
pub use error::{ReadError, RecordError};
pub(crate) use ordered::blocks_in_order;
pub use ordered::{Preceding, ScanError, Visit, scan};
pub(crate) use record::index_value;
pub use record::{Fields, Layout, Record, Records, parse_record};

/// How many records one transcript may hold: positions are kept in 32 bits.
pub const MAX_RECORDS: u64 = u32::MAX as u64;

/// Bytes that a line may hold and still be blank.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The length of a line in UTF-16 code units, its line end apart.
#[must_use]
pub fn utf16_width(line: &[u8]) -> u32 {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // every byte but continuations begins a character; those of four bytes take two units
    line.iter().map(|&byte| u32::from(byte & 0xc0 != 0x80) + u32::from(byte >= 0xf0)).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn widths_count_utf16_units() {
        assert_eq!(super::utf16_width("aé✓😀\r".as_bytes()), 5);
    }
}
