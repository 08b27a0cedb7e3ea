//! What is fixed about lines and their number.

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
