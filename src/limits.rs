//! How much a run takes in. The bounds hold before memory is taken, and for all threads together: text that is unpacked
//! is counted across files, and of what is larger than usual only one input is in memory at a time.

use crate::json::MAX_TEXT;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of one input that may stand in memory without waiting for a turn.
const USUAL: u64 = 4 << 20;
/// Bytes that are looked at in one go.
const STEP: usize = 1 << 20;

/// What a run takes in at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line; never more than [`MAX_TEXT`].
    pub line: u64,
    /// Bytes of one JSON document; never more than [`MAX_TEXT`].
    pub document: u64,
    /// Bytes that come out of compressed files, all of a run's together.
    pub unpacked: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { line: MAX_TEXT as u64, document: MAX_TEXT as u64, unpacked: 4 << 30 }
    }
}

impl Limits {
    /// Reads a number of bytes as users write it, with the units K, M and G of 1,024 each; never 0.
    ///
    /// # Errors
    /// In words, what was expected.
    pub fn size(text: &str) -> Result<u64, &'static str> {
        let (digits, bits) = match text.char_indices().next_back() {
            Some((at, 'K')) => (&text[..at], 10),
            Some((at, 'M')) => (&text[..at], 20),
            Some((at, 'G')) => (&text[..at], 30),
            _ => (text, 0),
        };
        let number = Some(digits).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        number
            .and_then(|digits| digits.parse::<u64>().ok()?.checked_mul(1 << bits))
            .filter(|size| *size > 0)
            .ok_or("expected a number of bytes such as 1000000, 64K, 100M or 2G")
    }
}

/// What was too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// A line.
    #[error("the line is longer than {}{}", Size(*.0), more("--max-line", *.0))]
    Line(u64),
    /// A document.
    #[error("one JSON document of more than {}{}", Size(*.0), more("--max-document", *.0))]
    Document(u64),
    /// What was unpacked.
    #[error("the compressed files of this run hold more than {} of text; --max-unpacked allows more", Size(*.0))]
    Unpacked(u64),
}

impl Exceeded {
    /// The limit that an error of a reader stands for, if it does.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Exceeded> {
        error.get_ref()?.downcast_ref::<Exceeded>().copied()
    }
}

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> io::Error {
        io::Error::other(exceeded)
    }
}

/// How more is allowed of what a single text may have, where more can be.
fn more(flag: &str, limit: u64) -> String {
    if limit >= MAX_TEXT as u64 {
        return ", the longest that can be read".to_owned();
    }
    format!("; {flag} allows more, up to {}", Size(MAX_TEXT as u64))
}

/// A number of bytes, in the largest unit that says it exactly.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (bits, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 > 0 && self.0.is_multiple_of(1 << bits) {
                return write!(f, "{} {unit}", self.0 >> bits);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

/// The limits of a run and what it has used of them. Clones are the same budget.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    run: Arc<Run>,
    turn: Option<Arc<Turn>>,
}

#[derive(Debug, Default)]
struct Run {
    limits: Limits,
    unpacked: AtomicU64,
}

impl Budget {
    /// A budget of which nothing is used.
    #[must_use]
    pub fn new(limits: Limits) -> Budget {
        let most = |limit: u64| limit.min(MAX_TEXT as u64);
        let limits = Limits { line: most(limits.line), document: most(limits.document), ..limits };
        Budget { run: Arc::new(Run { limits, unpacked: AtomicU64::new(0) }), turn: None }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.run.limits
    }

    /// The budget as one of several inputs uses it that are worked on side by side: it waits for its turn before it
    /// becomes large, and has it until all clones of what is returned are gone.
    pub(crate) fn for_input(&self, turns: &Arc<Turns>) -> Budget {
        let turn = Turn { turns: Arc::clone(turns), held: Mutex::new(false) };
        Budget { run: Arc::clone(&self.run), turn: Some(Arc::new(turn)) }
    }

    /// To be called before so many bytes of an input stand in memory.
    pub(crate) fn hold(&self, bytes: u64) {
        if bytes > USUAL
            && let Some(turn) = &self.turn
        {
            turn.take();
        }
    }

    /// Checks that a document may have so many bytes, and waits until it may stand in memory.
    ///
    /// # Errors
    /// That it is too long.
    pub(crate) fn document(&self, bytes: u64) -> Result<(), Exceeded> {
        let most = self.run.limits.document;
        if bytes > most {
            return Err(Exceeded::Document(most));
        }
        self.hold(bytes);
        Ok(())
    }

