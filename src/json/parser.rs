//! The canonicaliser: one pass over the bytes of a text.
//!
//! `copied..at` is the stretch of source that already is canonical and not yet copied. It is copied only when something
//! has to change, so a value in which nothing changes is handed back as a slice of its source. Objects whose keys do
//! not ascend are put in order afterwards: small ones by moving bytes, large ones by a note that says in which order
//! their members are to be read (a `Reorder`), so that no byte is moved more than a bounded number of times however
//! deep the nesting is.

use super::bounds::{MAX_DEPTH, MAX_TEXT};
use super::canonical::{Member, Members, Open, Scratch, Span, Unknown, key_text};
use super::error::{JsonError, JsonErrorKind, Kind, quoted};
use super::scan::{Kernel, Portable};
use super::text::{decode_lossless, decode_wtf8, utf8_char};
use std::marker::PhantomData;

/// Puts one JSON text into canonical form. White space around the value is allowed.
///
/// # Errors
/// The first thing that is not strict JSON, with its byte offset.
pub fn canonical(source: &[u8], scratch: &mut Scratch) -> Result<Span, JsonError> {
    with_kernel(source, scratch, Canonicalise)
}

/// Reads one JSON text that must be an object and puts each member's value into canonical form by itself.
///
/// # Errors
/// The first thing that is not strict JSON, with its byte offset; else, a value that is no object.
pub fn members<const N: usize>(
    source: &[u8],
    names: &[&str; N],
    scratch: &mut Scratch,
) -> Result<Members<N>, JsonError> {
    with_kernel(source, scratch, Split(names))
}

/// A piece of work for a parser, whichever kernel it runs on.
pub(super) trait Work {
    type Output;
    fn run<K: Kernel>(&self, parser: &mut Parser<'_, K>) -> Step<Self::Output>;
}

pub(super) struct Canonicalise;
impl Work for Canonicalise {
    type Output = Span;
    fn run<K: Kernel>(&self, parser: &mut Parser<'_, K>) -> Step<Span> {
        parser.whole()
    }
}

struct Split<'n, const N: usize>(&'n [&'n str; N]);
impl<const N: usize> Work for Split<'_, N> {
    type Output = Members<N>;
    fn run<K: Kernel>(&self, parser: &mut Parser<'_, K>) -> Step<Members<N>> {
        parser.split(self.0)
    }
}

fn with_kernel<W: Work>(source: &[u8], scratch: &mut Scratch, work: W) -> Result<W::Output, JsonError> {
    #[cfg(target_arch = "x86_64")]
    if super::simd::Avx2::available() {
        return run_on::<super::simd::Avx2, W>(source, scratch, work);
    }
    run_on::<Portable, W>(source, scratch, work)
}

pub(super) fn run_on<K: Kernel, W: Work>(
    source: &[u8],
    scratch: &mut Scratch,
    work: W,
) -> Result<W::Output, JsonError> {
    if source.len() > MAX_TEXT {
        return Err(JsonError { offset: 0, kind: JsonErrorKind::TooLong });
    }
    scratch.reset();
    let mut parser =
        Parser::<K> { src: source, at: 0, copied: 0, levels: MAX_DEPTH, s: scratch, error: None, kernel: PhantomData };
    match work.run(&mut parser) {
        Ok(output) => Ok(output),
        Err(Failed) => Err(parser.error.unwrap_or_else(|| unexpected(source, parser.at, "a value"))),
    }
}

/// The parser holds the error.
pub(super) struct Failed;
pub(super) type Step<T> = Result<T, Failed>;

pub(super) struct Parser<'a, K> {
    pub(super) src: &'a [u8],
    pub(super) at: usize,
    /// Start of the stretch of source that is canonical as it stands and not copied yet.
    pub(super) copied: usize,
    /// How many levels of containers a value may have.
    pub(super) levels: usize,
    pub(super) s: &'a mut Scratch,
    pub(super) error: Option<JsonError>,
    pub(super) kernel: PhantomData<K>,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The error for a byte that does not fit the grammar, or for the end of the text.
#[cold]
fn unexpected(src: &[u8], at: usize, expected: &'static str) -> JsonError {
    let rest = src.get(at..).unwrap_or(b"");
    let kind = match rest.first() {
        None => JsonErrorKind::Truncated { expected },
        Some(_) if rest.starts_with(b"NaN") => JsonErrorKind::NotFinite("NaN"),
        Some(_) if rest.starts_with(b"Infinity") => JsonErrorKind::NotFinite("Infinity"),
        Some(_) if rest.starts_with(b"-Infinity") => JsonErrorKind::NotFinite("-Infinity"),
        Some(&byte) => match utf8_char(rest).map(|(code, _)| char::from_u32(code)) {
            None => JsonErrorKind::Utf8 { byte },
            Some(Some(char)) if char.is_ascii_graphic() => {
                JsonErrorKind::Unexpected { expected, found: format!("'{char}'") }
            }
            Some(char) => {
                let found = format!("U+{:04X}", char.map_or(0xfffd, u32::from));
                JsonErrorKind::Unexpected { expected, found }
            }
        },
    };
    JsonError { offset: at.min(src.len()), kind }
}

impl<'a, K: Kernel> Parser<'a, K> {
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.src.get(self.at).copied()
    }

