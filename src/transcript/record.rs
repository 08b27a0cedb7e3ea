//! One line as one record.

use super::blocks::{Block, Blocks};
use super::error::{LineError, ReadError, RecordError};
use super::lines::is_blank;
use crate::json::{self, Canonical, Kind, Members, Scratch, Span};
use std::io::Read;

/// Which fields a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `index`, `tool`, `args`, `response`; the index counts from 0.
    Transcript,
    /// The same and `prev`, `digest`: a link of a seal. What its index says is the verifier's business.
    Sealed,
}

const NAMES: [&str; 6] = ["args", "index", "response", "tool", "prev", "digest"];
const ARGS: usize = 0;
const INDEX: usize = 1;
const RESPONSE: usize = 2;
const TOOL: usize = 3;
const PREV: usize = 4;
const DIGEST: usize = 5;
/// What every record has, sorted by name, as places in `NAMES`.
const RECORD_FIELDS: [usize; 4] = [ARGS, INDEX, RESPONSE, TOOL];
/// What a sealed record has, sorted by name.
const SEALED_FIELDS: [usize; 6] = [ARGS, DIGEST, INDEX, PREV, RESPONSE, TOOL];

/// Where the canonical forms of a record's fields stand. `prev` and `digest` mean something in sealed records only.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// The object `args`.
    pub args: Span,
    /// The integer `index`.
    pub index: Span,
    /// The object `response`.
    pub response: Span,
    /// The string `tool`.
    pub tool: Span,
    /// The string `prev`.
    pub prev: Span,
    /// The string `digest`.
    pub digest: Span,
    /// Where the value of `index` starts in the line.
    pub(crate) index_at: u32,
}

/// Reads one line, which must not be blank, as a record.
///
/// # Errors
/// A [`RecordError`] with its column, for line 1; the caller knows the real line.
pub fn parse_record(line: &[u8], layout: Layout, scratch: &mut Scratch) -> Result<Fields, ReadError> {
    parse_line(line, layout, scratch).map_err(|error| error.on_line(1))
}

pub(crate) fn parse_line(line: &[u8], layout: Layout, scratch: &mut Scratch) -> Result<Fields, LineError> {
    let found = json::members(line, &NAMES, scratch).map_err(|error| LineError::json(line, error))?;
    let [Some(args), Some(index), Some(response), Some(tool), prev, digest] = found.values else {
        return Err(wrong_fields(&found, layout));
    };
    let (prev, digest) = match (layout, prev, digest) {
        (Layout::Transcript, None, None) => (Span::default(), Span::default()),
        (Layout::Sealed, Some(prev), Some(digest)) => (prev, digest),
        _ => return Err(wrong_fields(&found, layout)),
    };
    if !found.unknown.is_empty() {
        return Err(wrong_fields(&found, layout));
    }
    let must_be = |place: usize, span: Span, expected: Kind| {
        let value = span.get(line, scratch);
        // an object out of order is never a slice; all other kinds are told by their text
        let kind = value.as_slice().map_or_else(|| Kind::of(&[value.first_byte()]), Kind::of);
        if kind == expected {
            return Ok(());
        }
        let kind = RecordError::FieldKind { field: NAMES[place], expected, found: kind };
        Err(LineError::at(line, found.offsets[place] as usize, kind))
    };
    must_be(INDEX, index, Kind::Integer)?;
    must_be(TOOL, tool, Kind::String)?;
    must_be(ARGS, args, Kind::Object)?;
    must_be(RESPONSE, response, Kind::Object)?;
    if layout == Layout::Sealed {
        must_be(PREV, prev, Kind::String)?;
        must_be(DIGEST, digest, Kind::String)?;
    }
    Ok(Fields { args, index, response, tool, prev, digest, index_at: found.offsets[INDEX] })
}

#[cold]
fn wrong_fields(found: &Members<6>, layout: Layout) -> LineError {
    let wanted: &[usize] = match layout {
        Layout::Transcript => &RECORD_FIELDS,
        Layout::Sealed => &SEALED_FIELDS,
    };
    let mut unexpected: Vec<String> = found.unknown.iter().map(|unknown| unknown.name.clone()).collect();
    let known = (0..NAMES.len()).filter(|place| found.values[*place].is_some() && !wanted.contains(place));
    unexpected.extend(known.map(|place| NAMES[place].to_owned()));
    if !unexpected.is_empty() {
        unexpected.sort_unstable();
        return LineError::whole(RecordError::Unexpected(unexpected));
    }
    let missing = wanted.iter().filter(|place| found.values[**place].is_none()).map(|place| NAMES[*place]).collect();
    LineError::whole(RecordError::Missing(missing))
}

