//! Temporary files go when SIGINT or SIGTERM ends the process, as they do when it ends by itself.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use tempfile::NamedTempFile;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCHED: Once = Once::new();

/// Keeps a temporary file among those that a signal removes.
#[derive(Debug)]
pub(crate) struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Makes a temporary file that a signal removes.
pub(crate) fn removing(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(NamedTempFile, Removed)> {
    WATCHED.call_once(watch);
    // a signal between making and noting it waits for the lock
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let file = make()?;
    files.push(file.path().to_owned());
    let removed = Removed(file.path().to_owned());
    Ok((file, removed))
}

#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    // where signals cannot be watched for, a temporary file may stay; nothing else is lost
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // the lock is kept: nothing is made from here on
            let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
            files.iter().for_each(|path| drop(std::fs::remove_file(path)));
            // ends the process as the signal does
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

#[cfg(not(unix))]
fn watch() {}
