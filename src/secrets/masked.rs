//! A text with its secrets replaced by marks.

use super::found::{Kind, Match};
use super::mask::Masker;
use super::view;

/// The text with its secrets replaced by marks; what is no secret stays byte for byte.
pub fn masked(text: &[u8], matches: &[Match], masker: &Masker, out: &mut Vec<u8>) {
    let mut at = 0;
    for one in matches {
        let (Some(before), Some(secret)) = (text.get(at..one.range.start), text.get(one.range.clone())) else {
            continue;
        };
        out.extend_from_slice(before);
        // the value of a member has its own escapes
        let level = one.level + u8::from(one.kind == Kind::Field);
        let mark = masker.mark(one.id, &view::peeled(secret, level));
        if one.kind == Kind::Bare {
            // a number becomes a string, as deep as it stands
            let quote = (0..one.level).fold(b"\"".to_vec(), |quote, _| {
                quote
                    .iter()
                    .flat_map(|&byte| if matches!(byte, b'"' | b'\\') { vec![b'\\', byte] } else { vec![byte] })
                    .collect()
            });
            out.extend_from_slice(&quote);
            out.extend_from_slice(mark.as_bytes());
            out.extend_from_slice(&quote);
        } else {
            out.extend_from_slice(mark.as_bytes());
        }
        at = one.range.end;
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
}