/// An index as a number; `None` where it is negative or too large to be one.
pub(crate) fn index_value(index: Canonical<'_>) -> Option<u64> {
    let digits = index.as_slice()?;
    if digits.len() > 19 || digits.first() == Some(&b'-') {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

/// One record, borrowed from its reader.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The physical line, from 1.
    pub line: u64,
    /// The text of the line.
    pub text: &'a [u8],
    fields: Fields,
    scratch: &'a Scratch,
}

impl<'a> Record<'a> {
    pub(crate) fn new(line: u64, text: &'a [u8], fields: Fields, scratch: &'a Scratch) -> Record<'a> {
        Record { line, text, fields, scratch }
    }

    /// The canonical form of `args`.
    #[must_use]
    pub fn args(&self) -> Canonical<'a> {
        self.fields.args.get(self.text, self.scratch)
    }

    /// The canonical form of `index`.
    #[must_use]
    pub fn index(&self) -> Canonical<'a> {
        self.fields.index.get(self.text, self.scratch)
    }

    /// The canonical form of `tool`: a JSON string with its quotes.
    #[must_use]
    pub fn tool(&self) -> Canonical<'a> {
        self.fields.tool.get(self.text, self.scratch)
    }

    /// The canonical form of `response`.
    #[must_use]
    pub fn response(&self) -> Canonical<'a> {
        self.fields.response.get(self.text, self.scratch)
    }

    /// The canonical form of `prev`; only in sealed records.
    #[must_use]
    pub fn prev(&self) -> Canonical<'a> {
        self.fields.prev.get(self.text, self.scratch)
    }

    /// The canonical form of `digest`; only in sealed records.
    #[must_use]
    pub fn digest(&self) -> Canonical<'a> {
        self.fields.digest.get(self.text, self.scratch)
    }

    /// The text of `tool`, lone surrogates as their escapes.
    #[must_use]
    pub fn tool_name(&self) -> String {
        json::decode_lossless(self.tool().as_slice().unwrap_or(b""))
    }
}

/// Records one after the other, from one thread.
///
/// ```
/// use toolreplay::transcript::{Layout, Records};
///
/// let text: &[u8] = br#"{"index": 0, "tool": "stat", "args": {"b": 1, "a": 2}, "response": {}}"#;
/// let mut records = Records::new(text, Layout::Transcript);
/// let record = records.next_record()?.expect("one record");
/// assert_eq!(record.tool_name(), "stat");
/// assert_eq!(record.args().to_vec(), br#"{"a":2,"b":1}"#);
/// # Ok::<(), toolreplay::transcript::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Records<R> {
    blocks: Blocks<R>,
    block: Block,
    at: usize,
    line: u64,
    next_index: u64,
    layout: Layout,
    scratch: Scratch,
}

impl<R: Read> Records<R> {
    /// A reader over `source`, which need not be buffered.
    pub fn new(source: R, layout: Layout) -> Records<R> {
        Records {
            blocks: Blocks::new(source),
            block: Block::default(),
            at: 0,
            line: 0,
            next_index: 0,
            layout,
            scratch: Scratch::default(),
        }
    }

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    /// The first line that is no record of the layout, or the first read that failed. Do not read on after an error.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        loop {
            if self.at == self.block.bytes().len() {
                self.at = 0;
                let more = self.blocks.next_into(&mut self.block);
                if !more.map_err(|error| ReadError::behind(self.line, error))? {
                    return Ok(None);
                }
            }
            let start = self.at;
            let rest = &self.block.bytes()[start..];
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (start + len + 1).min(self.block.bytes().len());
            self.line += 1;
            if is_blank(&self.block.bytes()[start..start + len]) {
                continue;
            }
            let (line, number) = (&self.block.bytes()[start..start + len], self.line);
            let parsed = check_start(line, number).and_then(|()| parse_line(line, self.layout, &mut self.scratch));
            let fields = parsed.map_err(|error| error.on_line(number))?;
            if self.layout == Layout::Transcript {
                let index = fields.index.get(line, &self.scratch);
                if index_value(index) != Some(self.next_index) {
                    let found = String::from_utf8_lossy(&index.to_vec()).into_owned();
                    let kind = RecordError::IndexOrder { expected: self.next_index, found };
                    return Err(LineError::at(line, fields.index_at as usize, kind).on_line(number));
                }
            }
            self.next_index += 1;
            return Ok(Some(Record::new(number, line, fields, &self.scratch)));
        }
    }
}

/// Refuses a byte order mark at the start of a file.
pub(crate) fn check_start(line: &[u8], number: u64) -> Result<(), LineError> {
    let encoding = match line {
        _ if number != 1 => return Ok(()),
        [0xef, 0xbb, 0xbf, ..] => "UTF-8",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        _ => return Ok(()),
    };
    Err(LineError { column: 1, kind: RecordError::ByteOrderMark(encoding) })
}
