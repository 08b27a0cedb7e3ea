//! String scanning: how far the bytes of a JSON string already are in canonical form.
//!
//! Two kernels do the same work: a portable one that reads eight bytes at a time, and the vector one in `simd`.
//! A property test holds them equal.

/// Plain bytes stand for themselves in a canonical string: printable ASCII but `"` and `\`.
pub(super) const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\'
}

/// The letters whose two-byte escape is the canonical one (`\/` is not: it becomes `/`).
pub(super) const fn is_simple_escape(letter: u8) -> bool {
    matches!(letter, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// A way to scan strings. Both functions expect `at` to stand inside a string, not behind a backslash.
pub(super) trait Kernel: Copy {
    /// The first position from `at` that neither is plain nor belongs to a simple escape, or the length of `src`.
    fn skip(src: &[u8], at: usize) -> usize;

    /// Where the closing quote stands, if the string is short and all plain; a quick path for keys.
    fn short_plain(src: &[u8], at: usize) -> Option<usize>;
}

/// Byte by byte, for the last bytes of a text.
#[inline(always)]
pub(super) fn skip_tail(src: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = src.get(at) {
        if is_plain(byte) {
            at += 1;
        } else if byte == b'\\' && src.get(at + 1).is_some_and(|&letter| is_simple_escape(letter)) {
            at += 2;
        } else {
            break;
        }
    }
    at
}

/// Eight bytes at a time in safe code, for every processor.
#[derive(Clone, Copy)]
pub(super) struct Portable;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The high bit of the lowest byte that is not plain is set; higher bytes may be marked wrongly.
#[inline(always)]
fn stop_bits(word: u64) -> u64 {
    let less = word.wrapping_sub(ONES * 0x20);
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let delete = (word ^ (ONES * 0x7f)).wrapping_sub(ONES);
    (word | less | quote | backslash | delete) & HIGH
}

impl Kernel for Portable {
    #[inline]
    fn skip(src: &[u8], mut at: usize) -> usize {
        while let Some(&chunk) = src.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let stop = stop_bits(u64::from_le_bytes(chunk));
            if stop == 0 {
                at += 8;
                continue;
            }
            at += (stop.trailing_zeros() / 8) as usize;
            if src[at] != b'\\' || !src.get(at + 1).is_some_and(|&letter| is_simple_escape(letter)) {
                return at;
            }
            at += 2;
        }
        skip_tail(src, at)
    }

    #[inline(always)]
    fn short_plain(src: &[u8], mut at: usize) -> Option<usize> {
        let limit = src.len().min(at + 64);
        while at < limit && is_plain(src[at]) {
            at += 1;
        }
        (src.get(at) == Some(&b'"')).then_some(at)
    }
}