    /// A reader of lines that ends in an error where one is too long.
    pub fn lines<R: Read>(&self, source: R) -> Lines<R> {
        Lines { source, budget: self.clone(), line: 0 }
    }

    /// A reader of the lines behind `start`, which is the start of the same text.
    ///
    /// # Errors
    /// A line of the start that is too long, by the number of lines before it.
    pub(crate) fn lines_behind<R: Read>(&self, start: &[u8], source: R) -> Result<Lines<R>, (u64, io::Error)> {
        let most = self.run.limits.line;
        if start.len() as u64 > most {
            let mut lines = start.split(|byte| *byte == b'\n');
            if let Some(before) = lines.position(|line| line.len() as u64 > most) {
                return Err((before as u64, Exceeded::Line(most).into()));
            }
        }
        let line = start.len() - memchr::memrchr(b'\n', start).map_or(0, |last| last + 1);
        Ok(Lines { source, budget: self.clone(), line: line as u64 })
    }

    /// A reader of what is unpacked, which ends in an error where the run's files hold too much.
    pub(crate) fn unpacked<R: Read>(&self, source: R) -> Unpacked<R> {
        Unpacked { source, budget: self.clone(), over: false }
    }
}

/// Bounds the lines of a text; see [`Budget::lines`].
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    budget: Budget,
    /// Bytes of the line whose end is not read yet.
    line: u64,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.budget.run.limits.line;
        let too_long = || Err(Exceeded::Line(most).into());
        if self.line > most {
            return too_long();
        }
        // within a step no line is longer than the limit
        let step = buffer.len().min(STEP).min(usize::try_from(most.max(1)).unwrap_or(STEP));
        let read = self.source.read(&mut buffer[..step])?;
        let bytes = &buffer[..read];
        let first = memchr::memchr(b'\n', bytes).unwrap_or(read);
        self.line += first as u64;
        if self.line > most {
            return too_long();
        }
        self.budget.hold(self.line);
        if let Some(last) = memchr::memrchr(b'\n', bytes) {
            self.line = (read - last - 1) as u64;
        }
        Ok(read)
    }
}

/// Counts what is unpacked; see [`Budget::unpacked`].
#[derive(Debug)]
pub(crate) struct Unpacked<R> {
    source: R,
    budget: Budget,
    over: bool,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.budget.run.limits.unpacked;
        if !self.over {
            let read = self.source.read(buffer)? as u64;
            let before = self.budget.run.unpacked.fetch_add(read, Ordering::Relaxed);
            let allowed = most.saturating_sub(before).min(read);
            self.over = allowed < read;
            if allowed > 0 || read == 0 {
                return Ok(allowed as usize);
            }
        }
        Err(Exceeded::Unpacked(most).into())
    }
}

/// Lets one of several inputs at a time be large.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    given_back: Condvar,
}

