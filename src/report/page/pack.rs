//! Bytes inside a page: compressed, then in letters, in elements that no browser takes for a script. A call's texts stand
//! together in one chunk, so that a look at it opens a quarter of a megabyte and no more.

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// Bytes of texts that are compressed together.
const CHUNK: usize = 256 << 10;

/// Bytes of a page from which on no more texts are taken in: browsers refuse what is much larger.
const MOST: u64 = 256 << 20;

/// Where the texts of a call stand: the chunk, and the place in it.
pub(super) type Spot = (u32, u32);

/// Packs the texts of calls.
pub(super) struct Packer<'o> {
    out: Counting<'o>,
    buffer: Vec<u8>,
    chunks: u32,
}

impl<'o> Packer<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Packer<'o> {
        Packer { out: Counting { out, written: 0 }, buffer: Vec::new(), chunks: 0 }
    }

    /// Takes in the texts of a call; `None`: the page is full.
    pub(super) fn put(&mut self, arguments: &[u8], answer: &[u8]) -> io::Result<Option<Spot>> {
        let length = arguments.len() + answer.len();
        if self.out.written >= MOST || u32::try_from(length).is_err() {
            return Ok(None);
        }
        if !self.buffer.is_empty() && self.buffer.len() + length > CHUNK {
            self.flush()?;
        }
        let spot = (self.chunks, self.buffer.len() as u32);
        self.buffer.extend_from_slice(arguments);
        self.buffer.extend_from_slice(answer);
        Ok(Some(spot))
    }

    /// Writes what waits.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        element(&format!("c{}", self.chunks), &self.buffer, &mut self.out)?;
        self.chunks += 1;
        self.buffer.clear();
        // one long text must not be kept for all that follows
        self.buffer.shrink_to(2 * CHUNK);
        Ok(())
    }
}

/// Writes bytes as an element with an id.
pub(super) fn element(id: &str, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<script type=\"application/octet-stream\" id=\"{id}\">")?;
    let letters = EncoderWriter::new(&mut *out, &STANDARD);
    let mut packed = DeflateEncoder::new(letters, Compression::default());
    packed.write_all(bytes)?;
    packed.finish()?.finish()?;
    out.write_all(b"</script>\n")
}

/// Counts what is written.
struct Counting<'o> {
    out: &'o mut dyn Write,
    written: u64,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use std::io::Read as _;

    #[test]
    fn chunks_are_read_back() {
        let mut page = Vec::new();
        let mut packer = Packer::new(&mut page);
        let texts =
            [("a".repeat(10), "b".repeat(CHUNK)), ("c".to_owned(), String::new()), ("d".repeat(9), "e".repeat(9))];
        let spots: Vec<Spot> =
            texts.iter().map(|(one, other)| packer.put(one.as_bytes(), other.as_bytes()).unwrap().unwrap()).collect();
        packer.finish().unwrap();
        assert_eq!(spots, [(0, 0), (1, 0), (1, 1)]);
        let page = String::from_utf8(page).unwrap();
        let chunks: Vec<Vec<u8>> = page
            .lines()
            .map(|line| {
                let text = &line[line.find('>').unwrap() + 1..line.rfind("</script>").unwrap()];
                let mut bytes = Vec::new();
                let packed = STANDARD.decode(text).unwrap();
                flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
                bytes
            })
            .collect();
        for ((one, other), (chunk, at)) in texts.iter().zip(spots) {
            let whole = format!("{one}{other}");
            assert_eq!(&chunks[chunk as usize][at as usize..at as usize + whole.len()], whole.as_bytes());
        }
    }
}
