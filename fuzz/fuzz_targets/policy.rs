//! The readers of what a checkout brings to judge by: scope files and configurations. No panic on any bytes, and an
//! error says where it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::config::Config;
use toolreplay::scope::Scope;

fuzz_target!(|text: &[u8]| {
    if let Err(error) = Scope::parse(text) {
        assert!(!error.to_string().is_empty());
    }
    if let Ok(text) = std::str::from_utf8(text)
        && let Err(error) = Config::parse(text)
    {
        assert!(error.line >= 1 && error.column >= 1, "{error}");
    }
});
