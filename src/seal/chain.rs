//! Links: made, verified, and compared with an older chain.

use super::broken::{Break, BrokenLink, Damage, END};
use crate::json::{Canonical, Scratch};
use crate::sanitize::{clip, visible};
use crate::transcript::utf16_width;
use crate::transcript::{self, Block, Layout, Preceding, ReadError, Record, Records, ScanError, Visit};
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::ops::Range;

/// The first link's `prev`.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Length of a digest in hexadecimal digits.
const HEX: usize = GENESIS.len();

/// What was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Links.
    pub links: u64,
    /// The last digest, [`GENESIS`] for an empty chain: who keeps it can tell later if the tail was cut off.
    pub head: String,
}

/// Why a transcript was not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// It is no transcript.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The links could not be written.
    #[error("cannot write the sealed transcript: {0}")]
    Write(io::Error),
}

/// Seals a transcript: writes one link a line to `out`. On an error, what was written so far is half a chain, which
/// would verify: the caller must throw it away.
///
/// # Errors
/// A line that is no record, or a write that failed.
pub fn seal(source: impl Read + Send, threads: usize, out: &mut (dyn Write + Send)) -> Result<Sealed, SealError> {
    seal_from(source, threads, out, GENESIS)
}

/// The same, with another first `prev`: the last digest of the chain that this one goes on from.
///
/// # Errors
/// A line that is no record, a write that failed, a `start` that is no digest.
pub fn seal_from(
    source: impl Read + Send,
    threads: usize,
    out: &mut (dyn Write + Send),
    start: &str,
) -> Result<Sealed, SealError> {
    let digest = Some(start.as_bytes()).filter(|start| is_digest(start)).and_then(<[u8]>::first_chunk::<HEX>);
    let refused = || SealError::Write(io::Error::other("a chain goes on from 64 lower-case hexadecimal digits"));
    let mut prev = *digest.ok_or_else(refused)?;
    let mut scratch = Scratch::default();
    let sink = |block: &Block, mut links: Links, _: Preceding| {
        let (mut start, mut written) = (0, 0);
        for link in &links.shapes {
            match link {
                Shape::Short(link) => {
                    prev = link.complete(&mut links.text[start..link.end as usize], &prev);
                    start = link.end as usize;
                }
                Shape::Long(range) => {
                    out.write_all(&links.text[written..start])?;
                    written = start;
                    if let Some(record) = block.record(range, Layout::Transcript, 0, &mut scratch) {
                        prev = write_link(&record, &prev, out)?;
                    }
                }
            }
        }
        scratch.shrink();
        out.write_all(&links.text[written..])
    };
    match transcript::scan(source, Layout::Transcript, threads, Links::visit, sink) {
        Ok(total) => Ok(Sealed { links: total.records, head: String::from_utf8_lossy(&prev).into_owned() }),
        Err(ScanError::Read(error)) => Err(error.into()),
        Err(ScanError::Sink(error)) => Err(SealError::Write(error)),
    }
}

