//! The escapes of `$'…'`.

/// Reads the text of `$'…'` from behind its opening: what it stands for, and the length with the closing quote. None if
/// it does not end, or holds bytes that are no text.
pub(super) fn ansi_c(text: &str) -> Option<(String, usize)> {
    let mut out: Vec<u8> = Vec::new();
    let mut chars = text.char_indices().peekable();
    // a zero byte ends the value, not the quotes
    let mut ended = false;
    loop {
        let (at, char) = chars.next()?;
        let mut unit: Vec<u8> = Vec::new();
        let mut push = |code: u32| -> Option<()> {
            let char = char::from_u32(code)?;
            unit.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            Some(())
        };
        match char {
            '\'' => return Some((String::from_utf8(out).ok()?, at + 1)),
            '\\' => {
                let (_, escape) = chars.next()?;
                let mut digits = |radix: u32, most: usize, first: Option<u32>| {
                    let (mut value, mut count) = (first.unwrap_or(0), usize::from(first.is_some()));
                    while count < most
                        && let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(radix))
                    {
                        chars.next();
                        value = value.wrapping_mul(radix).wrapping_add(digit);
                        count += 1;
                    }
                    (count > 0).then_some(value)
                };
                match escape {
                    'a' => push(7)?,
                    'b' => push(8)?,
                    'e' | 'E' => push(27)?,
                    'f' => push(12)?,
                    'n' => push(10)?,
                    'r' => push(13)?,
                    't' => push(9)?,
                    'v' => push(11)?,
                    '0'..='7' => unit.push((digits(8, 3, escape.to_digit(8))? & 0xff) as u8),
                    'x' => match digits(16, 2, None) {
                        Some(value) => unit.push((value & 0xff) as u8),
                        None => unit.extend_from_slice(b"\\x"),
                    },
                    'u' => push(digits(16, 4, None)?)?,
                    'U' => push(digits(16, 8, None)?)?,
                    'c' => {
                        let (_, control) = chars.next()?;
                        push(u32::from(control) & 0x1f)?;
                    }
                    '\\' | '\'' | '"' | '?' => push(u32::from(escape))?,
                    other => {
                        push(u32::from('\\'))?;
                        push(u32::from(other))?;
                    }
                }
            }
            plain => push(u32::from(plain))?,
        }
        ended |= unit == [0];
        if !ended {
            out.extend_from_slice(&unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ansi_c;

    #[test]
    fn escapes_are_undone() {
        for (text, value, length) in [
            ("rm' x", "rm", 3),
            ("\\x72\\155'", "rm", 9),
            ("\\u0072\\U0000006d'", "rm", 17),
            ("a\\'b\\\\'", "a'b\\", 7),
            ("a\\0b' c", "a", 5),
            ("\\q'", "\\q", 3),
        ] {
            assert_eq!(ansi_c(text), Some((value.to_owned(), length)), "{text}");
        }
        for broken in ["rm", "\\", "\\xff'", "\\ud800'"] {
            assert_eq!(ansi_c(broken), None, "{broken}");
        }
    }
}
