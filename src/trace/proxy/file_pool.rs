//! Files made ahead of need.
//!
//! A request is not sent on before its capture exists, so making the file is the one thing that the wire waits for.
//! Most of that time goes into a new inode, which on a busy disk takes far longer than the request itself. Where the
//! system knows files without a name (Linux), the writer keeps some ready; a request then only gives one its name. That
//! still fails, and fails here, when the capture cannot be created, and never replaces a file.

use std::fs::File;
use std::path::Path;

/// Files without a name, ready to be captures.
pub(super) struct FilePool {
    #[cfg(target_os = "linux")]
    ready: std::sync::Mutex<Vec<File>>,
    #[cfg(target_os = "linux")]
    off: std::sync::atomic::AtomicBool,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use rustix::io::Errno;

    use super::{File, FilePool, Path};

    /// More than a burst of requests uses before the writer comes round again.
    const READY: usize = 32;

    impl FilePool {
        pub(in crate::trace::proxy) fn new() -> Self {
            Self { ready: Mutex::new(Vec::new()), off: AtomicBool::new(false) }
        }

        /// Makes what is missing. For the writer's thread.
        pub(in crate::trace::proxy) fn refill(&self, folder: &Path) {
            let missing = READY.saturating_sub(self.ready.lock().unwrap_or_else(PoisonError::into_inner).len());
            for _ in 0..missing {
                if self.off.load(Ordering::Relaxed) {
                    return;
                }
                // No such kind of file here, no room, no folder: captures are made one by one, and tell.
                let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
                let Ok(file) = open(folder, flags, Mode::RUSR | Mode::WUSR) else { return };
                self.ready.lock().unwrap_or_else(PoisonError::into_inner).push(file.into());
            }
        }

        /// A new file of this name, if one is ready.
        pub(in crate::trace::proxy) fn take(&self, path: &Path) -> Option<File> {
            let file = self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            // By its descriptor, which systems since Linux 6.10 let its owner do; by its place in /proc on older ones.
            let named = linkat(&file, "", CWD, path, AtFlags::EMPTY_PATH).or_else(|error| match error {
                Errno::EXIST => Err(error),
                _ => {
                    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
                    linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW)
                }
            });
            match named {
                Ok(()) => Some(file),
                Err(_) => {
                    // Not again: without /proc, say, it will never work.
                    self.off.store(true, Ordering::Relaxed);
                    self.ready.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    None
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl FilePool {
    pub(super) fn new() -> Self {
        Self {}
    }

    pub(super) fn refill(&self, _folder: &Path) {}

    pub(super) fn take(&self, _path: &Path) -> Option<File> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_pooled_file_gets_a_name_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let pool = FilePool::new();
        pool.refill(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files of the pool have no names");
        let path = folder.path().join("a");
        let Some(mut file) = pool.take(&path) else {
            // A file system without unnamed files: captures are made one by one.
            assert!(!path.exists());
            return;
        };
        file.write_all(b"x").unwrap();
        let mut text = String::new();
        File::open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), std::fs::metadata(&path).unwrap().permissions().mode() & 0o777), ("x", 0o600));

        assert!(pool.take(&path).is_none(), "the name is taken");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
        pool.refill(folder.path());
        assert!(pool.take(&folder.path().join("b")).is_none(), "and no further try is made");
    }
}
