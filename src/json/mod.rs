//! Strict JSON: one scanner that validates a text, puts it into canonical form and keeps the spans of its parts.
//!
//! The canonical form is the one byte string that stands for a value (`docs/format.md`, section 2): keys sorted by code
//! point, no spaces, everything outside ASCII as lower-case `\uXXXX`, integers digit for digit, floats as the shortest
//! text that reads back. Nothing here builds a tree: a value that already is canonical is a slice of its source.
//!
//! This module must not know what a transcript is, and must never repair what it reads.

mod bounds;
mod error;
mod canonical;
mod number;
mod text;
mod scan;
#[cfg(target_arch = "x86_64")]
mod simd;
mod strings;
mod parser;
mod sort;
mod tokens;
pub mod view;

pub use bounds::{MAX_DEPTH, MAX_TEXT};
pub use canonical::{Canonical, Members, Scratch, Span, Unknown, items};
pub use error::{JsonError, JsonErrorKind, Kind};
pub use parser::{canonical, members};
pub(crate) use strings::string_end;
pub use text::{canonical_string, decode_lossless};

#[cfg(test)]
mod tests {
    use super::parser::{Canonicalise, run_on};
    use super::scan::{Kernel, Portable};
    use super::*;
    use proptest::prelude::*;

    /// What a kernel makes of a text: the canonical form or the error.
    fn canonical_with<K: Kernel>(text: &[u8]) -> Result<Vec<u8>, JsonError> {
        let mut scratch = Scratch::default();
        run_on::<K, _>(text, &mut scratch, Canonicalise).map(|span| span.get(text, &scratch).to_vec())
    }

    /// Bytes of the kinds that decide anything, and runs of plain ones long enough to fill vector blocks.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            6 => "[ -~]{0,80}".prop_map(String::into_bytes),
            4 => proptest::sample::select(&br#""\/bfnrtu{}[]:,0a"#[..]).prop_map(|byte| vec![byte]),
            2 => proptest::sample::select(&[0_u8, 0x1f, 0x7f, 0x80, 0xc3, 0xe2, 0xff][..]).prop_map(|byte| vec![byte]),
            2 => "(\\\\){1,70}".prop_map(String::into_bytes),
            1 => any::<String>().prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    #[cfg(target_arch = "x86_64")]
    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(20_261_130), ..ProptestConfig::with_cases(1_000) })]
        #[test]
        fn the_kernels_are_equal(text in bytes()) {
            if !simd::Avx2::available() {
                return Ok(());
            }
            for at in 0..=text.len() {
                prop_assert_eq!(Portable::skip(&text, at), simd::Avx2::skip(&text, at));
                // a kernel may leave a key to the slow path, but must not find another end
                if let (Some(one), Some(other)) = (Portable::short_plain(&text, at), simd::Avx2::short_plain(&text, at)) {
                    prop_assert_eq!(one, other);
                }
            }
            let quoted = [b"{\"", text.as_slice(), b"\":1}"].concat();
            for text in [&text, &quoted] {
                prop_assert_eq!(canonical_with::<Portable>(text), canonical_with::<simd::Avx2>(text));
            }
        }
    }

    #[test]
    fn the_portable_kernel_alone_is_enough() {
        let text = br#" { "b" : "\u00E9\/" , "a" : [ 1E5 , -0 ] } "#;
        assert_eq!(canonical_with::<Portable>(text).unwrap(), br#"{"a":[100000.0,0],"b":"\u00e9/"}"#);
    }

    #[test]
    fn items_of_an_array() {
        let found: Vec<&[u8]> = items(br#"[1,"a,]\"",{"b":[2,3]},[]]"#).collect();
        assert_eq!(found, [&b"1"[..], br#""a,]\"""#, br#"{"b":[2,3]}"#, b"[]"]);
        assert_eq!(items(b"[]").count(), 0);
    }
}
