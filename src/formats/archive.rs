//! Zip archives, as far as logs need them: the list of entries at the end, and one entry at a time, stored, deflated or
//! as Zstandard. Names are only names here: nothing is ever written to where they point.

use crate::json::MAX_TEXT;
use flate2::read::DeflateDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read, Seek, SeekFrom};

/// A source that can be read anywhere.
pub(crate) trait Anywhere: Read + Seek + Send {}
impl<T: Read + Seek + Send> Anywhere for T {}

/// An archive.
pub(crate) struct Archive {
    source: Box<dyn Anywhere>,
    entries: Vec<Entry>,
}

/// One file in an archive.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    method: u16,
    packed: u64,
    /// Where its own header stands.
    header: u64,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged zip archive: {what}"))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The longest end record: its fixed part and a comment.
const END: u64 = 22 + 65_535;
/// The longest directory that is read, in bytes.
const DIRECTORY: u64 = 256 << 20;

impl Archive {
    pub(crate) fn open(mut source: Box<dyn Anywhere>) -> io::Result<Archive> {
        let size = source.seek(SeekFrom::End(0))?;
        let tail_start = size.saturating_sub(END + 20);
        source.seek(SeekFrom::Start(tail_start))?;
        let mut tail = Vec::new();
        source.read_to_end(&mut tail)?;
        let end = memchr::memmem::rfind(&tail, b"PK\x05\x06").ok_or_else(|| broken("it has no end record"))?;
        let short = || broken("its end record is cut off");
        let mut length = u64::from(u32_at(&tail, end + 12).ok_or_else(short)?);
        let mut start = u64::from(u32_at(&tail, end + 16).ok_or_else(short)?);
        // large archives keep the true numbers in a record of their own
        if let Some(locator) = end.checked_sub(20).filter(|at| tail[*at..].starts_with(b"PK\x06\x07")) {
            source.seek(SeekFrom::Start(u64_at(&tail, locator + 8).ok_or_else(short)?))?;
            let mut record = [0; 56];
            source.read_exact(&mut record)?;
            length = u64_at(&record, 40).ok_or_else(short)?;
            start = u64_at(&record, 48).ok_or_else(short)?;
        }
        if length > DIRECTORY || start.checked_add(length).is_none_or(|end| end > size) {
            return Err(broken("its directory does not fit into it"));
        }
        source.seek(SeekFrom::Start(start))?;
        let mut directory = vec![0; length as usize];
        source.read_exact(&mut directory)?;
        let (mut entries, mut at) = (Vec::new(), 0);
        while directory.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
            let (entry, len) = Entry::read(&directory[at..]).ok_or_else(|| broken("its directory is cut off"))?;
            entries.push(entry);
            at += len;
        }
        Ok(Archive { source, entries })
    }

    /// The names, in the order of the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.name.clone()).collect()
    }

    /// The bytes of an entry.
    pub(crate) fn read(&mut self, place: usize) -> io::Result<Vec<u8>> {
        let Some(entry) = self.entries.get(place).cloned() else { return Err(broken("no such entry")) };
        self.source.seek(SeekFrom::Start(entry.header))?;
        let mut header = [0; 30];
        self.source.read_exact(&mut header)?;
        let lengths = u16_at(&header, 26).zip(u16_at(&header, 28)).filter(|_| header.starts_with(b"PK\x03\x04"));
        let (name, extra) = lengths.ok_or_else(|| broken("an entry is not where the directory says"))?;
        self.source.seek(SeekFrom::Current(i64::from(name) + i64::from(extra)))?;
        let packed = (&mut self.source).take(entry.packed);
        let mut text = Vec::new();
        let most = MAX_TEXT as u64 + 1;
        match entry.method {
            0 => packed.take(most).read_to_end(&mut text)?,
            8 => DeflateDecoder::new(packed).take(most).read_to_end(&mut text)?,
            93 => {
                let decoder = StreamingDecoder::new(packed).map_err(|error| broken(&error.to_string()))?;
                decoder.take(most).read_to_end(&mut text)?
            }
            other => return Err(broken(&format!("compression method {other} is not known"))),
        };
        if text.len() > MAX_TEXT {
            return Err(broken(&format!("'{}' is larger than {} MiB", entry.name, MAX_TEXT >> 20)));
        }
        Ok(text)
    }
}

impl Entry {
    /// An entry of the directory, and its length there.
    fn read(bytes: &[u8]) -> Option<(Entry, usize)> {
        let method = u16_at(bytes, 10)?;
        let (packed, size, header) = (u32_at(bytes, 20)?, u32_at(bytes, 24)?, u32_at(bytes, 42)?);
        let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| u16_at(bytes, at).unwrap_or(0) as usize);
        let name = String::from_utf8_lossy(bytes.get(46..46 + name_len)?).into_owned();
        let mut entry = Entry { name, method, packed: u64::from(packed), header: u64::from(header) };
        let mut extra = bytes.get(46 + name_len..46 + name_len + extra_len)?;
        while let (Some(tag), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
            let body = extra.get(4..4 + len as usize)?;
            if tag == 1 {
                // 64-bit numbers, of those that did not fit, in this order
                let mut at = 0;
                let mut next = |is_missing: bool| {
                    let value = is_missing.then(|| u64_at(body, at)).flatten();
                    at += if is_missing { 8 } else { 0 };
                    value
                };
                next(size == u32::MAX);
                entry.packed = next(packed == u32::MAX).unwrap_or(entry.packed);
                entry.header = next(header == u32::MAX).unwrap_or(entry.header);
            }
            extra = &extra[4 + len as usize..];
        }
        Some((entry, 46 + name_len + extra_len + comment_len))
    }
}
