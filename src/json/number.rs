//! Numbers: their grammar, and floats as the shortest text that reads back.

/// Length of the JSON number that starts `src`, and whether it has a fraction or an exponent. `None`: no number.
#[inline(always)]
pub(super) fn number_len(src: &[u8]) -> Option<(usize, bool)> {
    let digits_from = |mut at: usize| {
        while matches!(src.get(at), Some(b'0'..=b'9')) {
            at += 1;
        }
        at
    };
    let mut at = usize::from(src.first() == Some(&b'-'));
    match src.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = digits_from(at + 1),
        _ => return None,
    }
    let mut float = false;
    if src.get(at) == Some(&b'.') && matches!(src.get(at + 1), Some(b'0'..=b'9')) {
        at = digits_from(at + 2);
        float = true;
    }
    if matches!(src.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(src.get(at + 1), Some(b'+' | b'-')));
        let first = at + 1 + sign;
        if matches!(src.get(first), Some(b'0'..=b'9')) {
            at = digits_from(first + 1);
            float = true;
        }
    }
    Some((at, float))
}

/// Appends a finite float as CPython's `repr` writes it: the shortest digits that read back, in positional notation
/// where the decimal point stands within `-4 < point <= 16`, else with an exponent of at least two digits.
pub(super) fn push_float(value: f64, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = Decimal::read(buffer.format_finite(value).as_bytes());
    shortest.write(out);
}

/// Significant digits and where the decimal point stands: `0.d1d2d3… × 10^point`.
struct Decimal {
    digits: [u8; 24],
    len: usize,
    point: i32,
}

impl Decimal {
    /// Reads any usual spelling of a positive decimal number (at most 24 digits, as shortest digits are).
    fn read(text: &[u8]) -> Decimal {
        let mut digits = [0; 24];
        let mut len = 0;
        let mut seen = 0;
        let mut fraction_from = None;
        let mut exponent = 0_i32;
        for (at, &byte) in text.iter().enumerate() {
            match byte {
                b'.' => fraction_from = Some(seen),
                b'e' | b'E' => {
                    exponent = signed(&text[at + 1..]);
                    break;
                }
                digit => {
                    seen += 1;
                    // leading zeros only move the point
                    if len > 0 || digit != b'0' {
                        if len < digits.len() {
                            digits[len] = digit;
                        }
                        len += 1;
                    }
                }
            }
        }
        let leading_zeros = seen - len as i32;
        let point = fraction_from.unwrap_or(seen) - leading_zeros + exponent;
        let mut len = len.min(digits.len());
        while len > 1 && digits[len - 1] == b'0' {
            len -= 1;
        }
        Decimal { digits, len, point }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let digits = &self.digits[..self.len];
        if !(-3..=16).contains(&self.point) {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            let exponent = self.point - 1;
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            let magnitude = exponent.unsigned_abs();
            if magnitude >= 100 {
                out.push(b'0' + (magnitude / 100) as u8);
            }
            out.push(b'0' + (magnitude / 10 % 10) as u8);
            out.push(b'0' + (magnitude % 10) as u8);
        } else if self.point <= 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', self.point.unsigned_abs() as usize));
            out.extend_from_slice(digits);
        } else {
            let whole = self.point as usize;
            if whole >= digits.len() {
                out.extend_from_slice(digits);
                out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
                out.extend_from_slice(b".0");
            } else {
                out.extend_from_slice(&digits[..whole]);
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
    }
}

fn signed(text: &[u8]) -> i32 {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let magnitude = digits.iter().fold(0_i32, |sum, digit| sum * 10 + i32::from(digit - b'0'));
    if negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_cpython_writes_them() {
        for (value, text) in [
            (1e5, "100000.0"),
            (1e16, "1e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (0.000_01, "1e-05"),
            (0.000_1, "0.0001"),
            (-0.0, "-0.0"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (1.5e-10, "1.5e-10"),
            (123_456_789.125, "123456789.125"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (2e23, "2e+23"),
        ] {
            let mut out = Vec::new();
            push_float(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn a_number_ends_where_its_grammar_ends() {
        for (text, len, float) in [
            ("0", 1, false),
            ("-0,", 2, false),
            ("01", 1, false),
            ("1.", 1, false),
            ("1.5e+3]", 6, true),
            ("1e", 1, false),
        ] {
            assert_eq!(number_len(text.as_bytes()), Some((len, float)), "{text}");
        }
        assert_eq!(number_len(b"-"), None);
        assert_eq!(number_len(b"+1"), None);
    }
}
