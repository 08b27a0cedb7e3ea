//! Reading with several threads, as if with one.
//!
//! Equal workers take blocks in turn, parse them and make a small result of each; the results reach one sink in file
//! order. The first error in file order is the one that is reported, whichever thread met it.

use super::blocks::{Block, Blocks};
use super::error::{LineError, ReadError, RecordError};
use super::lines::{MAX_RECORDS, is_blank};
use super::record::{Fields, Layout, Record, check_start, index_value, parse_line};
use crate::json::Scratch;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One record as a worker sees it: its block is known, what came before the block is not.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The place of the record among the records of its block.
    pub ordinal: u32,
    /// The line within the block, from 0.
    pub line: u32,
    /// Where the line stands in the block.
    pub range: Range<u32>,
    /// The text of the line.
    pub text: &'a [u8],
    /// The fields.
    pub fields: Fields,
    /// What the fields' spans refer to.
    pub scratch: &'a Scratch,
}

/// What came before a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preceding {
    /// Physical lines before the block; the first line of the block is one more.
    pub lines: u64,
    /// Records before the block, which is the index of its first one.
    pub records: u64,
}

/// Why reading ended early.
#[derive(Debug)]
pub enum ScanError<E> {
    /// The file is no transcript.
    Read(ReadError),
    /// The sink would take no more.
    Sink(E),
}

/// What a worker found out about a block besides the caller's own result.
struct Parsed {
    lines: u64,
    records: u32,
    /// Of the first record, in transcripts: its index, and the error to report if that is not the expected one.
    first: Option<FirstIndex>,
    error: Option<(u64, LineError)>,
}

struct FirstIndex {
    line: u64,
    value: Option<u64>,
    column_error: LineError,
}

