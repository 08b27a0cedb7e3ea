//! The vector kernel of the string scanner: 64 bytes a step with AVX2.
//!
//! This is the crate's one module with `unsafe`: loads of 16 or 32 bytes that stand inside the slice, behind a check of
//! the length, and calls of functions whose processor features were detected at run time (`Avx2::available`).
#![allow(unsafe_code, reason = "vector loads; every one is preceded by a length check")]

use super::scan::{Kernel, skip_tail};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16,
};

/// The vector kernel. Use it only where [`Avx2::available`] said so.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

impl Avx2 {
    /// Whether this processor can run the kernel.
    pub(super) fn available() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
    }
}

/// A bit for each of the 16 bytes at `at` that is not plain; `None` where fewer are left.
#[inline(always)]
fn stops_16(src: &[u8], at: usize) -> Option<u32> {
    let chunk = src.get(at..at + 16)?;
    // SAFETY: `chunk` is 16 bytes long, the load is unaligned, and SSE2 is part of x86-64.
    unsafe {
        let bytes = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
        // signed compare: bytes from 0x80 on are negative and fall out as well
        let printable = _mm_cmpgt_epi8(bytes, _mm_set1_epi8(0x1f));
        let special = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x22)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c))),
            _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)),
        );
        Some(_mm_movemask_epi8(_mm_andnot_si128(special, printable)) as u32 ^ 0xffff)
    }
}

impl Kernel for Avx2 {
    #[inline]
    fn skip(src: &[u8], at: usize) -> usize {
        // most strings end within 16 bytes: no call for those
        if let Some(stops) = stops_16(src, at)
            && stops != 0
        {
            let stop = at + stops.trailing_zeros() as usize;
            if src[stop] != b'\\' {
                return stop;
            }
        }
        // SAFETY: this kernel is chosen only where `available` found the features.
        unsafe { skip_blocks(src, at) }
    }

    #[inline(always)]
    fn short_plain(src: &[u8], at: usize) -> Option<usize> {
        let stops = stops_16(src, at)?;
        let stop = at + stops.trailing_zeros() as usize;
        (stops != 0 && src[stop] == b'"').then_some(stop)
    }
}

/// Which bytes of a block stand behind an escaping backslash.
///
/// A run of backslashes escapes every second byte after its start. Adding nothing but subtractions and carries finds
/// them for all runs at once: `!odd` positions a run starts on decide whether the byte behind it is escaped.
/// `carry` is 1 where the first byte of the block is escaped by the block before, and is set for the next one.
#[inline(always)]
fn escaped_bytes(backslashes: u64, carry: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carry;
    let codes = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    let escaped = codes ^ (backslashes | *carry);
    *carry = (codes & backslashes) >> 63;
    escaped
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn mask(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes) as u32)
}

/// Scans 64 bytes a step; escapes are resolved by bit arithmetic, so a simple escape never ends a step.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn skip_blocks(src: &[u8], mut at: usize) -> usize {
    // A byte is an escape letter when its two nibbles share a bit here: rows by low nibble, columns by high nibble.
    // 0x22: bit 0; 0x5c: bit 1; 0x62 0x66 0x6e: bit 2; 0x72 0x74: bit 3.
    let low_nibbles = _mm256_setr_epi8(
        0, 0, 0b1101, 0, 0b1000, 0, 0b0100, 0, 0, 0, 0, 0, 0b0010, 0, 0b0100, 0, //
        0, 0, 0b1101, 0, 0b1000, 0, 0b0100, 0, 0, 0, 0, 0, 0b0010, 0, 0b0100, 0,
    );
    let high_nibbles = _mm256_setr_epi8(
        0, 0, 0b0001, 0, 0, 0b0010, 0b0100, 0b1000, 0, 0, 0, 0, 0, 0, 0, 0, //
        0, 0, 0b0001, 0, 0, 0b0010, 0b0100, 0b1000, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    let nibble = _mm256_set1_epi8(0x0f);
    let mut carry = 0_u64;
    while let Some(block) = src.get(at..at + 64) {
        // SAFETY: `block` is 64 bytes long and both loads are unaligned.
        let (first, second) = unsafe {
            let start = block.as_ptr().cast::<__m256i>();
            (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1)))
        };
        let both = |low: __m256i, high: __m256i| mask(low) | mask(high) << 32;
        let equal = |byte: i8| {
            let wanted = _mm256_set1_epi8(byte);
            both(_mm256_cmpeq_epi8(first, wanted), _mm256_cmpeq_epi8(second, wanted))
        };
        let printable = |bytes| {
            _mm256_andnot_si256(
                _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f)),
                _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x1f)),
            )
        };
        let quotes = equal(0x22);
        let backslashes = equal(0x5c);
        let others = !both(printable(first), printable(second));
        let (escaped, stops) = if backslashes | carry == 0 {
            (0, quotes | others)
        } else {
            let escaped = escaped_bytes(backslashes, &mut carry);
            let no_letter = |bytes| {
                // the shuffle yields 0 for bytes from 0x80 on, which stop as `others` anyway
                let rows = _mm256_shuffle_epi8(low_nibbles, _mm256_and_si256(bytes, nibble));
                let columns =
                    _mm256_shuffle_epi8(high_nibbles, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble));
                _mm256_cmpeq_epi8(_mm256_and_si256(rows, columns), _mm256_setzero_si256())
            };
            let no_letters = both(no_letter(first), no_letter(second));
            (escaped, (quotes & !escaped) | others | (escaped & no_letters))
        };
        if stops != 0 {
            let first_stop = stops.trailing_zeros();
            // a bad escape is reported at its backslash
            return at + first_stop as usize - (escaped >> first_stop & 1) as usize;
        }
        at += 64;
    }
    skip_tail(src, at - carry as usize)
}
