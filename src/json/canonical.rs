//! The canonicaliser: one pass over the bytes of a text.
//!
//! `copied..at` is the stretch of source that already is canonical and not yet copied. It is copied only when something
//! has to change, so a value in which nothing changes is handed back as a slice of its source. Objects whose keys do
//! not ascend are put in order afterwards: small ones by moving bytes, large ones by a note that says in which order
//! their members are to be read (a `Reorder`), so that no byte is moved more than a bounded number of times however
//! deep the nesting is.

use super::MAX_DEPTH;
use super::error::{JsonError, JsonErrorKind, Kind};
use super::number::{number_len, push_float};
use super::scan::{Kernel, Portable, is_simple_escape};
use super::text::{decode_lossless, decode_wtf8, hex4, push_canonical, push_unit, utf8_char};
use std::marker::PhantomData;

/// The longest text, in bytes. Canonical text is at most six times as long, so every position fits 32 bits.
pub const MAX_TEXT: usize = 640 << 20;

/// An object larger than this is never moved to sort it.
const MOVE_AT_MOST: usize = 1 << 20;
/// Bytes that may be moved to sort the objects of one text, as a multiple of its length.
const MOVES_PER_BYTE: usize = 8;
/// Buffers that grew beyond this are given back after use.
const KEEP_AT_MOST: usize = 4 << 20;

/// Where the canonical form of a value stands: in its source or in the scratch space. Valid with the same source and
/// until the scratch space is used for another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
    rewritten: bool,
    first_reorder: u32,
    last_reorder: u32,
}

impl Span {
    /// The value behind the span.
    #[must_use]
    pub fn get<'a>(&self, source: &'a [u8], scratch: &'a Scratch) -> Canonical<'a> {
        let within = if self.rewritten { scratch.out.as_slice() } else { source };
        let reorders = scratch.reorders.get(self.first_reorder as usize..self.last_reorder as usize).unwrap_or(&[]);
        Canonical { within, start: self.start, end: self.end, reorders, pieces: &scratch.pieces }
    }
}

/// A value in canonical form.
#[derive(Debug, Clone, Copy)]
pub struct Canonical<'a> {
    within: &'a [u8],
    start: u32,
    end: u32,
    /// Sorted by where they start, outer before inner.
    reorders: &'a [Reorder],
    pieces: &'a [(u32, u32)],
}

impl<'a> Canonical<'a> {
    /// The bytes, where they stand together (all but large objects with unsorted keys).
    #[must_use]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        self.reorders.is_empty().then(|| &self.within[self.start as usize..self.end as usize])
    }

    /// The first byte, which tells the kind of the value.
    #[must_use]
    pub fn first_byte(&self) -> u8 {
        self.within[self.start as usize]
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Never true: a value has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with the bytes, in order, in as few slices as possible.
    pub fn feed(&self, mut each: impl FnMut(&'a [u8])) {
        match self.as_slice() {
            Some(all) => each(all),
            None => self.feed_range(self.start, self.end, &mut each),
        }
    }

    /// A copy of the bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        self.feed(|slice| bytes.extend_from_slice(slice));
        bytes
    }

    /// Feeds `start..end`, with every reordered object inside it in its sorted order. What is still to be fed stands
    /// in a vector: nesting costs no call depth.
    fn feed_range(&self, start: u32, end: u32, each: &mut impl FnMut(&'a [u8])) {
        let mut open = vec![Feed::Range(start, end)];
        while let Some(feed) = open.pop() {
            match feed {
                Feed::Range(from, to) => {
                    let next = self.reorders.partition_point(|reorder| reorder.start < from);
                    let Some(reorder) = self.reorders.get(next).filter(|reorder| reorder.start < to) else {
                        each(&self.within[from as usize..to as usize]);
                        continue;
                    };
                    each(&self.within[from as usize..reorder.start as usize]);
                    open.push(Feed::Range(reorder.end, to));
                    open.push(Feed::Pieces {
                        next: reorder.first_piece,
                        first: reorder.first_piece,
                        end: reorder.last_piece,
                    });
                }
                Feed::Pieces { next, first, end } => {
                    if next == end {
                        continue;
                    }
                    let (from, to) = self.pieces[next as usize];
                    // The member that stood first begins where its reorder begins: the key's quote is fed by itself, so
                    // that the search behind it cannot find the same reorder again.
                    each(if next == first { b"\"" } else { b",\"" });
                    open.push(Feed::Pieces { next: next + 1, first, end });
                    open.push(Feed::Range(from + 1, to));
                }
            }
        }
    }
}

/// What is left to feed of a canonical value.
enum Feed {
    Range(u32, u32),
    Pieces { next: u32, first: u32, end: u32 },
}

/// An object that stands in the scratch space with its members in source order: `start..end` is what lies between its
/// braces, the pieces are its members in canonical order.
#[derive(Debug, Clone, Copy)]
struct Reorder {
    start: u32,
    end: u32,
    first_piece: u32,
    last_piece: u32,
}

/// A member of an object that is being read. It ends where the next one starts, less a comma.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// Key text: in the source, or (with escapes) decoded in `Scratch::keys`.
    key_start: u32,
    key_len: u32,
    /// Position of the member in the canonical text to be.
    start: u32,
    decoded: bool,
}

