//! Where something ends that opened in a script: quotes, braces, parentheses, here-documents.
//!
//! The search recurses where the shell's grammar does, to a bounded depth, and reads a bounded multiple of the text.

use super::escapes;
use std::cell::Cell;

/// How deep one thing may stand in another.
const MAX_DEPTH: usize = 60;

/// Finds ends in one text.
pub(super) struct Extents<'t> {
    text: &'t str,
    fuel: Cell<usize>,
    depth: Cell<usize>,
}

struct Level<'e>(&'e Cell<usize>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl<'t> Extents<'t> {
    pub(super) fn new(text: &'t str) -> Extents<'t> {
        Extents { text, fuel: Cell::new(text.len().saturating_mul(64).saturating_add(4_096)), depth: Cell::new(0) }
    }

    fn enter(&self) -> Option<Level<'_>> {
        self.depth.set(self.depth.get() + 1);
        let level = Level(&self.depth);
        (self.depth.get() <= MAX_DEPTH).then_some(level)
    }

    fn burn(&self) -> Option<()> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        Some(())
    }

    /// The end of something that opened before `from`: where its own `close` stands, nested ones and quotes passed over.
    pub(super) fn extent(&self, from: usize, open: u8, close: u8) -> Option<usize> {
        let _level = self.enter()?;
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (from, 0_usize);
        while let Some(&byte) = bytes.get(at) {
            self.burn()?;
            match byte {
                b'\\' => at += 1,
                b'\'' => at += 1 + memchr::memchr(b'\'', &bytes[at + 1..])?,
                b'"' => at = self.double_end(at + 1)?,
                b'`' => at = backquote_end(bytes, at + 1)?,
                b'$' if bytes.get(at + 1) == Some(&b'(') && open != b'(' => at = self.script_end(at + 2)?,
                b'$' if bytes.get(at + 1) == Some(&b'{') && open != b'{' => at = self.extent(at + 2, b'{', b'}')?,
                // braces of a variable nest, others are characters
                byte if byte == open && (open != b'{' || at > from && bytes[at - 1] == b'$') => depth += 1,
                byte if byte == close => {
                    if depth == 0 {
                        return Some(at);
                    }
                    depth -= 1;
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The closing double quote of a text that opened before `from`.
    fn double_end(&self, from: usize) -> Option<usize> {
        let _level = self.enter()?;
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            self.burn()?;
            match *bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => at += 1,
                b'`' => at = backquote_end(bytes, at + 1)?,
                b'$' if bytes.get(at + 1) == Some(&b'(') => at = self.script_end(at + 2)?,
                b'$' if bytes.get(at + 1) == Some(&b'{') => at = self.extent(at + 2, b'{', b'}')?,
                _ => {}
            }
            at += 1;
        }
    }

    /// The parenthesis that closes a script which starts at `from`: quotes, comments, here-documents and the patterns of
    /// `case` are passed over.
    pub(super) fn script_end(&self, from: usize) -> Option<usize> {
        let _level = self.enter()?;
        let bytes = self.text.as_bytes();
        let (mut at, mut depth, mut cases) = (from, 0_usize, 0_usize);
        let mut documents: Vec<(String, bool)> = Vec::new();
        // whether a word could start here
        let mut fresh = true;
        while let Some(&byte) = bytes.get(at) {
            self.burn()?;
            let was_fresh =
                std::mem::replace(&mut fresh, matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')'));
            match byte {
                b'\\' => at += 1,
                b'\'' if at > from && bytes[at - 1] == b'$' => at += escapes::ansi_c(&self.text[at + 1..])?.1,
                b'\'' => at += 1 + memchr::memchr(b'\'', &bytes[at + 1..])?,
                b'"' => at = self.double_end(at + 1)?,
                b'`' => at = backquote_end(bytes, at + 1)?,
                b'#' if was_fresh => {
                    at += memchr::memchr(b'\n', &bytes[at..])?;
                    continue;
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => at = self.extent(at + 2, b'{', b'}')?,
                b'$' if bytes[at..].starts_with(b"$((") => match self.extent(at + 3, b'(', b')') {
                    Some(end) if bytes.get(end + 1) == Some(&b')') => at = end + 1,
                    _ => at = self.script_end(at + 2)?,
                },
                b'$' if bytes.get(at + 1) == Some(&b'(') => at = self.script_end(at + 2)?,
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' if cases > 0 => {}
                b')' => return Some(at),
                b'<' if bytes[at..].starts_with(b"<<<") => at += 2,
                b'<' if bytes.get(at + 1) == Some(&b'<') => {
                    let (delimiter, tabs, end) = delimiter(self.text, at + 2)?;
                    documents.push((delimiter, tabs));
                    at = end;
                    continue;
                }
                b'\n' if !documents.is_empty() => {
                    at += 1;
                    for (delimiter, tabs) in std::mem::take(&mut documents) {
                        at = document_end(bytes, at, delimiter.as_bytes(), tabs)?;
                    }
                    fresh = true;
                    continue;
                }
                b'c' if was_fresh && is_word(bytes, at, b"case") => cases += 1,
                b'e' if was_fresh && is_word(bytes, at, b"esac") => cases = cases.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        None
    }
}

fn backquote_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'`' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn is_word(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    bytes[at..].starts_with(word)
        && matches!(bytes.get(at + word.len()), None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')'))
}

/// The delimiter of a here-document behind its `<<`, whether tabs in front of its lines are dropped, and where it ends.
fn delimiter(text: &str, from: usize) -> Option<(String, bool, usize)> {
    let bytes = text.as_bytes();
    let tabs = bytes.get(from) == Some(&b'-');
    let mut at = from + usize::from(tabs);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let start = at;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' => at += 1 + memchr::memchr(b'\'', &bytes[at + 1..])?,
            b'"' => at += 1 + memchr::memchr(b'"', &bytes[at + 1..])?,
            b'\\' => at += 1,
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
            _ => {}
        }
        at += 1;
    }
    let delimiter: String = text.get(start..at)?.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    (start < at).then_some((delimiter, tabs, at))
}

/// Behind the line that ends a here-document.
fn document_end(bytes: &[u8], from: usize, delimiter: &[u8], tabs: bool) -> Option<usize> {
    let mut at = from;
    loop {
        let end = at + memchr::memchr(b'\n', bytes.get(at..)?)?;
        let mut line = &bytes[at..end];
        while tabs && line.first() == Some(&b'\t') {
            line = &line[1..];
        }
        at = end + 1;
        if line == delimiter {
            return Some(at);
        }
    }
}