/// Reads all records of `source`. `visit` adds a record to its block's result, on any thread; `sink` gets the results in
/// order. Returns what was read in all.
///
/// # Errors
/// The first error of the file in file order, after the sink has had everything before it; or the sink's own.
pub fn scan<T, E>(
    source: impl Read + Send,
    layout: Layout,
    threads: usize,
    visit: impl Fn(&mut T, Visit<'_>) + Sync,
    mut sink: impl FnMut(&Block, T, Preceding) -> Result<(), E> + Send,
) -> Result<Preceding, ScanError<E>>
where
    T: Default + Send,
    E: Send,
{
    let mut base = Preceding::default();
    let mut accept = |block: &Block, (result, parsed): (T, Parsed)| {
        if let Some(first) = &parsed.first
            && first.value != Some(base.records)
        {
            let mut error = first.column_error.clone();
            if let RecordError::IndexOrder { expected, .. } = &mut error.kind {
                *expected = base.records;
            }
            return Err(ScanError::Read(error.on_line(base.lines + first.line + 1)));
        }
        sink(block, result, base).map_err(ScanError::Sink)?;
        if let Some((line, error)) = parsed.error {
            return Err(ScanError::Read(error.on_line(base.lines + line + 1)));
        }
        let end = Preceding { lines: base.lines + parsed.lines, records: base.records + u64::from(parsed.records) };
        if end.records > MAX_RECORDS {
            return Err(ScanError::Read(LineError::whole(RecordError::TooManyRecords).on_line(end.lines)));
        }
        base = end;
        Ok(())
    };
    let work = |scratch: &mut Scratch, block: &Block| {
        let mut result = T::default();
        let parsed = parse_block(block, layout, scratch, |record| visit(&mut result, record));
        scratch.shrink();
        (result, parsed)
    };
    let blocks = Blocks::new(source);
    let read =
        if threads <= 1 { in_turn(blocks, work, &mut accept) } else { in_order(blocks, threads, work, &mut accept) };
    match read {
        Ok(()) => Ok(base),
        Err(Stopped::By(error)) => Err(error),
        Err(Stopped::Io(error)) => Err(ScanError::Read(ReadError::behind(base.lines, error))),
    }
}

/// Reads `start` and then `source` block by block: `work` makes something of each, on any thread; `sink` gets it in order.
///
/// # Errors
/// A read that failed, or the sink's own.
pub(crate) fn blocks_in_order<T: Send, E: From<std::io::Error> + Send>(
    start: Vec<u8>,
    source: impl Read + Send,
    threads: usize,
    work: impl Fn(&Block) -> T + Sync,
    mut sink: impl FnMut(&Block, T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let (blocks, work) = (Blocks::behind(start, source), |_: &mut Scratch, block: &Block| work(block));
    let read = if threads <= 1 { in_turn(blocks, work, &mut sink) } else { in_order(blocks, threads, work, &mut sink) };
    read.map_err(|stopped| match stopped {
        Stopped::By(error) => error,
        Stopped::Io(error) => error.into(),
    })
}

fn parse_block(block: &Block, layout: Layout, scratch: &mut Scratch, mut visit: impl FnMut(Visit<'_>)) -> Parsed {
    let mut parsed = Parsed { lines: 0, records: 0, first: None, error: None };
    let mut start = 0;
    while start < block.bytes().len() {
        let rest = &block.bytes()[start..];
        if rest[0] == b'\n' {
            // blank lines come in crowds where they come at all
            let blank = rest.iter().take_while(|byte| **byte == b'\n').count();
            parsed.lines += blank as u64;
            start += blank;
            continue;
        }
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let text = &rest[..len];
        let line = parsed.lines;
        parsed.lines += 1;
        let range = start as u32..(start + len) as u32;
        start += len + 1;
        if is_blank(text) {
            continue;
        }
        let number_in_file = if block.number == 0 { line + 1 } else { u64::MAX };
        let fields = match check_start(text, number_in_file).and_then(|()| parse_line(text, layout, scratch)) {
            Ok(fields) => fields,
            Err(error) => {
                parsed.error = Some((line, error));
                break;
            }
        };
        if layout == Layout::Transcript {
            let index = fields.index.get(text, scratch);
            let value = index_value(index);
            let wrong = |expected: u64| {
                let found = String::from_utf8_lossy(&index.to_vec()).into_owned();
                LineError::at(text, fields.index_at as usize, RecordError::IndexOrder { expected, found })
            };
            match &parsed.first {
                None => {
                    parsed.first = Some(FirstIndex { line, value, column_error: wrong(0) });
                    if value.is_none() {
                        break;
                    }
                }
                Some(first) => {
                    let expected = first.value.map(|first| first + u64::from(parsed.records));
                    if value != expected {
                        parsed.error = Some((line, wrong(expected.unwrap_or(0))));
                        break;
                    }
                }
            }
        }
        visit(Visit { ordinal: parsed.records, line: line as u32, range, text, fields, scratch });
        parsed.records += 1;
    }
    parsed
}

impl Block {
    /// Reads one line of the block again, for the few records of which more must be known than a worker handed on.
    /// `line` is its number in the file.
    pub(crate) fn record<'a>(
        &'a self,
        range: &Range<u32>,
        layout: Layout,
        line: u64,
        scratch: &'a mut Scratch,
    ) -> Option<Record<'a>> {
        let text = self.bytes().get(range.start as usize..range.end as usize)?;
        let fields = parse_line(text, layout, scratch).ok()?;
        Some(Record::new(line, text, fields, scratch))
    }
}

enum Stopped<S> {
    Io(std::io::Error),
    By(S),
}

/// One thread does all.
fn in_turn<R: Read, T, S>(
    mut blocks: Blocks<R>,
    work: impl Fn(&mut Scratch, &Block) -> T,
    sink: &mut impl FnMut(&Block, T) -> Result<(), S>,
) -> Result<(), Stopped<S>> {
    let (mut scratch, mut block) = (Scratch::default(), Block::default());
    while blocks.next_into(&mut block).map_err(Stopped::Io)? {
        let result = work(&mut scratch, &block);
        sink(&block, result).map_err(Stopped::By)?;
    }
    Ok(())
}

/// What the workers share besides the source.
struct Queue<'s, T, S, F> {
    next: u64,
    early: BTreeMap<u64, (Block, std::io::Result<T>)>,
    free: Vec<Block>,
    /// Taken by the worker that is feeding it.
    sink: Option<&'s mut F>,
    stopped: Option<Stopped<S>>,
    over: bool,
}

struct Shared<'s, R, T, S, F> {
    blocks: Mutex<Blocks<R>>,
    queue: Mutex<Queue<'s, T, S, F>>,
    moved_on: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the other workers if this one panics, so that none waits for it for ever.
struct EndAll<'a, 's, R, T, S, F>(&'a Shared<'s, R, T, S, F>);

impl<R, T, S, F> Drop for EndAll<'_, '_, R, T, S, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(&self.0.queue).over = true;
            self.0.moved_on.notify_all();
        }
    }
}

fn in_order<R, T, S, F>(
    blocks: Blocks<R>,
    threads: usize,
    work: impl Fn(&mut Scratch, &Block) -> T + Sync,
    sink: &mut F,
) -> Result<(), Stopped<S>>
where
    R: Read + Send,
    T: Send,
    S: Send,
    F: FnMut(&Block, T) -> Result<(), S> + Send,
{
    let queue =
        Queue { next: 0, early: BTreeMap::new(), free: Vec::new(), sink: Some(sink), stopped: None, over: false };
    let shared = Shared { blocks: Mutex::new(blocks), queue: Mutex::new(queue), moved_on: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| worker(&shared, threads, &work));
        }
        worker(&shared, threads, &work);
    });
    let queue = shared.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    queue.stopped.map_or(Ok(()), Err)
}