/// An open container.
#[derive(Debug, Clone, Copy)]
struct Open {
    object: bool,
    ascending: bool,
    first_member: u32,
    keys_len: u32,
}

/// Working space of the canonicaliser. Reuse one for many texts; it holds the rewritten values of the last.
#[derive(Debug, Default)]
pub struct Scratch {
    out: Vec<u8>,
    open: Vec<Open>,
    members: Vec<Member>,
    keys: Vec<u8>,
    order: Vec<(Member, u32)>,
    moved: Vec<u8>,
    moves: usize,
    reorders: Vec<Reorder>,
    pieces: Vec<(u32, u32)>,
}

impl Scratch {
    fn reset(&mut self) {
        self.out.clear();
        self.open.clear();
        self.members.clear();
        self.keys.clear();
        self.reorders.clear();
        self.pieces.clear();
        self.moves = 0;
        self.shrink();
    }

    /// Gives back room that only very long texts need. Spans into the scratch space are no longer valid.
    pub(crate) fn shrink(&mut self) {
        if self.out.capacity() > KEEP_AT_MOST || self.members.capacity() > KEEP_AT_MOST / 16 {
            *self = Scratch::default();
        }
    }
}

/// Puts one JSON text into canonical form. White space around the value is allowed.
///
/// # Errors
/// The first thing that is not strict JSON, with its byte offset.
pub fn canonical(source: &[u8], scratch: &mut Scratch) -> Result<Span, JsonError> {
    with_kernel(source, scratch, Canonicalise)
}

/// The members of an object, by the names that were asked for.
#[derive(Debug)]
pub struct Members<const N: usize> {
    /// The values, in the order of the names; `None` where there is no such member.
    pub values: [Option<Span>; N],
    /// Where the values start in the source.
    pub offsets: [u32; N],
    /// Members with other names, in source order.
    pub unknown: Vec<Unknown>,
}

