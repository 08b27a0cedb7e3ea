//! Decodes copies of compressed bodies, bounded. What is sent on stays compressed.

use std::io::{Read, Write};

/// Why a copy could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undecoded {
    /// No decoder for this encoding.
    Unknown,
    /// The bytes are not in that encoding, or cut.
    Broken,
    /// The decoded body is larger than the limit.
    TooLarge,
}

/// Whether an encoding header names one that changes nothing.
pub(super) fn is_plain(encoding: &str) -> bool {
    encoding.split(',').all(|one| matches!(one.trim(), "" | "identity"))
}

/// Decodes a whole body of at most `limit` bytes.
pub(super) fn decode(encoding: &str, bytes: &[u8], limit: usize) -> Result<Vec<u8>, Undecoded> {
    let mut body = std::borrow::Cow::Borrowed(bytes);
    // Applied in the order listed, so undone from the last.
    for one in encoding.split(',').rev().map(str::trim) {
        let decoded = match one.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(&body[..]), limit),
            "deflate" => read(flate2::read::ZlibDecoder::new(&body[..]), limit).or_else(|error| match error {
                Undecoded::Broken => read(flate2::read::DeflateDecoder::new(&body[..]), limit),
                other => Err(other),
            }),
            "br" => read(brotli_decompressor::Decompressor::new(&body[..], 4096), limit),
            "zstd" => read(ruzstd::decoding::StreamingDecoder::new(&body[..]).map_err(|_| Undecoded::Broken)?, limit),
            _ => return Err(Undecoded::Unknown),
        };
        body = decoded?.into();
    }
    Ok(body.into_owned())
}

fn read(from: impl Read, limit: usize) -> Result<Vec<u8>, Undecoded> {
    let mut body = Vec::new();
    let most = limit as u64 + 1;
    from.take(most).read_to_end(&mut body).map_err(|_| Undecoded::Broken)?;
    if body.len() > limit { Err(Undecoded::TooLarge) } else { Ok(body) }
}

/// Decodes a gzip or deflate stream as it comes.
pub(super) enum Inflater {
    Gzip(Box<flate2::write::MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
}

impl Inflater {
    pub(super) fn new(encoding: &str) -> Option<Self> {
        match encoding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Vec::new())))),
            "deflate" => Some(Self::Deflate(Box::new(flate2::write::ZlibDecoder::new(Vec::new())))),
            _ => None,
        }
    }

    /// Takes in compressed bytes and hands out what they give, in pieces of bounded size.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> Result<(), Undecoded> {
        // In small steps: a short run of bytes can unfold a thousandfold.
        for piece in bytes.chunks(256) {
            let (written, buffer) = match self {
                Self::Gzip(decoder) => (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut()),
                Self::Deflate(decoder) => (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut()),
            };
            out(buffer);
            buffer.clear();
            if written.is_err() {
                return Err(Undecoded::Broken);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn whole_bodies() {
        let text = b"hello hello hello".repeat(50);
        assert_eq!(decode("gzip", &gzip(&text), 4096).unwrap(), text);
        assert_eq!(decode("gzip, identity", &gzip(&text), 4096).unwrap(), text);
        assert_eq!(decode("gzip, gzip", &gzip(&gzip(&text)), 4096).unwrap(), text);
        assert_eq!(decode("gzip", &gzip(&text), 100), Err(Undecoded::TooLarge));
        assert_eq!(decode("gzip", b"not gzip", 100), Err(Undecoded::Broken));
        assert_eq!(decode("zstd", b"not zstd", 100), Err(Undecoded::Broken));
        assert_eq!(decode("br", b"\xff\xff\xff", 100), Err(Undecoded::Broken));
        assert_eq!(decode("lzma", b"", 100), Err(Undecoded::Unknown));
    }

    #[test]
    fn streams_give_text_as_it_comes() {
        let text = b"data: 1\n\n".repeat(100);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let mut inflater = Inflater::new("gzip").unwrap();
        let mut seen = Vec::new();
        for part in text.chunks(90) {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
            let sent = std::mem::take(encoder.get_mut());
            inflater.feed(&sent, &mut |bytes| seen.extend_from_slice(bytes)).unwrap();
            assert!(seen.ends_with(part));
        }
        assert_eq!(seen, text);
    }
}