fn worker<R, T, S, F>(shared: &Shared<'_, R, T, S, F>, threads: usize, work: &impl Fn(&mut Scratch, &Block) -> T)
where
    R: Read,
    F: FnMut(&Block, T) -> Result<(), S>,
{
    let _guard = EndAll(shared);
    let mut scratch = Scratch::default();
    loop {
        let mut block = {
            let mut queue = locked(&shared.queue);
            if queue.over {
                return;
            }
            queue.free.pop().unwrap_or_default()
        };
        let mut blocks = locked(&shared.blocks);
        let read = blocks.next_into(&mut block);
        // nothing is read behind a long line before it is done with: one of them at a time is in memory
        let (number, alone) = (block.number, block.is_oversized().then_some(blocks));
        match read {
            Ok(true) => {
                let result = work(&mut scratch, &block);
                deliver(shared, threads, block, Ok(result));
                if let Some(blocks) = alone {
                    wait_for(shared, number);
                    drop(blocks);
                }
            }
            Ok(false) => return,
            // in its place: what was read before it comes first
            Err(error) => deliver(shared, threads, block, Err(error)),
        }
    }
}

/// Waits until the sink is behind a block.
fn wait_for<R, T, S, F>(shared: &Shared<'_, R, T, S, F>, number: u64) {
    let mut queue = locked(&shared.queue);
    while !queue.over && queue.next <= number {
        queue = shared.moved_on.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Hands in a result; feeds the sink with all that is due if no other worker is doing so.
fn deliver<R, T, S, F>(shared: &Shared<'_, R, T, S, F>, threads: usize, block: Block, result: std::io::Result<T>)
where
    F: FnMut(&Block, T) -> Result<(), S>,
{
    let mut queue = locked(&shared.queue);
    while !queue.over && block.number > queue.next + threads as u64 {
        queue = shared.moved_on.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    queue.early.insert(block.number, (block, result));
    let Some(sink) = queue.sink.take() else { return };
    while !queue.over {
        let due = queue.next;
        let Some((block, result)) = queue.early.remove(&due) else { break };
        drop(queue);
        let fed = result.map_err(Stopped::Io).and_then(|result| sink(&block, result).map_err(Stopped::By));
        let oversized = block.is_oversized();
        let free = (!oversized).then_some(block);
        queue = locked(&shared.queue);
        queue.next += 1;
        queue.free.extend(free);
        if let Err(error) = fed {
            queue.stopped = Some(error);
            queue.over = true;
        }
        shared.moved_on.notify_all();
    }
    queue.sink = Some(sink);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u64, bad: Option<u64>) -> Vec<u8> {
        let mut text = Vec::new();
        for index in 0..count {
            let shown = if Some(index) == bad { index + 1 } else { index };
            let filler = "x".repeat((index * 37 % 3000) as usize);
            text.extend_from_slice(
                format!("{{\"index\":{shown},\"tool\":\"t\",\"args\":{{}},\"response\":{{\"f\":\"{filler}\"}}}}\n\n")
                    .as_bytes(),
            );
        }
        text
    }

    fn read(text: &[u8], threads: usize) -> (Vec<u64>, Result<Preceding, String>) {
        let mut seen = Vec::new();
        let outcome = scan(
            text,
            Layout::Transcript,
            threads,
            |own: &mut Vec<u32>, visit| own.push(visit.line),
            |_, own, base| {
                seen.extend(own.into_iter().map(|line| base.lines + u64::from(line) + 1));
                Ok::<(), ()>(())
            },
        );
        let outcome = outcome.map_err(|error| match error {
            ScanError::Read(error) => error.to_string(),
            ScanError::Sink(()) => "sink".to_owned(),
        });
        (seen, outcome)
    }

    #[test]
    fn many_threads_read_as_one() {
        let text = lines(5_000, None);
        assert!(text.len() > 4 << 20);
        let expected = read(&text, 1);
        assert_eq!(expected.1, Ok(Preceding { lines: 10_000, records: 5_000 }));
        for threads in [2, 3, 8] {
            assert_eq!(read(&text, threads), expected);
        }
    }

    #[test]
    fn the_first_error_in_file_order_wins() {
        for bad in [0, 1, 700, 2_500, 4_999] {
            let text = lines(5_000, Some(bad));
            let (seen, outcome) = read(&text, 1);
            let message = format!(
                "line {}: column 10: field 'index' must be {bad}, the next one; found {}",
                2 * bad + 1,
                bad + 1
            );
            assert_eq!(outcome, Err(message.clone()));
            assert!(seen.len() as u64 <= bad);
            for threads in [2, 4] {
                assert_eq!(read(&text, threads).1, Err(message.clone()));
            }
        }
    }

    #[test]
    fn a_sink_that_refuses_ends_all_workers() {
        let text = lines(5_000, None);
        for threads in [1, 2, 8] {
            let outcome = scan(&text[..], Layout::Transcript, threads, |(): &mut (), _| (), |_, (), _| Err(7));
            assert!(matches!(outcome, Err(ScanError::Sink(7))));
        }
    }
}
