//! The one thread that parses, redacts and writes captures, and the budget of what may wait for it.
//!
//! The wire never waits for this thread. When more waits than the budget allows, captures lose content and say
//! so; traffic loses nothing.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long jobs may gather.
const REST: Duration = Duration::from_millis(1);
/// How many jobs may wait before new requests do: each may hold an open file.
const MOST: usize = 4096;
/// How long a request waits for that at most: a disk that hangs must not hang the agent for ever.
const PATIENCE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs in the order they come.
pub(super) struct Writer {
    jobs: Sender<Job>,
    waiting: Arc<AtomicUsize>,
}

impl Writer {
    /// Starts the thread. It calls `idle` whenever it has done all there was.
    pub(super) fn start(idle: impl Fn() + Send + 'static) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, queue) = channel::<Job>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = waiting.clone();
        let thread = std::thread::Builder::new().name("capture-writer".to_owned()).spawn(move || {
            while let Ok(first) = queue.recv() {
                for job in std::iter::once(first).chain(queue.try_iter()) {
                    // One capture that cannot be written must not take the others with it.
                    let _: Result<(), Box<dyn Any + Send>> = std::panic::catch_unwind(AssertUnwindSafe(job));
                    left.fetch_sub(1, Ordering::Relaxed);
                    // Whoever waits for this core with a request in its hands goes first.
                    std::thread::yield_now();
                }
                idle();
                // While this thread sleeps nobody has to wake it, which under load is most of what a job would
                // cost the wire; and a core that the wire needs is not taken from it for every single job.
                std::thread::sleep(REST);
            }
        })?;
        Ok((Self { jobs, waiting }, thread))
    }

    /// Waits while more jobs wait than the writer can be behind with; for requests that have not begun.
    pub(super) async fn room(&self) {
        let waited = tokio::time::Instant::now();
        while self.waiting.load(Ordering::Relaxed) >= MOST && waited.elapsed() < PATIENCE {
            tokio::time::sleep(REST).await;
        }
    }

    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The thread lives as long as any sender.
        let _ = self.jobs.send(Box::new(job));
    }
}

/// How many bytes all captures together may hold.
pub(super) struct Budget {
    used: AtomicUsize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit })
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// One capture's part of the budget; given back when dropped.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: budget.clone(), bytes: 0 }
    }

    /// Sets what this capture holds. Returns false, changing nothing, when the budget has no room for it.
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            let room = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|&sum| more == 0 || sum <= self.budget.limit)
            });
            if room.is_err() {
                return false;
            }
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_shared_and_given_back() {
        let budget = Budget::new(100);
        let mut one = Charge::new(&budget);
        let mut other = Charge::new(&budget);
        assert!(one.hold(60) && !other.hold(41) && other.hold(40));
        assert!(one.hold(10) && other.hold(90) && !one.hold(11));
        assert_eq!(budget.used(), 100);
        drop(other);
        assert_eq!(budget.used(), 10);
        drop(one);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn requests_wait_for_a_writer_that_is_behind() {
        let (writer, thread) = Writer::start(|| ()).unwrap();
        let (go, wait) = channel::<()>();
        writer.run(move || wait.recv().unwrap());
        writer.room().await;
        for _ in 0..MOST {
            writer.run(|| ());
        }
        let short = Duration::from_millis(20);
        assert!(tokio::time::timeout(short, writer.room()).await.is_err(), "there is no room");
        go.send(()).unwrap();
        writer.room().await;
        drop(writer);
        thread.join().unwrap();
    }

    #[test]
    fn a_job_that_panics_takes_no_other_with_it() {
        let (writer, thread) = Writer::start(|| ()).unwrap();
        let (sender, receiver) = channel();
        writer.run(|| panic!("a job of the test"));
        writer.run(move || sender.send(1).unwrap());
        drop(writer);
        thread.join().unwrap();
        assert_eq!(receiver.recv(), Ok(1));
    }
}
