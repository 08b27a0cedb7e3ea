//! One word of a command, taken apart: what is known of it, what only the shell that ran it knew, and the texts inside
//! it that are commands again.
//!
//! The scanner goes through a word once and never gives up half-way: where a quote, a brace or a substitution does not
//! end, the word is broken, and a broken word is never taken for a known one.

use super::escapes;
use super::extents::Extents;
use std::borrow::Cow;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stands for itself.
    Text(String),
    /// Text outside of quotes that the shell matches against file names: `*`, `?`, `[`.
    Pattern(String),
    /// A `~` in front, and the user's name behind it, if one is given.
    Home(String),
    /// A variable. The name is empty where it is no plain one.
    Variable {
        /// Its name.
        name: String,
        /// Whether it stands in double quotes, so that it is one word whatever it holds.
        quoted: bool,
    },
    /// What a command prints.
    Output {
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// Braces that make several words of one, with the text in them.
    Braces(String),
}

/// A word as it was written and what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// As written, quotes and all.
    pub raw: String,
    /// Its parts.
    pub pieces: Vec<Piece>,
}

impl Word {
    /// A word that stands for itself.
    #[must_use]
    pub fn plain(text: &str) -> Word {
        Word { raw: text.to_owned(), pieces: vec![Piece::Text(text.to_owned())] }
    }

    /// A word of which nothing is known.
    pub(super) fn unknown(raw: &str) -> Word {
        Word { raw: raw.to_owned(), pieces: vec![Piece::Variable { name: String::new(), quoted: false }] }
    }

    /// The value, if it is fully known: no variable, no substitution, no file name pattern, no braces, no home folder.
    #[must_use]
    pub fn literal(&self) -> Option<Cow<'_, str>> {
        self.joined(|piece| match piece {
            Piece::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        })
    }

    /// The value as a path: a home folder stands as `~` or `~user`, and a `~` that was quoted as `./~`. None if a part
    /// of it is not known. A pattern stands as its characters; ask [`Word::is_pattern`].
    #[must_use]
    pub fn path(&self) -> Option<Cow<'_, str>> {
        let path = self.joined(|piece| match piece {
            Piece::Text(text) | Piece::Pattern(text) => Some(Cow::Borrowed(text)),
            Piece::Home(user) => Some(Cow::Owned(format!("~{user}"))),
            _ => None,
        })?;
        let quoted = path.starts_with('~') && !matches!(self.pieces.first(), Some(Piece::Home(_)));
        Some(if quoted { Cow::Owned(format!("./{path}")) } else { path })
    }

    /// Whether the shell matches it against file names.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Pattern(_)))
    }

    /// Whether it may become no word, one or many.
    #[must_use]
    pub fn may_split(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            // "$@" is as many words as there are arguments
            Piece::Variable { name, quoted } => !quoted || name.is_empty() || name == "@",
            Piece::Output { quoted } => !quoted,
            Piece::Pattern(_) | Piece::Braces(_) => true,
            Piece::Text(_) | Piece::Home(_) => false,
        })
    }

    /// The text that the word surely starts with.
    #[must_use]
    pub fn start(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    fn joined<'w>(&'w self, text: impl Fn(&'w Piece) -> Option<Cow<'w, str>>) -> Option<Cow<'w, str>> {
        if let [piece] = &self.pieces[..] {
            return text(piece);
        }
        let mut whole = String::new();
        for piece in &self.pieces {
            whole.push_str(&text(piece)?);
        }
        Some(Cow::Owned(whole))
    }
}

/// A text inside a word that is a script of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inner<'t> {
    pub(super) script: Cow<'t, str>,
    /// Where it starts in the word; none where it is not written as it is run.
    pub(super) at: Option<usize>,
}

/// What the scanner made of a text.
#[derive(Debug, Default)]
pub(super) struct Scanned<'t> {
    pub(super) word: Word,
    pub(super) inner: Vec<Inner<'t>>,
    /// A part of it cannot be read: it does not end, or is read in two ways.
    pub(super) broken: bool,
}

/// How a text is quoted as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// A word of a command.
    Word,
    /// The body of a here-document, arithmetic: quotes are characters.
    Body,
}

/// How deep parts of one word may stand inside each other.
const MAX_DEPTH: usize = 40;

/// Takes a word apart.
pub(super) fn scan(raw: &str, quoting: Quoting) -> Scanned<'_> {
    let extents = Extents::new(raw);
    let last_bracket = raw.rfind(']').unwrap_or(0);
    let mut scanner =
        Scanner { text: raw, at: 0, start: 0, last_bracket, depth: 0, out: Scanned::default(), extents: &extents };
    scanner.out.word.raw = raw.to_owned();
    match quoting {
        Quoting::Word => scanner.word(),
        Quoting::Body => scanner.quoted(raw.len(), false),
    }
    let mut out = scanner.out;
    if quoting == Quoting::Word {
        mark_braces(&mut out.word);
    }
    if out.broken {
        out.word = Word::unknown(raw);
    }
    out
}

