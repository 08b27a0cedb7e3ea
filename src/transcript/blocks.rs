//! Buffered input in blocks of whole lines.

use crate::json::MAX_TEXT;
use std::io::{self, ErrorKind, Read};

/// The usual size of a block; one long line makes a block of its own size.
const BLOCK: usize = 1 << 20;

/// How much is read at once of a line that is longer than a block.
const GROWTH: usize = 4 << 20;

/// Whole lines of a file, in order.
#[derive(Debug, Default)]
pub struct Block {
    /// The lines and, behind them, room that was filled before and is only written over.
    storage: Vec<u8>,
    len: usize,
    /// The place of the block in its file, from 0.
    pub number: u64,
}

impl Block {
    /// The lines with their line ends; the last line of a file may lack its own.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.storage[..self.len]
    }

    /// Behind the last line end at or behind `from`.
    fn last_line_end(&self, from: usize) -> Option<usize> {
        memchr::memrchr(b'\n', &self.storage[from..self.len]).map(|last| from + last + 1)
    }

    /// Whether the block holds more room than blocks usually need.
    pub(crate) fn is_oversized(&self) -> bool {
        self.storage.capacity() > 4 * BLOCK
    }

    /// Starts over with `rest`, and with room for a usual block.
    fn start(&mut self, rest: &mut Vec<u8>, number: u64) {
        self.number = number;
        if rest.len() > BLOCK {
            // a long start is not held twice
            self.storage = std::mem::take(rest);
            self.len = self.storage.len();
            return;
        }
        if self.is_oversized() {
            self.storage = Vec::new();
        }
        let room = BLOCK.max(rest.len() + 1);
        if self.storage.is_empty() {
            // zeroed room from the system costs nothing until it is used
            self.storage = vec![0; room];
        } else if self.storage.len() < room {
            self.storage.resize(room, 0);
        }
        self.storage[..rest.len()].copy_from_slice(rest);
        self.len = rest.len();
        rest.clear();
    }
}

/// Cuts what a reader yields into blocks of whole lines.
#[derive(Debug)]
pub struct Blocks<R> {
    source: R,
    /// The start of a line whose end is not read yet.
    rest: Vec<u8>,
    /// How much of that was searched for line ends.
    searched: usize,
    /// What went wrong behind the lines that were handed on last.
    failed: Option<io::Error>,
    ended: bool,
    next_number: u64,
    /// The longest line that is read to its end.
    longest: usize,
}

impl<R: Read> Blocks<R> {
    /// Blocks of `source`.
    pub fn new(source: R) -> Blocks<R> {
        Blocks::behind(Vec::new(), source)
    }

    /// Blocks of `start` and what follows it.
    pub(crate) fn behind(start: Vec<u8>, source: R) -> Blocks<R> {
        Blocks { source, rest: start, searched: 0, failed: None, ended: false, next_number: 0, longest: MAX_TEXT }
    }

