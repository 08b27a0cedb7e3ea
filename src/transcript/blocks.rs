//! Buffered input in blocks of whole lines.

use crate::json::MAX_TEXT;
use std::io::{self, ErrorKind, Read};

/// The usual size of a block; one long line makes a block of its own size.
const BLOCK: usize = 1 << 20;

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

    /// Whether the block holds more room than blocks usually need.
    pub(crate) fn is_oversized(&self) -> bool {
        self.storage.capacity() > 4 * BLOCK
    }

    /// Starts over with `rest`, and with room for a usual block.
    fn start(&mut self, rest: &[u8], number: u64) {
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
        self.number = number;
    }
}

/// Cuts what a reader yields into blocks of whole lines.
#[derive(Debug)]
pub struct Blocks<R> {
    source: R,
    /// The start of a line whose end is not read yet.
    rest: Vec<u8>,
    ended: bool,
    next_number: u64,
    /// The longest line that is read to its end.
    longest: usize,
}

impl<R: Read> Blocks<R> {
    /// Blocks of `source`.
    pub fn new(source: R) -> Blocks<R> {
        Blocks { source, rest: Vec::new(), ended: false, next_number: 0, longest: MAX_TEXT }
    }

    /// Fills `block` with the next lines; false at the end.
    ///
    /// A line longer than a text may be is cut where it exceeds that, so that the reader of the line refuses it.
    ///
    /// # Errors
    /// What the source says, but `Interrupted`.
    pub fn next_into(&mut self, block: &mut Block) -> io::Result<bool> {
        let mut searched = self.rest.len();
        block.start(&self.rest, self.next_number);
        self.rest.clear();
        if self.rest.capacity() > 4 * BLOCK {
            self.rest = Vec::new();
        }
        self.next_number += 1;
        while !self.ended {
            if block.len > self.longest {
                self.ended = true;
                break;
            }
            let filled = if block.len < BLOCK { self.fill(block) } else { self.grow(block) };
            filled.inspect_err(|_| self.ended = true)?;
            if let Some(last) = memchr::memrchr(b'\n', &block.storage[searched..block.len])
                && !self.ended
            {
                let cut = searched + last + 1;
                self.rest.extend_from_slice(&block.storage[cut..block.len]);
                block.len = cut;
                break;
            }
            searched = block.len;
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

    /// Reads as much again as the block holds, for a line that is longer than that. The new room is not filled before
    /// it is read into: a long line costs its own length.
    fn grow(&mut self, block: &mut Block) -> io::Result<()> {
        block.storage.truncate(block.len);
        let room = block.len;
        block.storage.reserve_exact(room);
        let read = self.source.by_ref().take(room as u64).read_to_end(&mut block.storage)?;
        self.ended = read < room;
        block.len = block.storage.len();
        Ok(())
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
    fn a_line_beyond_all_bounds_is_handed_on_cut() {
        let (mut blocks, mut block) = (Blocks::new(io::repeat(b'x')), Block::default());
        blocks.longest = 5 * BLOCK;
        assert!(blocks.next_into(&mut block).unwrap());
        assert!((5 * BLOCK..=10 * BLOCK).contains(&block.bytes().len()));
        assert!(!blocks.next_into(&mut block).unwrap());
    }
}