/// Reads a transcript and does nothing with it: whether [`seal`] would succeed.
///
/// # Errors
/// A line that is no record.
pub fn check(source: impl Read + Send, threads: usize) -> Result<(), ReadError> {
    let scanned =
        transcript::scan(source, Layout::Transcript, threads, |(): &mut (), _| (), |_, (), _| Ok::<(), Infallible>(()));
    match scanned {
        Ok(_) => Ok(()),
        Err(ScanError::Read(error)) => Err(error),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// Writes a link that is too long to be copied once more, and returns its digest.
fn write_link(record: &Record<'_>, prev: &[u8; HEX], out: &mut (dyn Write + Send)) -> io::Result<[u8; HEX]> {
    let quoted = [b"\"", prev.as_slice(), b"\""].concat();
    let index = record.index().to_vec();
    let digest = link_digest(record.args(), &index, &quoted, record.response(), record.tool());
    let mut written = Ok(());
    let mut write = |bytes: &[u8]| {
        if written.is_ok() {
            written = out.write_all(bytes);
        }
    };
    write(b"{\"args\":");
    record.args().feed(&mut write);
    write(&[DIGEST_FIELD, &digest, b"\"", INDEX_FIELD, &index, PREV_FIELD, prev, b"\",\"response\":"].concat());
    record.response().feed(&mut write);
    write(b",\"tool\":");
    record.tool().feed(&mut write);
    write(b"}\n");
    written.map(|()| digest)
}

/// The links of a block, complete but for `digest` and `prev`, whose places are filled with zeros.
#[derive(Default)]
struct Links {
    text: Vec<u8>,
    shapes: Vec<Shape>,
}

enum Shape {
    /// A link in `Links::text`.
    Short(LinkShape),
    /// A record longer than `LONG`: where its line stands in the block.
    Long(Range<u32>),
}

/// Records longer than this, in bytes, are sealed without a copy of their links.
const LONG: usize = 8 << 20;

/// Where the open places of a link are.
struct LinkShape {
    /// Behind `{"args":…`, where the digest field starts.
    args_end: u32,
    /// Where the digits of `prev` start.
    prev: u32,
    /// Behind the line's newline. All positions but this one count from the start of the line.
    end: u32,
}

/// Room for the links of a usual block, in bytes.
const LINKS: usize = 5 << 18;
const DIGEST_FIELD: &[u8] = b",\"digest\":\"";
const INDEX_FIELD: &[u8] = b",\"index\":";
const PREV_FIELD: &[u8] = b",\"prev\":\"";

impl Links {
    fn visit(&mut self, visit: Visit<'_>) {
        if visit.text.len() > LONG {
            self.shapes.push(Shape::Long(visit.range));
            return;
        }
        if self.text.capacity() == 0 {
            // a block's links usually are a little longer than its lines; growing by doubling would take twice that
            self.text.reserve_exact(LINKS);
        }
        let start = self.text.len();
        let text = &mut self.text;
        let push = |text: &mut Vec<u8>, value: Canonical<'_>| value.feed(|bytes| text.extend_from_slice(bytes));
        let [args, index, response, tool] =
            [visit.fields.args, visit.fields.index, visit.fields.response, visit.fields.tool]
                .map(|span| span.get(visit.text, visit.scratch));
        text.extend_from_slice(b"{\"args\":");
        push(text, args);
        let args_end = (text.len() - start) as u32;
        text.extend_from_slice(DIGEST_FIELD);
        text.extend_from_slice(GENESIS.as_bytes());
        text.push(b'"');
        text.extend_from_slice(INDEX_FIELD);
        push(text, index);
        text.extend_from_slice(PREV_FIELD);
        let prev = (text.len() - start) as u32;
        text.extend_from_slice(GENESIS.as_bytes());
        text.extend_from_slice(b"\",\"response\":");
        push(text, response);
        text.extend_from_slice(b",\"tool\":");
        push(text, tool);
        text.extend_from_slice(b"}\n");
        self.shapes.push(Shape::Short(LinkShape { args_end, prev, end: self.text.len() as u32 }));
    }
}

impl LinkShape {
    /// Fills in `prev` and the digest, which it returns.
    fn complete(&self, line: &mut [u8], prev: &[u8; HEX]) -> [u8; HEX] {
        let (args_end, prev_at) = (self.args_end as usize, self.prev as usize);
        line[prev_at..prev_at + HEX].copy_from_slice(prev);
        let digest_at = args_end + DIGEST_FIELD.len();
        let index_at = digest_at + HEX + 1;
        let mut hasher = Sha256::new();
        hasher.update(&line[..args_end]);
        hasher.update(&line[index_at..line.len() - 1]);
        let digest = hex_digest(hasher);
        line[digest_at..digest_at + HEX].copy_from_slice(&digest);
        digest
    }
}

fn hex_digest(hasher: Sha256) -> [u8; HEX] {
    let mut digits = [0; HEX];
    // cannot fail: the room is exactly what 32 bytes take
    let _ = hex::encode_to_slice(hasher.finalize(), &mut digits);
    digits
}

/// The digest of a link: SHA-256 of the canonical form of its five other fields. `prev` is a JSON string.
pub(super) fn link_digest(
    args: Canonical<'_>,
    index: &[u8],
    prev: &[u8],
    response: Canonical<'_>,
    tool: Canonical<'_>,
) -> [u8; HEX] {
    let mut hasher = Sha256::new();
    hasher.update(b"{\"args\":");
    args.feed(|bytes| hasher.update(bytes));
    hasher.update(INDEX_FIELD);
    hasher.update(index);
    hasher.update(b",\"prev\":");
    hasher.update(prev);
    hasher.update(b",\"response\":");
    response.feed(|bytes| hasher.update(bytes));
    hasher.update(b",\"tool\":");
    tool.feed(|bytes| hasher.update(bytes));
    hasher.update(b"}");
    hex_digest(hasher)
}

/// A sealed transcript, read and recomputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Links.
    pub links: u64,
    /// The last stored digest, [`GENESIS`] for an empty chain, made safe to print.
    pub head: String,
    /// The first `prev`, made safe to print: [`GENESIS`], or the last digest of the chain that this one goes on from.
    pub start: String,
    /// The line of the last link, 0 for an empty chain.
    pub head_line: u64,
    /// The first link that does not hold; `None`: the chain is intact.
    pub broken: Option<BrokenLink>,
}

impl Chain {
    /// Demands that the last digest is the given one, which shows whether the tail was cut off.
    pub fn expect_head(&mut self, expected: &str) {
        if self.broken.is_none() && self.head != expected {
            self.broken = Some(BrokenLink {
                kind: Break::Head,
                index: self.links.saturating_sub(1),
                line: self.head_line,
                width: 0,
                expected: expected.to_owned(),
                found: self.head.clone(),
                damage: None,
            });
        }
    }
}

/// Reads a sealed transcript and recomputes every link.
///
/// # Errors
/// A line that is no link, wherever it stands: a file that is malformed cannot be judged.
pub fn verify(source: impl Read + Send, threads: usize) -> Result<Chain, ReadError> {
    verify_from(source, threads, Start::Genesis)
}

/// Where a chain starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start<'s> {
    /// At [`GENESIS`].
    #[default]
    Genesis,
    /// Behind the chain with this last digest.
    After(&'s str),
    /// At whatever digest its first link names.
    Any,
}

/// Reads a sealed transcript that may go on from another one, and recomputes every link.
///
/// # Errors
/// A line that is no link, wherever it stands.
pub fn verify_from(source: impl Read + Send, threads: usize, start: Start<'_>) -> Result<Chain, ReadError> {
    let mut verifier = Verifier::starting(start);
    let sink = |block: &Block, seen: SeenLinks, base: Preceding| {
        verifier.accept(block, &seen, base);
        Ok::<(), Infallible>(())
    };
    let visit = |seen: &mut SeenLinks, visit: Visit<'_>| seen.visit(&visit);
    match transcript::scan(source, Layout::Sealed, threads, visit, sink) {
        Ok(total) => Ok(verifier.chain(total)),
        Err(ScanError::Read(error)) => Err(error),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// What a worker found out about the links of one block.
#[derive(Debug, Default)]
pub(crate) struct SeenLinks {
    /// The first link: where it is, its index if it is a number, its `prev` as a JSON string.
    first: Option<(At, Option<u64>, Vec<u8>)>,
    /// The last stored digest, as a JSON string, and the line of its link in the block.
    last_digest: Vec<u8>,
    last_line: u32,
    /// The first link that does not follow from the links before it in the block.
    broken: Option<(At, Fault)>,
}

#[derive(Debug, Clone)]
struct At {
    ordinal: u32,
    line: u32,
    range: Range<u32>,
}

#[derive(Debug)]
enum Fault {
    /// `prev` is not the digest before: what it had to be.
    Prev(Vec<u8>),
    /// The index is not the next one, or the digest is not that of the link.
    Content,
}

impl SeenLinks {
    pub(crate) fn visit(&mut self, visit: &Visit<'_>) {
        let at = || At { ordinal: visit.ordinal, line: visit.line, range: visit.range.clone() };
        let [args, index, response, tool, prev, digest] = [
            visit.fields.args,
            visit.fields.index,
            visit.fields.response,
            visit.fields.tool,
            visit.fields.prev,
            visit.fields.digest,
        ]
        .map(|span| span.get(visit.text, visit.scratch));
        // strings and integers always stand together
        let [index_text, prev, digest] = [index, prev, digest].map(|value| value.as_slice().unwrap_or(b""));
        if self.broken.is_none() {
            let value = transcript::index_value(index);
            let fault = match &self.first {
                None => {
                    self.first = Some((at(), value, prev.to_vec()));
                    None
                }
                Some(_) if prev != self.last_digest => Some(Fault::Prev(self.last_digest.clone())),
                Some((_, first, _)) => {
                    let expected = first.map(|first| first + u64::from(visit.ordinal));
                    (value != expected).then_some(Fault::Content)
                }
            };
            let fault = fault.or_else(|| {
                let recomputed = link_digest(args, index_text, prev, response, tool);
                (Some(recomputed.as_slice()) != unquoted(digest)).then_some(Fault::Content)
            });
            self.broken = fault.map(|fault| (at(), fault));
        }
        self.last_digest.clear();
        self.last_digest.extend_from_slice(digest);
        self.last_line = visit.line;
    }
}

/// Whether this is a digest as links have it.
fn is_digest(text: &[u8]) -> bool {
    text.len() == HEX && text.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn unquoted(literal: &[u8]) -> Option<&[u8]> {
    literal.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// A stored digest as reports show it.
pub(crate) fn shown(literal: &[u8]) -> String {
    let text = String::from_utf8_lossy(unquoted(literal).unwrap_or(literal));
    visible(&clip(&text, 2 * HEX)).into_owned()
}

/// Follows a chain block by block.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// What the first `prev` must be, as a JSON string; empty: any digest.
    start: Vec<u8>,
    /// The first stored `prev`, and the last stored digest, as JSON strings; empty before the first link.
    first_prev: Vec<u8>,
    head: Vec<u8>,
    head_line: u64,
    broken: Option<BrokenLink>,
    scratch: Scratch,
}

impl Default for Verifier {
    fn default() -> Verifier {
        Verifier::starting(Start::Genesis)
    }
}

impl Verifier {
    fn starting(start: Start<'_>) -> Verifier {
        let start = match start {
            Start::Genesis => format!("\"{GENESIS}\"").into_bytes(),
            Start::After(digest) => format!("\"{digest}\"").into_bytes(),
            Start::Any => Vec::new(),
        };
        let (first_prev, head) = (Vec::new(), Vec::new());
        Verifier { start, first_prev, head, head_line: 0, broken: None, scratch: Scratch::default() }
    }

    /// What the `prev` of a link must be that has none before it.
    fn start(&self) -> Vec<u8> {
        let any = self.start.is_empty() && unquoted(&self.first_prev).is_some_and(is_digest);
        if any {
            self.first_prev.clone()
        } else if self.start.is_empty() {
            format!("\"{GENESIS}\"").into_bytes()
        } else {
            self.start.clone()
        }
    }

    /// Takes in the next block.
    pub(crate) fn accept(&mut self, block: &Block, seen: &SeenLinks, base: Preceding) {
        let Some((first, first_index, first_prev)) = &seen.first else { return };
        if self.head.is_empty() {
            self.first_prev.clone_from(first_prev);
        }
        if self.broken.is_none() {
            let head = if self.head.is_empty() { self.start() } else { self.head.clone() };
            let fault = if *first_prev != head {
                Some((first, Fault::Prev(head)))
            } else if *first_index != Some(base.records) {
                Some((first, Fault::Content))
            } else {
                None
            };
            self.broken = match (fault, &seen.broken) {
                (Some((at, fault)), _) => self.broken_link(block, base, at, &fault),
                (None, Some((at, fault))) => self.broken_link(block, base, at, fault),
                (None, None) => None,
            };
        }
        self.head.clear();
        self.head.extend_from_slice(&seen.last_digest);
        self.head_line = base.lines + u64::from(seen.last_line) + 1;
    }

    fn broken_link(&mut self, block: &Block, base: Preceding, at: &At, fault: &Fault) -> Option<BrokenLink> {
        let index = base.records + u64::from(at.ordinal);
        let line = base.lines + u64::from(at.line) + 1;
        let record = block.record(&at.range, Layout::Sealed, line, &mut self.scratch)?;
        let (expected, found) = match fault {
            Fault::Prev(expected) => (shown(expected), shown(&record.prev().to_vec())),
            Fault::Content => {
                let stored = record.digest().to_vec();
                (recomputed(&record, index, &stored), shown(&stored))
            }
        };
        let width = utf16_width(record.text);
        Some(BrokenLink { kind: Break::Link, index, line, width, expected, found, damage: None })
    }

    /// The chain, when all blocks were taken in.
    pub(crate) fn chain(self, total: Preceding) -> Chain {
        let start = if self.head.is_empty() { self.start() } else { self.first_prev };
        let head = if self.head.is_empty() { shown(&start) } else { shown(&self.head) };
        Chain { links: total.records, head, start: shown(&start), head_line: self.head_line, broken: self.broken }
    }
}

/// The digest a link would have to have at its position. Where only its index was changed, that digest is the stored
/// one; what differs then is the digest of the link as it stands.
fn recomputed(record: &Record<'_>, index: u64, stored: &[u8]) -> String {
    let prev = record.prev().to_vec();
    let digest = |index: &[u8]| link_digest(record.args(), index, &prev, record.response(), record.tool());
    let mut expected = digest(index.to_string().as_bytes());
    if Some(expected.as_slice()) == unquoted(stored) {
        expected = digest(&record.index().to_vec());
    }
    String::from_utf8_lossy(&expected).into_owned()
}

/// Why two chains could not be compared: in which of them.
#[derive(Debug, thiserror::Error)]
pub enum ExtendsError {
    /// The old one.
    #[error("{0}")]
    Old(ReadError),
    /// The new one.
    #[error("{0}")]
    New(ReadError),
}

/// The first link in which `new` is not `old` continued; `None` if `old` is a prefix of it, link for link.
///
/// # Errors
/// A line of either that is no link.
pub fn extends(old: impl Read, new: impl Read) -> Result<Option<BrokenLink>, ExtendsError> {
    let mut old = Records::new(old, Layout::Sealed);
    let mut new = Records::new(new, Layout::Sealed);
    let kind = Break::Extends;
    let (mut index, mut last_line) = (0, 0);
    while let Some(expected) = old.next_record().map_err(ExtendsError::Old)? {
        let Some(found) = new.next_record().map_err(ExtendsError::New)? else {
            let expected = shown(&expected.digest().to_vec());
            let found = END.to_owned();
            let damage = Some(Damage::Cut);
            return Ok(Some(BrokenLink { kind, index, line: last_line, width: 0, expected, found, damage }));
        };
        let same = |field: fn(&Record<'_>) -> Vec<u8>| field(&expected) == field(&found);
        let all_same = same(|link| link.digest().to_vec())
            && same(|link| link.prev().to_vec())
            && same(|link| link.index().to_vec())
            && same(|link| link.tool().to_vec())
            && same(|link| link.args().to_vec())
            && same(|link| link.response().to_vec());
        if !all_same {
            let stored = found.digest().to_vec();
            let mut demanded = expected.digest().to_vec();
            // of two chains that both hold, each has a link that goes on from the same one
            let mut damage = Some(Damage::Forked);
            if demanded == stored {
                damage = None;
                // the old chain itself was edited: show what its link would have to say
                demanded = recomputed(&expected, index, &demanded).into_bytes();
            }
            let width = utf16_width(found.text);
            let (expected, line) = (shown(&demanded), found.line);
            let found = shown(&stored);
            return Ok(Some(BrokenLink { kind, index, line, width, expected, found, damage }));
        }
        index += 1;
        last_line = found.line;
    }
    // what the new chain adds must be links as well
    while new.next_record().map_err(ExtendsError::New)?.is_some() {}
    Ok(None)
}
