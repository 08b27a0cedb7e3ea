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

/// Decodes as much of a whole body as there is, of at most `limit` bytes: clients use what they get. The error says why it
/// is not all.
pub(super) fn decode_some(encoding: &str, bytes: &[u8], limit: usize) -> (Vec<u8>, Result<(), Undecoded>) {
    let mut body = bytes.to_vec();
    let mut all = Ok(());
    for one in encoding.split(',').rev().map(str::trim) {
        let (decoded, result) = match one.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => read_some(flate2::read::MultiGzDecoder::new(&body[..]), limit),
            "deflate" if is_zlib(&body) => read_some(flate2::read::ZlibDecoder::new(&body[..]), limit),
            "deflate" => read_some(flate2::read::DeflateDecoder::new(&body[..]), limit),
            "br" => read_some(brotli_decompressor::Decompressor::new(&body[..], 4096), limit),
            "zstd" => match ruzstd::decoding::StreamingDecoder::new(&body[..]) {
                Ok(decoder) => read_some(decoder, limit),
                Err(_) => (Vec::new(), Err(Undecoded::Broken)),
            },
            _ => return (body, Err(Undecoded::Unknown)),
        };
        body = decoded;
        all = all.and(result);
    }
    (body, all)
}

fn read_some(mut from: impl Read, limit: usize) -> (Vec<u8>, Result<(), Undecoded>) {
    let (mut body, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return (body, Ok(())),
            Ok(read) => body.extend_from_slice(&buffer[..read]),
            Err(_) => return (body, Err(Undecoded::Broken)),
        }
        if body.len() > limit {
            return (body, Err(Undecoded::TooLarge));
        }
    }
}

/// Whether `deflate` is what its name says, a zlib stream; many servers send it bare.
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first & 15 == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0)
}

/// Decodes a gzip or deflate stream as it comes.
pub(super) enum Inflater {
    Gzip(Box<flate2::write::MultiGzDecoder<Vec<u8>>>),
    Zlib(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
    Bare(Box<flate2::write::DeflateDecoder<Vec<u8>>>),
}

impl Inflater {
    /// Whether streams of this encoding can be decoded as they come.
    pub(super) fn knows(encoding: &str) -> bool {
        matches!(encoding.trim(), "gzip" | "x-gzip" | "deflate")
    }

    /// A decoder for a stream that begins with these bytes, two at least. None when they are not in that encoding.
    pub(super) fn new(encoding: &str, first: &[u8]) -> Option<Self> {
        match encoding.trim() {
            "gzip" | "x-gzip" => first
                .starts_with(b"\x1f\x8b")
                .then(|| Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Vec::new())))),
            "deflate" if is_zlib(first) => Some(Self::Zlib(Box::new(flate2::write::ZlibDecoder::new(Vec::new())))),
            // no stream begins with such a block, and texts do
            "deflate" if first.first().is_some_and(|byte| byte & 6 != 6) => {
                Some(Self::Bare(Box::new(flate2::write::DeflateDecoder::new(Vec::new()))))
            }
            _ => None,
        }
    }

    /// Takes in compressed bytes and hands out what they give, in pieces of bounded size.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> Result<(), Undecoded> {
        fn step<D: Write>(decoder: &mut D, piece: &[u8]) -> std::io::Result<()> {
            decoder.write_all(piece)?;
            decoder.flush()
        }
        // In small steps: a short run of bytes can unfold a thousandfold.
        for piece in bytes.chunks(256) {
            let (written, buffer) = match self {
                Self::Gzip(decoder) => (step(&mut **decoder, piece), decoder.get_mut()),
                Self::Zlib(decoder) => (step(&mut **decoder, piece), decoder.get_mut()),
                Self::Bare(decoder) => (step(&mut **decoder, piece), decoder.get_mut()),
            };
            out(buffer);
            buffer.clear();
            if written.is_err() {
                return Err(Undecoded::Broken);
            }
        }
        Ok(())
    }

    /// Whether the stream has come to its own end; to be asked when no more comes.
    pub(super) fn is_at_end(&mut self) -> bool {
        let ended = match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::Bare(decoder) => decoder.try_finish(),
        };
        ended.is_ok()
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
        let mut inflater = Inflater::new("gzip", b"\x1f\x8b").unwrap();
        let mut seen = Vec::new();
        for part in text.chunks(90) {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
            let sent = std::mem::take(encoder.get_mut());
            inflater.feed(&sent, &mut |bytes| seen.extend_from_slice(bytes)).unwrap();
            assert!(seen.ends_with(part));
        }
        assert_eq!(seen, text);
        inflater.feed(&encoder.finish().unwrap(), &mut |_| ()).unwrap();
        assert!(inflater.is_at_end());
    }

    #[test]
    fn deflate_with_and_without_its_wrapping() {
        let text = b"data: {\"a\":1}\n\n".repeat(40);
        let mut wrapped = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        wrapped.write_all(&text).unwrap();
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        bare.write_all(&text).unwrap();
        for bytes in [wrapped.finish().unwrap(), bare.finish().unwrap()] {
            let mut inflater = Inflater::new("deflate", &bytes).unwrap();
            let mut seen = Vec::new();
            inflater.feed(&bytes, &mut |piece| seen.extend_from_slice(piece)).unwrap();
            assert_eq!((seen, inflater.is_at_end()), (text.clone(), true));
            assert_eq!(decode_some("deflate", &bytes, 4096), (text.clone(), Ok(())));
        }
        for plain in [&b"data: 1"[..], b"{\"a\"", b"event: x"] {
            assert!(Inflater::new("gzip", plain).is_none());
        }
    }

    #[test]
    fn of_a_cut_body_there_is_what_came() {
        let text: Vec<u8> =
            (0..4000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_string().into_bytes()).collect();
        let whole = gzip(&text);
        let (some, all) = decode_some("gzip", &whole[..whole.len() / 2], 1 << 20);
        assert!(!some.is_empty() && text.starts_with(&some) && all == Err(Undecoded::Broken));
        // without its check sum the text is all there
        let (some, all) = decode_some("gzip", &whole[..whole.len() - 8], 1 << 20);
        assert_eq!((some, all), (text, Err(Undecoded::Broken)));
        assert_eq!(decode_some("lzma", b"{}", 10), (b"{}".to_vec(), Err(Undecoded::Unknown)));
        assert_eq!(decode_some("gzip", b"{}", 10).1, Err(Undecoded::Broken));
    }
}