/// The turn of one input.
#[derive(Debug)]
struct Turn {
    turns: Arc<Turns>,
    held: Mutex<bool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turn {
    fn take(&self) {
        let mut held = locked(&self.held);
        if *held {
            return;
        }
        let mut taken = locked(&self.turns.taken);
        while *taken {
            taken = self.turns.given_back.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        (*taken, *held) = (true, true);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if *locked(&self.held) {
            *locked(&self.turns.taken) = false;
            self.turns.given_back.notify_one();
        }
    }
}

/// The start of a text, behind its blank lines.
pub(crate) struct Start<R> {
    /// Blank lines that stand before it.
    pub(crate) blank_lines: u64,
    pub(crate) text: Vec<u8>,
    /// There is nothing behind it.
    pub(crate) complete: bool,
    pub(crate) rest: R,
}

impl<R: Read> Start<R> {
    /// Reads `most` bytes behind the blank lines, of which only the number is kept.
    ///
    /// # Errors
    /// A read that failed, and how many blank lines stand before it.
    pub(crate) fn read(rest: R, most: usize) -> Result<Start<R>, (u64, io::Error)> {
        let mut start = Start { blank_lines: 0, text: Vec::new(), complete: false, rest };
        loop {
            if let Err(error) = start.more(most) {
                let more = memchr::memchr_iter(b'\n', &start.text).count() as u64;
                return Err((start.blank_lines + more, error));
            }
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let blank = start.text.iter().position(|byte| !is_blank(byte)).unwrap_or(start.text.len());
            if let Some(last) = memchr::memrchr(b'\n', &start.text[..blank]) {
                start.blank_lines += memchr::memchr_iter(b'\n', &start.text[..=last]).count() as u64;
                start.text.drain(..=last);
            } else if blank == most {
                // white space without end: where its line begins does not matter to anybody
                start.text.clear();
            }
            if start.complete || start.text.len() == most {
                return Ok(start);
            }
        }
    }

    /// Reads on until the text has `len` bytes.
    fn more(&mut self, len: usize) -> io::Result<()> {
        let most = len.saturating_sub(self.text.len()) as u64;
        self.text.reserve_exact(len.saturating_sub(self.text.len()));
        self.complete = (self.rest.by_ref().take(most).read_to_end(&mut self.text)? as u64) < most;
        Ok(())
    }

    /// Reads on for somebody who must see more: to the end of the first line if it is not there yet, else about as much
    /// again.
    ///
    /// # Errors
    /// A read that failed, or a text that is longer than it may be.
    pub(crate) fn grow(&mut self, budget: &Budget) -> io::Result<()> {
        let first_line = memchr::memchr(b'\n', &self.text).is_none();
        let double = self.text.len() * 2;
        let limits = budget.limits();
        while !self.complete {
            let read = self.text.len();
            if !first_line {
                budget.document(read as u64)?;
            } else if read as u64 > limits.line.max(limits.document) {
                return Err(Exceeded::Line(limits.line.max(limits.document)).into());
            }
            let step = read.clamp(64 << 10, 4 << 20);
            budget.hold((read + step) as u64);
            if self.text.capacity() - read < step {
                self.text.reserve_exact(read.max(step));
            }
            self.complete = self.rest.by_ref().take(step as u64).read_to_end(&mut self.text)? < step;
            let is_enough = match first_line {
                true => memchr::memchr(b'\n', &self.text[read..]).is_some(),
                false => self.text.len() >= double,
            };
            if is_enough {
                break;
            }
        }
        Ok(())
    }

    /// All of it, from its first line.
    pub(crate) fn whole(self) -> Ahead<R> {
        Ahead::new(self.blank_lines, self.text, self.rest)
    }
}

/// The size of the pieces that a long start is cut into, in bytes: an allocator gives each of them back at once.
const PIECE: usize = (32 << 20) + 1;

/// What was read of a source to tell what it is, and the rest of it. The start is given back while it is read again, so
/// that a long one is not held twice.
pub(crate) struct Ahead<R> {
    /// Line ends that stand before the start.
    line_ends: u64,
    pieces: VecDeque<Vec<u8>>,
    /// How far the first piece is read.
    at: usize,
    rest: R,
}

impl<R: Read> Ahead<R> {
    pub(crate) fn new(line_ends: u64, mut start: Vec<u8>, rest: R) -> Ahead<R> {
        let mut pieces = VecDeque::new();
        while start.len() > PIECE {
            // from its end, which can be cut off without a copy of what stays
            pieces.push_front(start.split_off((start.len() - 1) / PIECE * PIECE));
            start.shrink_to_fit();
        }
        pieces.push_front(start);
        Ahead { line_ends, pieces, at: 0, rest }
    }
}

impl<R: Read> Read for Ahead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.line_ends > 0 && !buffer.is_empty() {
            let len = usize::try_from(self.line_ends).unwrap_or(usize::MAX).min(buffer.len());
            buffer[..len].fill(b'\n');
            self.line_ends -= len as u64;
            return Ok(len);
        }
        while let Some(piece) = self.pieces.front() {
            if self.at < piece.len() {
                let len = buffer.len().min(piece.len() - self.at);
                buffer[..len].copy_from_slice(&piece[self.at..self.at + len]);
                self.at += len;
                return Ok(len);
            }
            self.pieces.pop_front();
            self.at = 0;
        }
        self.rest.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut source: impl Read) -> (Vec<u8>, Option<Exceeded>) {
        let mut out = Vec::new();
        let error = source.read_to_end(&mut out).err();
        (out, error.map(|error| Exceeded::of(&error).unwrap()))
    }

    #[test]
    fn a_line_ends_the_reading_where_it_is_too_long_and_not_before() {
        let budget = Budget::new(Limits { line: 10, ..Limits::default() });
        for good in ["", "0123456789", "0123456789\n0123456789\n\n", "a\nb\n0123456789"] {
            assert_eq!(read(budget.lines(good.as_bytes())), (good.as_bytes().to_vec(), None));
        }
        for bad in ["0123456789a", "a\n0123456789a\nb\n", "0123456789a\n"] {
            assert_eq!(read(budget.lines(bad.as_bytes())).1, Some(Exceeded::Line(10)), "{bad}");
        }
    }

