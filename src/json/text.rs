//! Strings: from escaped source text to code points, and from code points to canonical escapes.

/// Value of a hexadecimal digit; `UPPER` is set on `A` to `F`, `NONE` on what is no digit.
const HEX_VALUE: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut digit = 0;
    while digit < 10 {
        table[b'0' as usize + digit] = digit as u8;
        digit += 1;
    }
    let mut letter = 0;
    while letter < 6 {
        table[b'a' as usize + letter] = 10 + letter as u8;
        table[b'A' as usize + letter] = (10 + letter as u8) | UPPER;
        letter += 1;
    }
    table
};
const UPPER: u8 = 0x40;
const NONE: u8 = 0x80;

/// The code unit of four hexadecimal digits at the start of `src`, and whether all letters are lower case.
#[inline(always)]
pub(super) fn hex4(src: &[u8]) -> Option<(u16, bool)> {
    let digits = src.first_chunk::<4>()?.map(|byte| HEX_VALUE[byte as usize]);
    let all = digits[0] | digits[1] | digits[2] | digits[3];
    if all & NONE != 0 {
        return None;
    }
    let unit = digits.iter().fold(0, |unit, digit| unit << 4 | u16::from(digit & 0xf));
    Some((unit, all & UPPER == 0))
}

/// The code point and length of the UTF-8 sequence that starts `src`, as strictly as RFC 3629; `None`: no UTF-8.
#[inline(always)]
pub(super) fn utf8_char(src: &[u8]) -> Option<(u32, usize)> {
    let next = |at: usize| match src.get(at) {
        Some(&byte) if byte & 0xc0 == 0x80 => Some(u32::from(byte & 0x3f)),
        _ => None,
    };
    let first = u32::from(*src.first()?);
    match first {
        0..=0x7f => Some((first, 1)),
        0xc2..=0xdf => Some(((first & 0x1f) << 6 | next(1)?, 2)),
        0xe0..=0xef => {
            let code = (first & 0xf) << 12 | next(1)? << 6 | next(2)?;
            (code >= 0x800 && !(0xd800..0xe000).contains(&code)).then_some((code, 3))
        }
        0xf0..=0xf4 => {
            let code = (first & 7) << 18 | next(1)? << 12 | next(2)? << 6 | next(3)?;
            (0x1_0000..0x11_0000).contains(&code).then_some((code, 4))
        }
        _ => None,
    }
}

/// Appends `\uXXXX` in lower case.
#[inline]
pub(super) fn push_unit(unit: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u32| DIGITS[usize::from(unit >> shift & 0xf)];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// Appends one code point as the canonical form writes it inside a string.
#[inline]
pub(super) fn push_canonical(code: u32, out: &mut Vec<u8>) {
    match code {
        0x22 => out.extend_from_slice(b"\\\""),
        0x5c => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        0x20..=0x7e => out.push(code as u8),
        0x1_0000.. => {
            let rest = code - 0x1_0000;
            push_unit(0xd800 | (rest >> 10) as u16, out);
            push_unit(0xdc00 | (rest & 0x3ff) as u16, out);
        }
        _ => push_unit(code as u16, out),
    }
}

/// Calls `each` with every code point of a valid escaped text; lone surrogates come as they are.
fn code_points(text: &[u8], mut each: impl FnMut(u32)) {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'\\' {
            let (code, len) = utf8_char(&text[at..]).unwrap_or((0xfffd, 1));
            each(code);
            at += len;
            continue;
        }
        let letter = text.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        let code = match letter {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => 0x0a,
            b'r' => 0x0d,
            b't' => 0x09,
            b'u' => {
                let unit = hex4(text.get(at..).unwrap_or(b"")).map_or(0xfffd, |(unit, _)| u32::from(unit));
                at += 4;
                match low_surrogate(text.get(at..).unwrap_or(b"")) {
                    Some(low) if (0xd800..0xdc00).contains(&unit) => {
                        at += 6;
                        0x1_0000 + ((unit - 0xd800) << 10 | (low - 0xdc00))
                    }
                    _ => unit,
                }
            }
            other => u32::from(other),
        };
        each(code);
    }
}

/// The low surrogate that an escape at the start of `src` stands for.
fn low_surrogate(src: &[u8]) -> Option<u32> {
    let unit = u32::from(hex4(src.strip_prefix(b"\\u")?)?.0);
    (0xdc00..0xe000).contains(&unit).then_some(unit)
}

/// Appends the text between a string's quotes as WTF-8, whose byte order is code point order and which can hold lone
/// surrogates. `text` must have passed the scanner.
pub(super) fn decode_wtf8(text: &[u8], out: &mut Vec<u8>) {
    code_points(text, |code| {
        let low = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
        match code {
            0..0x80 => out.push(code as u8),
            0x80..0x800 => out.extend_from_slice(&[0xc0 | (code >> 6) as u8, low(0)]),
            0x800..0x1_0000 => out.extend_from_slice(&[0xe0 | (code >> 12) as u8, low(6), low(0)]),
            _ => out.extend_from_slice(&[0xf0 | (code >> 18) as u8, low(12), low(6), low(0)]),
        }
    });
}

/// The canonical form of a text as a JSON string, with its quotes.
#[must_use]
pub fn canonical_string(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    text.chars().for_each(|char| push_canonical(u32::from(char), &mut out));
    out.push(b'"');
    out
}

/// The text of a valid JSON string literal (with its quotes). A lone surrogate, which no Rust string can hold, stays
/// the six characters `\udXXX` that the canonical form has for it.
#[must_use]
pub fn decode_lossless(literal: &[u8]) -> String {
    let text = literal.strip_prefix(b"\"").unwrap_or(literal);
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    let mut out = String::with_capacity(text.len());
    code_points(text, |code| match char::from_u32(code) {
        Some(char) => out.push(char),
        None => out.push_str(&format!("\\u{code:04x}")),
    });
    out
}
