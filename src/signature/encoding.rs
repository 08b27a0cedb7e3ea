//! Base64, as keys and signatures are written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Standard base64 with padding, as RFC 4648 has it.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads it back, strictly: no blanks, no missing padding, no bits that are not used.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
