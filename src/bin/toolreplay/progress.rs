//! A line on standard error for long work, on a terminal only.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use toolreplay::audit::Progress;

/// Runs `work`, and shows from the second second on how far it is.
pub(crate) fn shown<T>(files: usize, progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut wait = Duration::from_secs(1);
            let mut drawn = false;
            while waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let (read, megabytes) =
                    (progress.files.load(Ordering::Relaxed), progress.bytes.load(Ordering::Relaxed) / 1_000_000);
                let _ = write!(io::stderr(), "\r\x1b[Kauditing: {read} of {files} files, {megabytes} MB read");
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
