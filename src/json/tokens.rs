//! Strings, numbers and words: what has to change in them on the way to canonical form.

use super::error::JsonErrorKind;
use super::number::{number_len, push_float};
use super::parser::{Parser, Step};
use super::scan::{Kernel, is_simple_escape};
use super::text::{hex4, push_canonical, push_unit, utf8_char};

impl<K: Kernel> Parser<'_, K> {
    /// A string, from its opening quote to behind its closing one.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Step<()> {
        self.at = K::skip(self.src, self.at + 1);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(());
        }
        self.rest_of_string()
    }

    #[inline(never)]
    fn rest_of_string(&mut self) -> Step<()> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0x7f) => {
                    self.flush();
                    push_unit(0x7f, &mut self.s.out);
                    self.at += 1;
                    self.drop_pending();
                }
                Some(0x80..) => self.foreign_text()?,
                Some(control @ 0..0x20) => return self.fail(self.at, JsonErrorKind::Control(control)),
                Some(_) => {}
                None => return self.unexpected("the closing quote of a string"),
            }
            // runs of escapes and of foreign text have nothing plain between them
            if !matches!(self.peek(), Some(b'\\' | 0x80..)) {
                self.at = K::skip(self.src, self.at);
            }
        }
    }

    /// An escape that may have to be written differently.
    #[inline(always)]
    fn escape(&mut self) -> Step<()> {
        match self.src.get(self.at + 1).copied() {
            Some(letter) if is_simple_escape(letter) => self.at += 2,
            Some(b'/') => {
                self.flush();
                self.at += 1;
                self.drop_pending();
                self.at += 1;
            }
            Some(b'u') => match hex4(self.src.get(self.at + 2..).unwrap_or(b"")) {
                Some((unit, lower_case)) => {
                    let unit_stays = unit >= 0x7f || (unit < 0x20 && !matches!(unit, 0x08..=0x0a | 0x0c | 0x0d));
                    if unit_stays && lower_case {
                        self.at += 6;
                    } else {
                        self.flush();
                        if unit_stays {
                            push_unit(unit, &mut self.s.out);
                        } else {
                            push_canonical(u32::from(unit), &mut self.s.out);
                        }
                        self.at += 6;
                        self.drop_pending();
                    }
                }
                None => return self.bad_escape(6),
            },
            _ => return self.bad_escape(2),
        }
        Ok(())
    }

    #[cold]
    fn bad_escape(&mut self, len: usize) -> Step<()> {
        let rest = &self.src[self.at..];
        if rest.len() < len {
            self.at = self.src.len();
            return self.unexpected("the rest of an escape");
        }
        let shown = rest[..len].iter().take_while(|byte| byte.is_ascii_graphic()).map(|&byte| byte as char).collect();
        self.fail(self.at, JsonErrorKind::Escape(shown))
    }

    /// A run of text outside ASCII.
    #[inline(always)]
    fn foreign_text(&mut self) -> Step<()> {
        self.flush();
        while let Some(byte @ 0x80..) = self.peek() {
            match utf8_char(&self.src[self.at..]) {
                Some((code, len)) => {
                    push_canonical(code, &mut self.s.out);
                    self.at += len;
                }
                None => return self.fail(self.at, JsonErrorKind::Utf8 { byte }),
            }
        }
        self.drop_pending();
        Ok(())
    }

    #[inline]
    pub(super) fn number(&mut self) -> Step<()> {
        let Some((len, float)) = number_len(&self.src[self.at..]) else {
            return self.bad_number();
        };
        let token = &self.src[self.at..self.at + len];
        if float {
            return self.float(token);
        }
        if token == b"-0" {
            self.flush();
            self.at += 1;
            self.drop_pending();
            self.at += 1;
        } else {
            self.at += len;
        }
        Ok(())
    }

    #[cold]
    fn bad_number(&mut self) -> Step<()> {
        if !self.src[self.at..].starts_with(b"-Infinity") {
            self.at += 1;
            return self.unexpected("a digit after '-'");
        }
        self.unexpected("a value")
    }

    fn float(&mut self, token: &[u8]) -> Step<()> {
        let value = std::str::from_utf8(token).ok().and_then(|text| text.parse::<f64>().ok());
        let Some(value) = value.filter(|value| value.is_finite()) else {
            let shown = String::from_utf8_lossy(token.get(..40).unwrap_or(token)).into_owned();
            return self.fail(self.at, JsonErrorKind::Overflow(shown));
        };
        let mut text = [0; 40];
        let out_len = self.s.out.len();
        push_float(value, &mut self.s.out);
        let text_len = self.s.out.len() - out_len;
        if &self.s.out[out_len..] == token {
            self.s.out.truncate(out_len);
            self.at += token.len();
            return Ok(());
        }
        text[..text_len].copy_from_slice(&self.s.out[out_len..]);
        self.s.out.truncate(out_len);
        self.flush();
        self.s.out.extend_from_slice(&text[..text_len]);
        self.at += token.len();
        self.drop_pending();
        Ok(())
    }

    #[inline]
    pub(super) fn word(&mut self, word: &'static [u8]) -> Step<()> {
        if self.src[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let given = &self.src[self.at..];
        if given.len() < word.len() && word.starts_with(given) {
            self.at = self.src.len();
        }
        self.unexpected("a value")
    }
}