    /// Fills `block` with the next lines; false at the end.
    ///
    /// A line longer than a text may be is cut where it exceeds that, so that the reader of the line refuses it.
    ///
    /// # Errors
    /// What the source says, but `Interrupted`.
    pub fn next_into(&mut self, block: &mut Block) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            block.start(&mut Vec::new(), self.next_number);
            self.next_number += 1;
            return Err(error);
        }
        let mut searched = std::mem::take(&mut self.searched);
        block.start(&mut self.rest, self.next_number);
        if self.rest.capacity() > 4 * BLOCK {
            self.rest = Vec::new();
        }
        self.next_number += 1;
        loop {
            if block.len >= BLOCK {
                if let Some(end) = block.last_line_end(searched) {
                    self.rest.extend_from_slice(&block.storage[end..block.len]);
                    self.searched = self.rest.len();
                    block.len = end;
                    break;
                }
                searched = block.len;
            }
            if block.len > self.longest {
                self.ended = true;
            }
            if self.ended {
                break;
            }
            let filled = if block.len < BLOCK { self.fill(block) } else { self.grow(block) };
            if let Err(error) = filled {
                self.ended = true;
                // the lines before it come first, so that it is known where it stands
                let Some(end) = block.last_line_end(searched) else { return Err(error) };
                block.len = end;
                self.failed = Some(error);
                break;
            }
        }
        Ok(block.len > 0)
    }

    /// Reads into the room there is.
    fn fill(&mut self, block: &mut Block) -> io::Result<()> {
        while block.len < block.storage.len() && !self.ended {
            match self.source.read(&mut block.storage[block.len..]) {
                Ok(0) => self.ended = true,
                Ok(read) => block.len += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads on for a line that is longer than a block. The new room is not filled before it is read into, and little
    /// is read beyond the line: a long line costs its own length.
    fn grow(&mut self, block: &mut Block) -> io::Result<()> {
        block.storage.truncate(block.len);
        if block.storage.capacity() - block.len < GROWTH {
            block.storage.reserve_exact(block.len.max(2 * GROWTH));
        }
        let read = self.source.by_ref().take(GROWTH as u64).read_to_end(&mut block.storage);
        self.ended = block.storage.len() < block.len + GROWTH;
        block.len = block.storage.len();
        read.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives at most `step` bytes at a time.
    struct Slow<'t> {
        text: &'t [u8],
        step: usize,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.step.min(buffer.len()).min(self.text.len());
            buffer[..len].copy_from_slice(&self.text[..len]);
            self.text = &self.text[len..];
            Ok(len)
        }
    }

    #[test]
    fn blocks_are_whole_lines_and_lose_nothing() {
        for (line, lines) in
            [(10, 300_000), (BLOCK - 1, 5), (BLOCK, 5), (BLOCK + 1, 5), (3 * BLOCK, 3), (5 * BLOCK + 7, 2)]
        {
            for ends_with_newline in [true, false] {
                let one = [vec![b'x'; line - 1], vec![b'\n']].concat();
                let mut text = one.repeat(lines);
                if !ends_with_newline {
                    text.pop();
                }
                for step in [usize::MAX, 70_001] {
                    let (mut blocks, mut block) = (Blocks::new(Slow { text: &text, step }), Block::default());
                    let mut joined = Vec::new();
                    while blocks.next_into(&mut block).unwrap() {
                        joined.extend_from_slice(block.bytes());
                        let is_last = joined.len() == text.len();
                        assert!(is_last || block.bytes().ends_with(b"\n"));
                        assert!(!block.bytes().is_empty());
                    }
                    assert!(joined == text, "{line} {step}");
                }
            }
        }
    }

    #[test]
    fn a_start_that_was_read_before_is_part_of_it() {
        let text = "line\n".repeat(3 * BLOCK / 5);
        for cut in [0, 3, BLOCK, 2 * BLOCK + 7, text.len()] {
            let (start, rest) = text.as_bytes().split_at(cut);
            let (mut blocks, mut block) = (Blocks::behind(start.to_vec(), rest), Block::default());
            let mut joined = Vec::new();
            while blocks.next_into(&mut block).unwrap() {
                assert!(block.bytes().ends_with(b"\n"));
                joined.extend_from_slice(block.bytes());
            }
            assert!(joined == text.as_bytes(), "{cut}");
        }
    }

    #[test]
    fn what_fails_comes_behind_the_lines_before_it() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("failed"))
            }
        }
        for cut in [0, 2, 6, 11] {
            let (start, rest) = b"one\ntwo\nthr".split_at(cut);
            let (mut blocks, mut block) = (Blocks::behind(start.to_vec(), rest.chain(Fails)), Block::default());
            assert!(blocks.next_into(&mut block).unwrap());
            assert_eq!(block.bytes(), b"one\ntwo\n");
            assert!(blocks.next_into(&mut block).is_err());
            assert!(!blocks.next_into(&mut block).unwrap());
        }
    }

    #[test]
    fn a_line_beyond_all_bounds_is_handed_on_cut() {
        let (mut blocks, mut block) = (Blocks::new(io::repeat(b'x')), Block::default());
        blocks.longest = 5 * BLOCK;
        assert!(blocks.next_into(&mut block).unwrap());
        assert!((5 * BLOCK..=10 * BLOCK).contains(&block.bytes().len()));
        assert!(!blocks.next_into(&mut block).unwrap());
    }
}
