//! Server-sent events, incrementally: frames may be cut anywhere, lines may end in LF, CRLF or CR.
//!
//! Follows the event stream format of the HTML standard, and reads one thing beyond it: an `error:` field line,
//! which some servers send where an event belongs. Each byte is looked at once.

/// A complete frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event` field.
    pub event: Option<&'a str>,
    /// The `data` lines, joined by LF.
    pub data: &'a [u8],
}

/// The parser.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    data: Vec<u8>,
    event: Option<String>,
    has_data: bool,
    /// The last byte was a CR, whose LF may follow.
    after_cr: bool,
    started: bool,
    limit: usize,
    /// The current frame or line was too large; skip to its end.
    skipping: bool,
    oversized: u64,
}

impl Parser {
    /// A parser that holds frames of up to `limit` bytes and skips larger ones.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Takes in the next bytes and hands out each frame they complete.
    pub fn feed(&mut self, mut bytes: &[u8], on_frame: &mut dyn FnMut(Frame<'_>)) {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.line.is_empty() && self.data.len() + line.len() > self.limit {
                // as `keep` does with a line that comes in pieces
                self.skip();
                self.end_line(b":", on_frame);
            } else if self.line.is_empty() {
                self.end_line(line, on_frame);
            } else {
                self.keep(line);
                let whole = std::mem::take(&mut self.line);
                self.end_line(&whole, on_frame);
                self.line = whole;
                self.line.clear();
            }
            bytes = &rest[1..];
            if rest[0] == b'\r' {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            self.skip();
            // Not empty, so that the end of this line is not taken for a blank line.
            self.line.push(b':');
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn skip(&mut self) {
        self.oversized += u64::from(!self.skipping);
        self.skipping = true;
        self.line = Vec::new();
        self.data = Vec::new();
    }

    fn end_line(&mut self, line: &[u8], on_frame: &mut dyn FnMut(Frame<'_>)) {
        let line = if self.started { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.started = true;
        if line.is_empty() {
            if !self.skipping && self.has_data && !self.data.is_empty() {
                on_frame(Frame { event: self.event.as_deref(), data: &self.data });
            }
            self.data.clear();
            self.event = None;
            self.has_data = false;
            self.skipping = false;
            return;
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &line[..0]),
        };
        match name {
            b"data" | b"error" => {
                if name == b"error" {
                    self.event = Some("error".to_owned());
                }
                if self.skipping {
                    return;
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.event = Some(String::from_utf8_lossy(&value[..value.len().min(256)]).into_owned()),
            _ => {}
        }
    }

    /// Hands out the frame that the bytes end inside, as a reader of lines has it: its last line may be cut.
    pub fn finish(&mut self, on_frame: &mut dyn FnMut(Frame<'_>)) {
        let line = std::mem::take(&mut self.line);
        if !self.skipping && !line.is_empty() {
            self.end_line(&line, on_frame);
        }
        self.end_line(b"", on_frame);
    }

    /// Whether the bytes so far end inside a frame that has data.
    #[must_use]
    pub fn is_inside_frame(&self) -> bool {
        self.has_data || self.skipping || self.line.first().is_some_and(|&byte| byte != b':')
    }

    /// How many frames were too large.
    #[must_use]
    pub fn oversized(&self) -> u64 {
        self.oversized
    }

    /// Bytes held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_same_however_a_line_is_cut() {
        for length in 50..80 {
            let text = format!("data: {}\n\ndata: b\n\n", "a".repeat(length));
            let read = |cut: usize| {
                let (mut parser, mut seen) = (Parser::new(64), Vec::new());
                for piece in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
                    parser.feed(piece, &mut |frame| seen.push(frame.data.to_vec()));
                }
                (seen, parser.oversized())
            };
            let whole = read(0);
            assert!((1..text.len()).all(|cut| read(cut) == whole), "{length}");
            assert_eq!(whole.1, u64::from(length + "data: ".len() > 64), "{length}");
        }
    }

    fn frames(chunks: &[&[u8]]) -> (Vec<(Option<String>, String)>, bool) {
        let mut parser = Parser::new(64);
        let mut seen = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut |frame| {
                seen.push((frame.event.map(str::to_owned), String::from_utf8_lossy(frame.data).into_owned()));
            });
        }
        (seen, parser.is_inside_frame())
    }

    #[test]
    fn every_cut_gives_the_same_frames() {
        let text = "\u{feff}: hello\r\n\r\nevent: a\r\ndata: 1é\r\ndata:2\r\n\r\ndata: x\n\nid: 7\n: ping\n\ndata:\n\ndata: y\r\rdata\ndata: z\n\nerror: {\"m\":1}\n\ndata: [DONE]\n\n".as_bytes();
        let want = frames(&[text]);
        assert_eq!(want.0.len(), 6);
        assert_eq!(want.0[0], (Some("a".into()), "1é\n2".into()));
        assert_eq!(want.0[3].1, "\nz");
        assert_eq!(want.0[4].0.as_deref(), Some("error"));
        assert!(!want.1);
        for cut in 0..text.len() {
            let (left, right) = text.split_at(cut);
            assert_eq!(frames(&[left, right]), want, "cut at {cut}");
            assert_eq!(frames(&[left, &[], right]), want, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(&bytes), want);
    }

    #[test]
    fn a_frame_without_its_blank_line_is_no_frame() {
        assert_eq!(frames(&[b"data: 1\n\ndata: [DONE]\n"]), (vec![(None, "1".into())], true));
        assert_eq!(frames(&[b"data: 1\n\ndat"]), (vec![(None, "1".into())], true));
        assert_eq!(frames(&[b"data: 1\n\n: bye"]), (vec![(None, "1".into())], false));
    }

    #[test]
    fn large_frames_are_skipped_and_counted() {
        let large = format!("data: {}\ndata: more\n\ndata: ok\n\n", "x".repeat(100));
        for size in [1, 7, 1000] {
            let mut parser = Parser::new(64);
            let mut seen = Vec::new();
            for chunk in large.as_bytes().chunks(size) {
                parser.feed(chunk, &mut |frame| seen.push(frame.data.to_vec()));
                assert!(parser.held() <= 64);
            }
            assert_eq!(seen, [b"ok"]);
            assert_eq!(parser.oversized(), 1);
        }
    }
}
