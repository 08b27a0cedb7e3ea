//! A line on standard error for long work, on a terminal only: never in a log.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use toolreplay::audit::Progress;

/// Runs an audit, and shows from the second second on how far it is.
pub(crate) fn shown<T>(files: usize, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let line = || {
        let (read, bytes) = (progress.files.load(Ordering::Relaxed), progress.bytes.load(Ordering::Relaxed));
        format!("auditing: {read} of {files} files, {} MB read", bytes / 1_000_000)
    };
    drawn(&line, work)
}

/// Runs work on files one after the other, which says how many of them are done, and shows that.
pub(crate) fn counted<T>(what: &str, files: usize, work: impl FnOnce(&dyn Fn(usize)) -> T) -> T {
    let done = AtomicUsize::new(0);
    let line = || format!("{what}: {} of {files} files", done.load(Ordering::Relaxed));
    drawn(&line, || work(&|count| done.store(count, Ordering::Relaxed)))
}

fn drawn<T>(line: &(dyn Fn() -> String + Sync), work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut wait = Duration::from_secs(1);
            let mut drawn = false;
            while waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let _ = write!(io::stderr(), "\r\x1b[K{}", line());
                let _ = io::stderr().flush();
                drawn = true;
                wait = Duration::from_millis(200);
            }
            if drawn {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
