//! Proofs that a text is what it looks like: checksums, decoded parts, randomness.

/// Whether `body` ends in the checksum that GitHub and npm put at the end of a token: six digits to the base 62 of the
/// CRC-32 of all before them.
pub(super) fn crc_holds(body: &[u8]) -> bool {
    let Some((random, sum)) = body.split_last_chunk::<6>() else { return false };
    let digits = sum.iter().try_fold(0_u64, |value, &digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'Z' => digit - b'A' + 10,
            b'a'..=b'z' => digit - b'a' + 36,
            _ => return None,
        };
        Some(value * 62 + u64::from(digit))
    });
    digits == Some(u64::from(crc32(random)))
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// The bytes of a base64 text of either alphabet, padding or not.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0_u32, 0);
    for &byte in text.iter().filter(|byte| **byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
        }
    }
    Some(out)
}

/// Shannon's entropy of the bytes, in bits a byte.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in text {
        counts[byte as usize] += 1;
    }
    let length = text.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|&count| f64::from(count) / length).map(|p| -p * p.log2()).sum()
}

/// Whether a text looks drawn at random: letters and digits, and nearly as many different ones as chance would give.
pub(super) fn is_random(text: &[u8]) -> bool {
    let letters = text.iter().any(u8::is_ascii_alphabetic);
    let digits = text.iter().any(u8::is_ascii_digit);
    letters && digits && is_varied(text)
}

/// The same without a word on which characters.
pub(super) fn is_varied(text: &[u8]) -> bool {
    let needed = match text.len() {
        0..8 => return false,
        8..16 => 2.5,
        16..24 => 3.0,
        _ if text.iter().all(u8::is_ascii_hexdigit) => 3.0,
        _ => 3.4,
    };
    entropy(text) >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_tokens() {
        // the published example of the form
        assert!(crc_holds(b"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"));
        assert!(!crc_holds(b"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"));
        assert!(!crc_holds(b"AQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"));
        assert!(!crc_holds(b"short"));
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn base64_of_either_alphabet() {
        assert_eq!(base64(b"aGk_").as_deref(), Some(&b"hi?"[..]));
        assert_eq!(base64(b"aGk/").as_deref(), Some(&b"hi?"[..]));
        assert_eq!(base64(b"aA==").as_deref(), Some(&b"h"[..]));
        assert_eq!(base64(b"a b"), None);
    }

    #[test]
    fn what_is_random() {
        for random in [&b"aB3dE6gH9jK2mN5pQ8sT"[..], b"0f3a9c27be5d4418aa60c7e1d2935b8f", b"hunter2!x"] {
            assert!(is_random(random));
        }
        for plain in [&b"aaaaaaaaaaaaaaaaaaa1"[..], b"user-account-identifier", b"short1", b"1234567890"] {
            assert!(!is_random(plain), "{}", String::from_utf8_lossy(plain));
        }
    }
}
