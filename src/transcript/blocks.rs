//! Buffered input in blocks of whole lines.

use crate::json::MAX_TEXT;
use std::io::{self, Read};

/// The usual size of a block; one long line makes a block of its own size.
const BLOCK: usize = 1 << 20;

/// Whole lines of a file, in order.
#[derive(Debug, Default)]
pub struct Block {
    /// The lines with their line ends; the last line of a file may lack its own.
    pub bytes: Vec<u8>,
    /// The place of the block in its file, from 0.
    pub number: u64,
}

impl Block {
    /// Whether the block holds more room than blocks usually need.
    pub(crate) fn is_oversized(&self) -> bool {
        self.bytes.capacity() > 4 * BLOCK
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
}

impl<R: Read> Blocks<R> {
    /// Blocks of `source`.
    pub fn new(source: R) -> Blocks<R> {
        Blocks { source, rest: Vec::new(), ended: false, next_number: 0 }
    }

    /// Fills `block` with the next lines; false at the end.
    ///
    /// A line longer than a text may be is cut where it exceeds that, so that the reader of the line refuses it.
    ///
    /// # Errors
    /// What the source says, but `Interrupted`.
    pub fn next_into(&mut self, block: &mut Block) -> io::Result<bool> {
        if block.is_oversized() {
            *block = Block::default();
        }
        let bytes = &mut block.bytes;
        bytes.clear();
        bytes.append(&mut self.rest);
        block.number = self.next_number;
        self.next_number += 1;
        let mut target = BLOCK;
        while !self.ended {
            let filled = bytes.len();
            if filled > MAX_TEXT {
                self.ended = true;
                break;
            }
            let room = target.max(filled + 1) - filled;
            bytes.reserve_exact(room);
            let read = (&mut self.source).take(room as u64).read_to_end(bytes).inspect_err(|_| self.ended = true)?;
            if read < room {
                self.ended = true;
            } else if let Some(last) = memchr::memrchr(b'\n', &bytes[filled..]) {
                let cut = filled + last + 1;
                self.rest.extend_from_slice(&bytes[cut..]);
                bytes.truncate(cut);
                break;
            }
            target = bytes.len() * 2;
        }
        Ok(!bytes.is_empty())
    }
}