    #[test]
    fn what_is_unpacked_counts_for_all_files_of_a_run() {
        let budget = Budget::new(Limits { unpacked: 10, ..Limits::default() });
        assert_eq!(read(budget.clone().unpacked(&b"012345"[..])), (b"012345".to_vec(), None));
        assert_eq!(read(budget.unpacked(&b"0123"[..])), (b"0123".to_vec(), None));
        assert_eq!(read(budget.unpacked(&b"0"[..])), (Vec::new(), Some(Exceeded::Unpacked(10))));
        let other = Budget::new(Limits { unpacked: 10, ..Limits::default() });
        assert_eq!(read(other.unpacked(&[b'0'; 11][..])), (vec![b'0'; 10], Some(Exceeded::Unpacked(10))));
    }

    #[test]
    fn a_start_comes_back_whole_with_the_line_ends_before_it() {
        for len in [0, 1, PIECE, PIECE + 1, 2 * PIECE + 5] {
            let start: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let (out, error) = read(Ahead::new(3, start.clone(), &b"rest"[..]));
            assert!(error.is_none() && out.len() == 3 + len + 4);
            assert!(out.starts_with(b"\n\n\n") && out[3..3 + len] == start && out.ends_with(b"rest"));
        }
    }

    #[test]
    fn blank_lines_are_counted_and_not_kept() {
        let blank = io::repeat(b'\n').take(10_000_000).chain(&b" \t\r\n  {\"a\":1}\nmore"[..]);
        let start = Start::read(blank, 1 << 10).unwrap();
        assert_eq!((start.blank_lines, &start.text[..]), (10_000_001, &b"  {\"a\":1}\nmore"[..]));
        assert!(start.complete);
        let mut whole = Vec::new();
        start.whole().read_to_end(&mut whole).unwrap();
        assert!(
            whole.len() == 10_000_001 + 14 && whole.starts_with(b"\n\n") && whole.ends_with(b"\n  {\"a\":1}\nmore")
        );
        let spaces = io::repeat(b' ').take(10_000_000).chain(&b"x"[..]);
        let start = Start::read(spaces, 1 << 10).unwrap();
        assert!(start.blank_lines == 0 && start.text.ends_with(b"x") && start.text.len() <= 1 << 10);
        assert!(Start::read(&b""[..], 16).unwrap().complete);
    }

    #[test]
    fn a_start_grows_to_the_end_of_its_line_and_no_further_than_a_document() {
        let line = io::repeat(b'x').take(9 << 20).chain(&b"\n"[..]).chain(io::repeat(b'y').take(99 << 20));
        let mut start = Start::read(line, 256 << 10).unwrap();
        while memchr::memchr(b'\n', &start.text).is_none() {
            start.grow(&Budget::default()).unwrap();
        }
        assert!((9 << 20..=14 << 20).contains(&start.text.len()), "{}", start.text.len());
        let budget = Budget::new(Limits { document: 1 << 20, line: 1 << 20, ..Limits::default() });
        let mut start = Start::read(io::repeat(b'x'), 256 << 10).unwrap();
        let error = loop {
            if let Err(error) = start.grow(&budget) {
                break error;
            }
        };
        assert_eq!(Exceeded::of(&error), Some(Exceeded::Line(1 << 20)));
        assert!(start.text.len() <= 3 << 20);
    }

    #[test]
    fn one_input_at_a_time_is_large() {
        let (budget, turns) = (Budget::default(), Arc::new(Turns::default()));
        let one = budget.for_input(&turns);
        one.hold(USUAL + 1);
        // it has its turn already, and small ones need none
        one.clone().hold(USUAL + 1);
        budget.for_input(&turns).hold(USUAL);
        let (send, receive) = std::sync::mpsc::channel();
        let other = budget.for_input(&turns);
        let waiting = std::thread::spawn(move || {
            other.hold(USUAL + 1);
            send.send(()).unwrap();
        });
        assert!(receive.try_recv().is_err());
        drop(one);
        receive.recv().unwrap();
        waiting.join().unwrap();
    }

    #[test]
    fn sizes_are_read() {
        let read = |text| Limits::size(text).ok();
        assert_eq!(
            [read("7"), read("64K"), read("100M"), read("2G")],
            [Some(7), Some(64 << 10), Some(100 << 20), Some(2 << 30)]
        );
        for bad in ["", "K", "0", "-1", "1.5G", "1k", "1 M", "99999999999G", "é"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_said_in_whole_units() {
        let said: Vec<String> = [4 << 30, 640 << 20, 3 << 10, 1_000].map(|size| Size(size).to_string()).into();
        assert_eq!(said, ["4 GiB", "640 MiB", "3 KiB", "1000 bytes"]);
    }
}