    #[cold]
    pub(super) fn fail<T>(&mut self, offset: usize, kind: JsonErrorKind) -> Step<T> {
        self.error = Some(JsonError { offset, kind });
        Err(Failed)
    }

    #[cold]
    pub(super) fn unexpected<T>(&mut self, expected: &'static str) -> Step<T> {
        self.error = Some(unexpected(self.src, self.at, expected));
        Err(Failed)
    }

    /// Copies the pending stretch.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        let pending = self.at - self.copied;
        match self.src.get(self.copied..).and_then(|rest| rest.first_chunk::<32>()) {
            // one copy of a fixed size is cheaper than a call for the exact one
            Some(chunk) if pending <= 32 => {
                let len = self.s.out.len();
                self.s.out.extend_from_slice(chunk);
                self.s.out.truncate(len + pending);
            }
            _ => self.s.out.extend_from_slice(&self.src[self.copied..self.at]),
        }
        self.copied = self.at;
    }

    /// Leaves out what stands between the last flush and the current position.
    #[inline(always)]
    pub(super) fn drop_pending(&mut self) {
        self.copied = self.at;
    }

    /// Skips white space, leaving it out of the copy.
    #[inline(always)]
    fn space(&mut self) {
        if let Some(byte) = self.peek()
            && byte <= b' '
            && is_space(byte)
        {
            self.flush();
            self.at += 1;
            while self.peek().is_some_and(is_space) {
                self.at += 1;
            }
            self.drop_pending();
        }
    }

    /// Skips white space where nothing is pending.
    #[inline(always)]
    fn free_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// Where the next byte would stand in `out`, were everything pending copied.
    #[inline(always)]
    fn position(&self) -> u32 {
        (self.s.out.len() + self.at - self.copied) as u32
    }

    /// The text and nothing but white space around it.
    fn whole(&mut self) -> Step<Span> {
        self.free_space();
        let span = self.spanned()?;
        self.end()?;
        Ok(span)
    }

    fn end(&mut self) -> Step<()> {
        self.free_space();
        if self.at == self.src.len() { Ok(()) } else { self.unexpected("the end of the text") }
    }

    fn split<const N: usize>(&mut self, names: &[&str; N]) -> Step<Members<N>> {
        let mut found = Members { values: [None; N], offsets: [0; N], unknown: Vec::new() };
        self.free_space();
        let start = self.at;
        if self.peek() != Some(b'{') {
            let span = self.spanned()?;
            self.end()?;
            let value = span.get(self.src, self.s);
            let kind = value.as_slice().map_or_else(|| Kind::of(&[value.first_byte()]), Kind::of);
            return self.fail(start, JsonErrorKind::NotAnObject(kind));
        }
        self.at += 1;
        self.levels -= 1;
        self.free_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.end()?;
            return Ok(found);
        }
        loop {
            let key_at = self.at;
            let which = self.top_key(names, &mut found)?;
            self.free_space();
            if self.peek() != Some(b':') {
                return self.unexpected("':' after a key");
            }
            self.at += 1;
            self.free_space();
            let value_at = self.at;
            let span = self.spanned()?;
            if let Some(which) = which {
                if found.values[which].is_some() {
                    return self.fail(key_at, JsonErrorKind::DuplicateKey(format!("'{}'", names[which])));
                }
                found.values[which] = Some(span);
                found.offsets[which] = value_at as u32;
            }
            self.free_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.unexpected("',' or '}' after a member"),
            }
            self.free_space();
        }
        self.at += 1;
        self.end()?;
        Ok(found)
    }

    /// A key of the outermost object: which name it is, or a note that it is none of them.
    #[inline]
    fn top_key<const N: usize>(&mut self, names: &[&str; N], found: &mut Members<N>) -> Step<Option<usize>> {
        let offset = self.at;
        self.copied = self.at;
        let (out_len, keys_len) = (self.s.out.len(), self.s.keys.len());
        let member = self.key()?;
        let key = key_text(self.src, &self.s.keys, &member);
        let which = names.iter().position(|name| name.as_bytes() == key);
        if which.is_none() {
            let name = decode_lossless(&self.src[offset..self.at]);
            if found.unknown.iter().any(|unknown| unknown.name == name) {
                return self.fail(offset, JsonErrorKind::DuplicateKey(quoted(&name)));
            }
            // enough to name them; no list that grows with a hostile line
            if found.unknown.len() < 64 {
                found.unknown.push(Unknown { name, offset });
            }
        }
        self.s.out.truncate(out_len);
        self.s.keys.truncate(keys_len);
        Ok(which)
    }

    /// One value with a span of its own.
    #[inline]
    fn spanned(&mut self) -> Step<Span> {
        let (base, source_start) = (self.s.out.len(), self.at);
        let (first_reorder, first_piece) = (self.s.reorders.len(), self.s.pieces.len());
        self.copied = source_start;
        self.value()?;
        if self.s.out.len() == base && self.copied == source_start {
            self.copied = self.at;
            return Ok(Span { start: source_start as u32, end: self.at as u32, ..Span::default() });
        }
        self.flush();
        if self.s.pieces.len() > first_piece {
            self.s.reorders[first_reorder..].sort_unstable_by_key(|reorder| reorder.start);
        }
        Ok(Span {
            start: base as u32,
            end: self.s.out.len() as u32,
            rewritten: true,
            first_reorder: first_reorder as u32,
            last_reorder: self.s.reorders.len() as u32,
        })
    }

    /// One value. Containers are kept on a stack of our own, so depth costs no call depth.
    fn value(&mut self) -> Step<()> {
        let floor = self.s.open.len();
        'value: loop {
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{') => {
                    self.push_open(true)?;
                    if self.peek() != Some(b'}') {
                        self.member()?;
                        continue 'value;
                    }
                    self.s.open.pop();
                    self.at += 1;
                }
                Some(b'[') => {
                    self.push_open(false)?;
                    if self.peek() != Some(b']') {
                        continue 'value;
                    }
                    self.s.open.pop();
                    self.at += 1;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return self.unexpected("a value"),
            }
            // a value is complete: what holds it goes on or ends
            loop {
                let open = match self.s.open.last() {
                    Some(&open) if self.s.open.len() > floor => open,
                    _ => return Ok(()),
                };
                self.space();
                match (self.peek(), open.object) {
                    (Some(b','), object) => {
                        self.at += 1;
                        self.space();
                        if object {
                            self.member()?;
                        }
                        continue 'value;
                    }
                    (Some(b'}'), true) => self.close_object(open)?,
                    (Some(b']'), false) => {}
                    (_, true) => return self.unexpected("',' or '}' after a member"),
                    (_, false) => return self.unexpected("',' or ']' after an item"),
                }
                self.s.open.pop();
                self.at += 1;
            }
        }
    }

    #[inline(always)]
    fn push_open(&mut self, object: bool) -> Step<()> {
        if self.s.open.len() >= self.levels {
            return self.fail(self.at, JsonErrorKind::TooDeep);
        }
        self.s.open.push(Open {
            object,
            ascending: true,
            first_member: self.s.members.len() as u32,
            keys_len: self.s.keys.len() as u32,
        });
        self.at += 1;
        self.space();
        Ok(())
    }

    /// A key and its colon, up to the value.
    #[inline(always)]
    fn member(&mut self) -> Step<()> {
        let member = self.key()?;
        if let Some(open) = self.s.open.last_mut() {
            let siblings = &self.s.members[open.first_member as usize..];
            if open.ascending
                && let Some(last) = siblings.last()
            {
                open.ascending = key_text(self.src, &self.s.keys, last) < key_text(self.src, &self.s.keys, &member);
            }
        }
        self.s.members.push(member);
        self.space();
        if self.peek() != Some(b':') {
            return self.unexpected("':' after a key");
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    #[inline(always)]
    fn key(&mut self) -> Step<Member> {
        if self.peek() != Some(b'"') {
            return self.unexpected("a key in double quotes");
        }
        let quote = self.at;
        let start = self.position();
        if let Some(end) = K::short_plain(self.src, quote + 1) {
            self.at = end + 1;
            return Ok(Member {
                key_start: quote as u32 + 1,
                key_len: (end - quote - 1) as u32,
                start,
                decoded: false,
            });
        }
        self.string()?;
        let source_text = &self.src[quote + 1..self.at - 1];
        // UTF-8 sorts by code point as it stands; escapes must be decoded first
        if !source_text.contains(&b'\\') {
            return Ok(Member {
                key_start: quote as u32 + 1,
                key_len: source_text.len() as u32,
                start,
                decoded: false,
            });
        }
        self.s.keys.extend_from_slice(&(quote as u32).to_le_bytes());
        let key_start = self.s.keys.len();
        decode_wtf8(source_text, &mut self.s.keys);
        Ok(Member {
            key_start: key_start as u32,
            key_len: (self.s.keys.len() - key_start) as u32,
            start,
            decoded: true,
        })
    }
}
