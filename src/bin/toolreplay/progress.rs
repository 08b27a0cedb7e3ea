//! A line on standard error for long work, on a terminal only: never in a log.

use crate::exit::LINE;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use toolreplay::audit::Progress;

/// Runs an audit, and shows from the second second on how far it is.
pub(crate) fn shown<T>(files: usize, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let line = || {
        let (read, bytes) = (progress.files.load(Ordering::Relaxed), progress.bytes.load(Ordering::Relaxed));
        so_far("auditing", read, files, bytes)
    };
    drawn(&line, work)
}

/// How far work on files is that are taken one after the other.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    done: AtomicUsize,
    bytes: Arc<AtomicU64>,
}

impl Tracker {
    /// One file more is done.
    pub(crate) fn one_more(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// A source whose bytes are counted.
    pub(crate) fn counting(&self, source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        Box::new(Counting { source, bytes: Arc::clone(&self.bytes) })
    }
}

struct Counting {
    source: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Runs work on files that says how far it is, and shows that from the second second on.
pub(crate) fn tracked<T>(what: &str, files: usize, work: impl FnOnce(&Tracker) -> T) -> T {
    let tracker = Tracker::default();
    let line = || {
        let (done, bytes) = (tracker.done.load(Ordering::Relaxed), tracker.bytes.load(Ordering::Relaxed));
        so_far(what, done, files, bytes)
    };
    drawn(&line, || work(&tracker))
}

fn so_far(what: &str, done: usize, files: usize, bytes: u64) -> String {
    format!("{what}: {done} of {files} files, {} MB read", bytes / 1_000_000)
}

fn drawn<T>(line: &(dyn Fn() -> String + Sync), work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut wait = Duration::from_secs(1);
            while waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let _ = write!(io::stderr(), "\r\x1b[K{}", line());
                let _ = io::stderr().flush();
                LINE.store(true, Ordering::Relaxed);
                wait = Duration::from_millis(200);
            }
            if LINE.swap(false, Ordering::Relaxed) {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