/// A member with a name that was not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The name, with lone surrogates as their escapes.
    pub name: String,
    /// Where the key starts in the source.
    pub offset: usize,
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
trait Work {
    type Output;
    fn run<K: Kernel>(&self, parser: &mut Parser<'_, K>) -> Step<Self::Output>;
}

struct Canonicalise;
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

fn run_on<K: Kernel, W: Work>(source: &[u8], scratch: &mut Scratch, work: W) -> Result<W::Output, JsonError> {
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
struct Failed;
type Step<T> = Result<T, Failed>;

struct Parser<'a, K> {
    src: &'a [u8],
    at: usize,
    /// Start of the stretch of source that is canonical as it stands and not copied yet.
    copied: usize,
    /// How many levels of containers a value may have.
    levels: usize,
    s: &'a mut Scratch,
    error: Option<JsonError>,
    kernel: PhantomData<K>,
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
    fn peek(&self) -> Option<u8> {
        self.src.get(self.at).copied()
    }

    #[cold]
    fn fail<T>(&mut self, offset: usize, kind: JsonErrorKind) -> Step<T> {
        self.error = Some(JsonError { offset, kind });
        Err(Failed)
    }

    #[cold]
    fn unexpected<T>(&mut self, expected: &'static str) -> Step<T> {
        self.error = Some(unexpected(self.src, self.at, expected));
        Err(Failed)
    }

    /// Copies the pending stretch.
    #[inline(always)]
    fn flush(&mut self) {
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
    fn drop_pending(&mut self) {
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

    /// A string, from its opening quote to behind its closing one.
    #[inline(always)]
    fn string(&mut self) -> Step<()> {
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
    fn number(&mut self) -> Step<()> {
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
    fn word(&mut self, word: &'static [u8]) -> Step<()> {
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

    /// The end of an object; `at` stands on its brace.
    #[inline(always)]
    fn close_object(&mut self, open: Open) -> Step<()> {
        if !open.ascending {
            self.sort_members(open.first_member as usize)?;
        }
        self.s.members.truncate(open.first_member as usize);
        self.s.keys.truncate(open.keys_len as usize);
        Ok(())
    }

    #[cold]
    fn sort_members(&mut self, first_member: usize) -> Step<()> {
        self.flush();
        let end = self.s.out.len() as u32;
        let mut order = std::mem::take(&mut self.s.order);
        order.clear();
        let members = &self.s.members[first_member..];
        let start = members[0].start;
        let ends = members[1..].iter().map(|next| next.start - 1).chain([end]);
        order.extend(members.iter().copied().zip(ends));
        let key = |member: &Member| key_text(self.src, &self.s.keys, member);
        order.sort_unstable_by(|(a, _), (b, _)| key(a).cmp(key(b)));
        let twice = order.windows(2).find(|pair| key(&pair[0].0) == key(&pair[1].0));
        if let Some([(a, _), (b, _)]) = twice {
            let later = if a.start > b.start { a } else { b };
            let offset = key_offset(&self.s.keys, later);
            let shown = decode_lossless(string_at(self.src, offset));
            return self.fail(offset, JsonErrorKind::DuplicateKey(quoted(&shown)));
        }
        let len = (end - start) as usize;
        let holds_reorders = self.s.reorders.last().is_some_and(|reorder| reorder.start >= start);
        let may_move = len <= MOVE_AT_MOST && self.s.moves + len <= self.src.len() * MOVES_PER_BYTE + 4096;
        if holds_reorders || !may_move {
            let first_piece = self.s.pieces.len() as u32;
            self.s.pieces.extend(order.iter().map(|(member, end)| (member.start, *end)));
            let last_piece = self.s.pieces.len() as u32;
            self.s.reorders.push(Reorder { start, end, first_piece, last_piece });
        } else {
            self.s.moves += len;
            let moved = &mut self.s.moved;
            moved.clear();
            for (member, end) in &order {
                if !moved.is_empty() {
                    moved.push(b',');
                }
                moved.extend_from_slice(&self.s.out[member.start as usize..*end as usize]);
            }
            self.s.out[start as usize..].copy_from_slice(moved);
        }
        if order.capacity() <= KEEP_AT_MOST / 16 {
            self.s.order = order;
        }
        Ok(())
    }
}

#[inline(always)]
fn key_text<'t>(src: &'t [u8], keys: &'t [u8], member: &Member) -> &'t [u8] {
    let within = if member.decoded { keys } else { src };
    &within[member.key_start as usize..(member.key_start + member.key_len) as usize]
}

/// Where a key's opening quote stands in the source.
fn key_offset(keys: &[u8], member: &Member) -> usize {
    if !member.decoded {
        return member.key_start as usize - 1;
    }
    let before = &keys[..member.key_start as usize];
    before.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

/// The string literal that starts at `offset` of a valid text.
fn string_at(src: &[u8], offset: usize) -> &[u8] {
    let mut end = offset + 1;
    while let Some(&byte) = src.get(end) {
        match byte {
            b'"' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    src.get(offset..=end).unwrap_or(b"")
}

/// A key as a message shows it: cut to a readable length.
fn quoted(name: &str) -> String {
    let mut shown: String = name.chars().take(80).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("'{shown}'")
}

/// The items of an array in canonical form, each in canonical form.
pub fn items(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = array.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(b"");
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let len = item_len(rest);
        let (item, behind) = rest.split_at(len);
        rest = behind.strip_prefix(b",").unwrap_or(behind);
        Some(item)
    })
}

/// How far the first item of `rest` reaches: to the first comma that stands in no string and no container.
fn item_len(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'"' => at += string_at(rest, at).len().max(1) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}
