//! Where a string ends, by the fastest kernel there is.

use super::scan::{Kernel, Portable};

/// Where the string that `at` stands in ends: at its closing quote, or the length of `src`. What the string holds is not
/// checked.
pub(crate) fn string_end(src: &[u8], at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if super::simd::Avx2::available() {
        return string_end_on::<super::simd::Avx2>(src, at);
    }
    string_end_on::<Portable>(src, at)
}

fn string_end_on<K: Kernel>(src: &[u8], mut at: usize) -> usize {
    loop {
        at = K::skip(src, at);
        match src.get(at) {
            None | Some(b'"') => return at.min(src.len()),
            Some(b'\\') => at += 2,
            // a run of foreign text is left behind byte by byte: the kernel would stop at each of them
            Some(0x80..) => at += src[at..].iter().position(|byte| *byte < 0x80).unwrap_or(src.len() - at),
            Some(_) => at += 1,
        }
        // the kernel must not begin behind the end, which an escape can
        if at >= src.len() {
            return src.len();
        }
    }
}
