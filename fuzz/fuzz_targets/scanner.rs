//! The strict scanner: no panic on any bytes; what it accepts, another parser accepts; the canonical form is a fixed
//! point, whether it was reached over sorted or unsorted members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::json::{self, Scratch};
use toolreplay::transcript::{Layout, parse_record};

fuzz_target!(|text: &[u8]| {
    let mut scratch = Scratch::default();
    for layout in [Layout::Transcript, Layout::Sealed] {
        let _ = parse_record(text, layout, &mut scratch);
    }
    let Ok(span) = json::canonical(text, &mut scratch) else { return };
    let once = span.get(text, &scratch).to_vec();
    assert!(once.is_ascii());
    let again = json::canonical(&once, &mut scratch).expect("a canonical text is strict JSON");
    assert_eq!(again.get(&once, &scratch).as_slice(), Some(&once[..]), "a canonical text is its own slice");
    // it knows no lone surrogates; all else that is strict here is JSON there
    if !once.windows(3).any(|window| window.eq_ignore_ascii_case(b"\\ud")) {
        serde_json::from_slice::<serde::de::IgnoredAny>(text).expect("strict JSON is JSON");
    }
});
