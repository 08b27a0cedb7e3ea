//! Values in canonical form: where they stand and how they are read.

/// An object larger than this is never moved to sort it.
pub(super) const MOVE_AT_MOST: usize = 1 << 20;
/// Bytes that may be moved to sort the objects of one text, as a multiple of its length.
pub(super) const MOVES_PER_BYTE: usize = 8;
/// Buffers that grew beyond this are given back after use.
pub(super) const KEEP_AT_MOST: usize = 4 << 20;

/// Where the canonical form of a value stands: in its source or in the scratch space. Valid with the same source and
/// until the scratch space is used for another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) rewritten: bool,
    pub(super) first_reorder: u32,
    pub(super) last_reorder: u32,
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
pub(super) struct Reorder {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) first_piece: u32,
    pub(super) last_piece: u32,
}

/// A member of an object that is being read. It ends where the next one starts, less a comma.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// Key text: in the source, or (with escapes) decoded in `Scratch::keys`.
    pub(super) key_start: u32,
    pub(super) key_len: u32,
    /// Position of the member in the canonical text to be.
    pub(super) start: u32,
    pub(super) decoded: bool,
}

/// An open container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) object: bool,
    pub(super) ascending: bool,
    pub(super) first_member: u32,
    pub(super) keys_len: u32,
}

/// Working space of the canonicaliser. Reuse one for many texts; it holds the rewritten values of the last.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) out: Vec<u8>,
    pub(super) open: Vec<Open>,
    pub(super) members: Vec<Member>,
    pub(super) keys: Vec<u8>,
    pub(super) order: Vec<(Member, u32)>,
    pub(super) moved: Vec<u8>,
    pub(super) moves: usize,
    pub(super) reorders: Vec<Reorder>,
    pub(super) pieces: Vec<(u32, u32)>,
}

impl Scratch {
    pub(super) fn reset(&mut self) {
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

/// The string literal that starts at `offset` of a valid text.
pub(super) fn string_at(src: &[u8], offset: usize) -> &[u8] {
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

/// The text of a member's key.
#[inline(always)]
pub(super) fn key_text<'t>(src: &'t [u8], keys: &'t [u8], member: &Member) -> &'t [u8] {
    let within = if member.decoded { keys } else { src };
    &within[member.key_start as usize..(member.key_start + member.key_len) as usize]
}
