//! From a file's bytes to text: compression, encodings and marks at the start are taken off, by what the bytes say and
//! not by the file's name.

use crate::limits::Budget;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// What a file turned out to be.
pub(crate) enum Opened {
    /// Text, and what was taken off on the way to it.
    Text(Box<dyn Read + Send>, Vec<&'static str>),
    /// A zip archive.
    Zip(Box<dyn Read + Send>),
    /// Something that cannot be read.
    Refused(&'static str),
    /// Something that is known, and is no recording.
    Other(&'static str),
}

type Source = Box<dyn Read + Send>;

/// Reads up to `most` bytes and gives them back with the source from its start.
pub(crate) fn peek(mut source: Source, most: usize) -> io::Result<(Vec<u8>, Source)> {
    let mut head = Vec::new();
    source.by_ref().take(most as u64).read_to_end(&mut head)?;
    let whole = Box::new(Cursor::new(head.clone()).chain(source));
    Ok((head, whole))
}

/// The text of a file, or its bytes as they are where there is none to be had.
pub(crate) fn unpacked(source: Source, budget: &Budget) -> io::Result<Source> {
    match open(source, budget)? {
        Opened::Text(source, _) | Opened::Zip(source) => Ok(source),
        Opened::Refused(why) | Opened::Other(why) => Err(io::Error::other(why)),
    }
}

/// Windows of Zstandard up to this size, in bytes, are made room for: what its command makes without `--ultra` and
/// `--long` needs half of it.
const WINDOW: u64 = 16 << 20;

/// Takes off what lies around the text.
pub(crate) fn open(source: Source, budget: &Budget) -> io::Result<Opened> {
    let (mut source, mut taken) = (source, Vec::new());
    let mut window = WINDOW;
    // compression inside compression happens; without end it is an attack
    for _ in 0..4 {
        let (head, whole) = peek(source, 16)?;
        source = match &head[..] {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                taken.push("zstd");
                budget.hold(window);
                let decoder = Zstd { decoder: None, rest: Some(BufReader::new(whole)), any: false, window };
                // one of them is large
                window = 1 << 20;
                Box::new(budget.unpacked(decoder))
            }
            [0x1f, 0x8b, ..] => {
                taken.push("gzip");
                Box::new(budget.unpacked(MultiGzDecoder::new(whole)))
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                taken.push("UTF-16");
                Box::new(Utf16::new(whole, head[0] == 0xff))
            }
            [0xef, 0xbb, 0xbf, rest @ ..] => {
                taken.push("byte order mark");
                let mut whole = whole;
                whole.read_exact(&mut [0; 3])?;
                let _ = rest;
                whole
            }
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => return Ok(Opened::Zip(whole)),
            start if start.starts_with(b"SQLite format 3") => {
                return Ok(Opened::Other(
                    "this is an SQLite database; export the session first (opencode: 'opencode export SESSION')",
                ));
            }
            _ => return Ok(Opened::Text(whole, taken)),
        };
    }
    Ok(Opened::Refused("the file is compressed more than three times over"))
}

/// Zstandard frames, one after the other.
struct Zstd {
    decoder: Option<StreamingDecoder<BufReader<Source>, FrameDecoder>>,
    /// What stands behind the last frame.
    rest: Option<BufReader<Source>>,
    any: bool,
    /// The largest window of a frame, in bytes.
    window: u64,
}

impl Zstd {
    /// Checks how much room the frame needs that begins at the start of `bytes`.
    fn check_window(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(needed) = window(bytes).filter(|needed| *needed > self.window) else { return Ok(()) };
        let what = format!(
            "zstd data that needs a window of {} bytes to be unpacked, of which {} are allowed; compress it again \
             without --ultra and --long",
            needed, self.window
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

/// The window that a frame of Zstandard needs, by its header.
fn window(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    if descriptor & 0x20 == 0 {
        let (exponent, mantissa) = (frame.get(5)? >> 3, u64::from(frame.get(5)? & 7));
        let base = 1 << (10 + exponent);
        return Some(base + base / 8 * mantissa);
    }
    // a single segment: its window is its content
    let at = 5 + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = |len: usize| {
        let bytes = frame.get(at..at + len)?;
        Some(bytes.iter().rev().fold(0_u64, |size, byte| size << 8 | u64::from(*byte)))
    };
    match descriptor >> 6 {
        0 => size(1),
        1 => size(2).map(|size| size + 256),
        2 => size(4),
        _ => size(8),
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let read = decoder.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.rest = self.decoder.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut rest) = self.rest.take() else { return Ok(0) };
            if self.any && rest.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.any = true;
            self.check_window(rest.fill_buf()?)?;
            let broken =
                |_| io::Error::new(io::ErrorKind::InvalidData, "damaged zstd data: no frame begins where one should");
            self.decoder = Some(StreamingDecoder::new(rest).map_err(broken)?);
        }
    }
}

/// UTF-16 as UTF-8. Half a surrogate pair becomes U+FFFD.
struct Utf16 {
    source: BufReader<Source>,
    little: bool,
    high: Option<u16>,
    ready: Vec<u8>,
    given: usize,
    started: bool,
}

impl Utf16 {
    fn new(source: Source, little: bool) -> Utf16 {
        Utf16 { source: BufReader::new(source), little, high: None, ready: Vec::new(), given: 0, started: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let mut bytes = Vec::new();
        self.source.by_ref().take(64 << 10).read_to_end(&mut bytes)?;
        let units = bytes.chunks_exact(2).map(|pair| match self.little {
            true => u16::from_le_bytes([pair[0], pair[1]]),
            false => u16::from_be_bytes([pair[0], pair[1]]),
        });
        let mut units: Vec<u16> = self.high.take().into_iter().chain(units).collect();
        if !self.started && units.first() == Some(&0xfeff) {
            units.remove(0);
        }
        self.started = true;
        if !bytes.is_empty() && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.high = units.pop();
        }
        let mut utf8 = [0; 4];
        for char in char::decode_utf16(units) {
            let text = char.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8);
            self.ready.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}

impl Read for Utf16 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.fill()?;
        }
        let len = buffer.len().min(self.ready.len() - self.given);
        buffer[..len].copy_from_slice(&self.ready[self.given..self.given + len]);
        self.given += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn windows_are_read_off_headers() {
        assert_eq!(window(b"\x28\xb5\x2f\xfd\x00\x58"), Some(2 << 20));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\x20\x09"), Some(9));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x40"), Some(1 << 30));
        assert_eq!(window(b"\x28\xb5\x2f\xfd\x00\xff"), Some((1 << 41) + (1 << 38) * 7));
        assert_eq!(window(b"\x28\xb5\x2f\xfd"), None);
    }
}
