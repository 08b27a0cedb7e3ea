//! The reader of transcripts and of seals: no panic on any bytes, the same outcome with any number of threads, and what
//! can be sealed verifies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::seal::{seal, verify};

fuzz_target!(|text: &[u8]| {
    let one = verify(text, 1).map_err(|error| error.to_string());
    assert_eq!(one, verify(text, 3).map_err(|error| error.to_string()));
    let mut sealed = Vec::new();
    if let Ok(made) = seal(text, 2, &mut sealed) {
        let chain = verify(&sealed[..], 1).expect("a seal is well-formed");
        assert!(chain.broken.is_none());
        assert_eq!((chain.links, chain.head), (made.links, made.head));
    }
});
