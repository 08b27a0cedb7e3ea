//! Whether the disk has room for the captures that are under way.
//!
//! A request is sent on when its capture can be made: when the file system has room for all that the requests under way may
//! write, and the last write worked. After one that failed, a request waits until its own start is written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a capture takes beside copies of its request and reply.
const FRAME: u64 = 32 << 10;

/// With so much room beside all that is set aside, the file system is asked only now and then.
const PLENTY: u64 = 1 << 30;
/// Every so many requests, that is.
const LOOKS: u64 = 64;

/// The room of one folder.
#[derive(Default)]
pub(super) struct Room {
    pledged: AtomicU64,
    /// What was free when last asked, and how many requests came since.
    seen: AtomicU64,
    since: AtomicU64,
    failing: AtomicBool,
}

impl Room {
    /// Sets aside what a capture of a request of this size may take. None when there is not so much.
    pub(super) fn pledge(self: &Arc<Self>, folder: &Path, request: usize, limit: usize) -> Option<Pledge> {
        let limit = limit as u64;
        let bytes = 2 * (request as u64).min(limit) + 2 * limit + FRAME;
        let all = self.pledged.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let pledge = Pledge { room: self.clone(), bytes };
        (self.has_plenty(all) || self.look(folder).is_none_or(|free| all <= free)).then_some(pledge)
    }

    /// Whether there was so much room a moment ago that nothing can have used it up since.
    fn has_plenty(&self, all: u64) -> bool {
        let since = self.since.fetch_add(1, Ordering::Relaxed);
        since < LOOKS && self.seen.load(Ordering::Relaxed) >= all.saturating_add(PLENTY)
    }

    fn look(&self, folder: &Path) -> Option<u64> {
        let free = free(folder);
        self.seen.store(free.unwrap_or(0), Ordering::Relaxed);
        self.since.store(0, Ordering::Relaxed);
        free
    }

    /// Whether the last write failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Tells how a write went.
    pub(super) fn wrote(&self, well: bool) {
        if self.is_failing() == well {
            self.failing.store(!well, Ordering::Relaxed);
        }
    }
}

/// What is set aside for one capture; given back when dropped.
pub(super) struct Pledge {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Pledge {
    fn drop(&mut self) {
        self.room.pledged.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How much may still be written to the file system of a folder, where that can be told.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(folder).ok()?;
    // some file systems know no sizes
    (system.f_blocks > 0).then(|| system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(not(unix))]
fn free(_folder: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let room = Arc::new(Room::default());
        let one = room.pledge(folder.path(), 100, 1000).unwrap();
        assert_eq!(room.pledged.load(Ordering::Relaxed), 2200 + FRAME);
        assert!(room.pledge(folder.path(), 0, 1 << 60).is_none() || free(folder.path()).is_none());
        assert_eq!(room.pledged.load(Ordering::Relaxed), 2200 + FRAME);
        drop(one);
        assert_eq!(room.pledged.load(Ordering::Relaxed), 0);
        // what is plenty is asked for now and then, what is not each time
        room.seen.store(PLENTY + 10, Ordering::Relaxed);
        room.since.store(0, Ordering::Relaxed);
        assert!(room.has_plenty(10) && !room.has_plenty(11));
        room.since.store(LOOKS, Ordering::Relaxed);
        assert!(!room.has_plenty(0));
        // a folder that is not there tells nothing; making the file does
        assert!(room.pledge(&folder.path().join("none"), 0, 1000).is_some());
    }
}