struct Scanner<'t, 'e> {
    text: &'t str,
    at: usize,
    start: usize,
    last_bracket: usize,
    depth: usize,
    out: Scanned<'t>,
    extents: &'e Extents<'t>,
}

impl<'t> Scanner<'t, '_> {
    /// An end that lies in the part of the word that is read.
    fn inside(&self, end: Option<usize>) -> Option<usize> {
        end.filter(|&end| end < self.text.len())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        self.text[self.at..].starts_with(text)
    }

    /// Ends a stretch of plain text that started at `self.start`.
    fn flush(&mut self) {
        let text = &self.text[self.start..self.at];
        push_text(&mut self.out.word.pieces, text);
    }

    fn broken(&mut self) {
        self.out.broken = true;
        self.at = self.text.len();
        self.start = self.at;
    }

    /// Text outside of quotes.
    fn word(&mut self) {
        if self.looking_at("~") {
            let user = self.text[1..].find('/').map_or(&self.text[1..], |end| &self.text[1..=end]);
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
            if user.chars().all(plain) {
                self.out.word.pieces.push(Piece::Home(user.to_owned()));
                self.at = 1 + user.len();
            }
        }
        self.start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    self.flush();
                    let escaped = self.text[self.at + 1..].chars().next();
                    self.start = self.at + 1;
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                    match escaped {
                        // a line that goes on
                        Some('\n') => self.start = self.at,
                        Some(_) => {
                            // an escaped character is text, whatever it is
                            self.flush();
                            self.start = self.at;
                        }
                        None => self.broken(),
                    }
                }
                b'\'' => {
                    self.flush();
                    let Some(length) = memchr::memchr(b'\'', &self.text.as_bytes()[self.at + 1..]) else {
                        return self.broken();
                    };
                    let text = &self.text[self.at + 1..self.at + 1 + length];
                    push_quoted(&mut self.out.word.pieces, text);
                    self.at += length + 2;
                    self.start = self.at;
                }
                b'"' => self.double(1),
                b'$' if self.looking_at("$\"") => self.double(2),
                b'$' if self.looking_at("$'") => {
                    self.flush();
                    let Some((text, length)) = escapes::ansi_c(&self.text[self.at + 2..]) else {
                        return self.broken();
                    };
                    push_quoted(&mut self.out.word.pieces, &text);
                    self.at += length + 2;
                    self.start = self.at;
                }
                b'$' | b'`' => self.substitution(false),
                b'<' | b'>' if matches!(self.text.as_bytes().get(self.at + 1), Some(b'(')) => self.command(2, false),
                b'*' | b'?' => self.pattern(1),
                b'[' if self.last_bracket > self.at => self.pattern(1),
                b'@' | b'!' | b'+' if matches!(self.text.as_bytes().get(self.at + 1), Some(b'(')) => self.pattern(2),
                // what ends a word outside of quotes cannot stand in one: the word is not what it was taken for
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'<' | b'>' => return self.broken(),
                b'|' | b'(' | b')' if !self.out.word.is_pattern() => return self.broken(),
                _ => self.at += 1,
            }
        }
        self.flush();
    }

    fn pattern(&mut self, length: usize) {
        self.flush();
        self.out.word.pieces.push(Piece::Pattern(self.text[self.at..self.at + length].to_owned()));
        self.at += length;
        self.start = self.at;
    }

    /// Double quotes; `opening` bytes open them.
    fn double(&mut self, opening: usize) {
        self.flush();
        self.at += opening;
        self.start = self.at;
        let pieces = self.out.word.pieces.len();
        self.quoted(self.text.len(), true);
        if self.out.word.pieces.len() == pieces {
            self.out.word.pieces.push(Piece::Text(String::new()));
        }
    }

    /// Text in which only `$`, backquotes and some escapes mean anything, up to `end` or a closing double quote.
    fn quoted(&mut self, end: usize, closes: bool) {
        while self.at < end {
            match self.text.as_bytes()[self.at] {
                b'"' if closes => {
                    self.flush();
                    self.at += 1;
                    self.start = self.at;
                    return;
                }
                b'\\' => {
                    match self.text.as_bytes().get(self.at + 1) {
                        Some(b'$' | b'`' | b'\\') => {
                            self.flush();
                            self.start = self.at + 1;
                        }
                        Some(b'"') if closes => {
                            self.flush();
                            self.start = self.at + 1;
                        }
                        Some(b'\n') => {
                            self.flush();
                            self.start = self.at + 2;
                        }
                        _ => {
                            self.at += 1;
                            continue;
                        }
                    }
                    self.at += 2;
                }
                b'$' | b'`' => self.substitution(true),
                _ => self.at += 1,
            }
        }
        self.flush();
        if closes {
            self.broken();
        }
    }

    /// What a `$` or a backquote opens.
    fn substitution(&mut self, quoted: bool) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.broken();
        }
        if self.looking_at("`") {
            self.backquotes(quoted);
        } else if self.looking_at("$((") && self.arithmetic(quoted) {
        } else if self.looking_at("$(") {
            self.command(2, quoted);
        } else if self.looking_at("${") {
            self.braced(quoted);
        } else if self.looking_at("$[") {
            match self.inside(self.extents.extent(self.at + 2, b'[', b']')) {
                Some(end) => self.nested(self.at + 2, end, end + 1, String::new(), quoted),
                None => self.broken(),
            }
        } else {
            self.named(quoted);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// `$name`, `$1`, `$@`; a `$` before anything else is one.
    fn named(&mut self, quoted: bool) {
        let rest = &self.text[self.at + 1..];
        let length = match rest.chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!') => 1,
            _ => {
                self.at += 1;
                return;
            }
        };
        self.flush();
        self.out.word.pieces.push(Piece::Variable { name: rest[..length].to_owned(), quoted });
        self.at += 1 + length;
        self.start = self.at;
    }

    /// A substitution that holds a script; `opening` bytes open it, a parenthesis closes it.
    fn command(&mut self, opening: usize, quoted: bool) {
        self.flush();
        let inner = self.at + opening;
        let Some(end) = self.inside(self.extents.script_end(inner)) else { return self.broken() };
        self.out.inner.push(Inner { script: Cow::Borrowed(&self.text[inner..end]), at: Some(inner) });
        self.out.word.pieces.push(Piece::Output { quoted });
        self.at = end + 1;
        self.start = self.at;
    }

    fn backquotes(&mut self, quoted: bool) {
        self.flush();
        let (inner, mut at) = (self.at + 1, self.at + 1);
        let bytes = self.text.as_bytes();
        let mut script = String::new();
        let mut from = inner;
        loop {
            match bytes.get(at) {
                None => return self.broken(),
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = bytes.get(at + 1);
                    if matches!(next, Some(b'`' | b'\\' | b'$')) || (quoted && next == Some(&b'"')) {
                        script.push_str(&self.text[from..at]);
                        from = at + 1;
                    }
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
        let at_word = script.is_empty().then_some(inner);
        script.push_str(&self.text[from..at]);
        self.out.inner.push(Inner { script: Cow::Owned(script), at: at_word });
        self.out.word.pieces.push(Piece::Output { quoted });
        self.at = at + 1;
        self.start = self.at;
    }

    /// `$((…))`; says whether it is one and not a substitution that starts with a parenthesis.
    fn arithmetic(&mut self, quoted: bool) -> bool {
        let inner = self.at + 3;
        let Some(end) = self.inside(self.extents.extent(inner, b'(', b')')) else { return false };
        if self.text.as_bytes().get(end + 1) != Some(&b')') {
            return false;
        }
        self.nested(inner, end, end + 2, String::new(), quoted);
        true
    }

    /// `${…}`.
    fn braced(&mut self, quoted: bool) {
        let inner = self.at + 2;
        if matches!(self.text.as_bytes().get(inner), Some(b' ' | b'\t' | b'\n' | b'|')) {
            // a substitution in braces, which only the newest shells know
            return self.broken();
        }
        let Some(end) = self.inside(self.extents.extent(inner, b'{', b'}')) else { return self.broken() };
        let content = &self.text[inner..end];
        // inside double quotes, shells differ in what a single quote is; and a prompt is expanded once more
        if (quoted && content.contains('\'')) || content.contains("@P") {
            return self.broken();
        }
        let plain = !content.is_empty() && content.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = if plain || matches!(content, "@" | "*") { content.to_owned() } else { String::new() };
        self.nested(inner, end, end + 1, name, quoted);
    }

    /// Substitutions inside something whose own value is not known.
    fn nested(&mut self, inner: usize, end: usize, behind: usize, name: String, quoted: bool) {
        self.flush();
        let (depth, extents) = (self.depth, self.extents);
        let text = &self.text[..end];
        let mut own =
            Scanner { text, at: inner, start: inner, last_bracket: 0, depth, out: Scanned::default(), extents };
        own.quoted(end, false);
        self.out.broken |= own.out.broken;
        self.out.inner.append(&mut own.out.inner);
        // quotes that the text inside may have hide nothing from `quoted`, but single ones do keep text from running
        self.out.word.pieces.push(Piece::Variable { name, quoted });
        self.at = behind;
        self.start = self.at;
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        push_quoted(pieces, text);
    }
}

fn push_quoted(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Finds braces that make several words. Only those outside of quotes do, so it reads the word as written.
fn mark_braces(word: &mut Word) {
    let bytes = word.raw.as_bytes();
    let (mut open, mut list, mut at) = (false, false, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\'' => at += memchr::memchr(b'\'', &bytes[at + 1..]).map_or(0, |length| length + 1),
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            // the braces of a variable
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = Extents::new(&word.raw).extent(at + 2, b'{', b'}').unwrap_or(bytes.len());
            }
            b'{' => open = true,
            b',' => list |= open,
            b'.' if bytes.get(at + 1) == Some(&b'.') => list |= open,
            b'}' if list => {
                let raw = word.raw.clone();
                word.pieces = vec![Piece::Braces(raw)];
                return;
            }
            _ => {}
        }
        at += 1;
    }
}
