//! A request's body: read whole where it is recorded, handed on where it is not, and waited for no longer than for a client
//! that still sends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use super::client::{Later, Waiting};

/// How much of a refused body is read and dropped, so that the client can read the refusal.
const DRAINED: u64 = 256 << 20;

/// Why a body was not read.
pub(super) enum BodyError {
    TooLarge,
    /// The client left.
    Gone,
    /// The client stayed and sent nothing.
    Silent,
}

/// Reads a body of at most `limit` bytes, of which something comes every `patience`.
pub(super) async fn read(mut body: Incoming, limit: usize, patience: Duration) -> Result<Bytes, BodyError> {
    let declared = body.size_hint().lower();
    let mut first: Option<Bytes> = None;
    let mut rest: Vec<u8> = Vec::new();
    let mut length: u64 = 0;
    let mut too_large = declared > limit as u64;
    while let Some(frame) = tokio::time::timeout(patience, body.frame()).await.map_err(|_| BodyError::Silent)? {
        let Ok(data) = frame.map_err(|_| BodyError::Gone)?.into_data() else { continue };
        length += data.len() as u64;
        too_large |= length > limit as u64;
        if too_large {
            if length > DRAINED {
                break;
            }
        } else if first.is_none() && rest.is_empty() {
            first = Some(data);
        } else {
            if let Some(first) = first.take() {
                rest.reserve_exact(usize::try_from(declared).unwrap_or(0).max(first.len() + data.len()));
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
    }
    match first {
        _ if too_large => Err(BodyError::TooLarge),
        Some(whole) => Ok(whole),
        None => Ok(rest.into()),
    }
}

/// A body that is handed on as it comes, and breaks off when nothing comes.
pub(super) struct Passing {
    inner: Incoming,
    patience: Duration,
    sleep: Pin<Box<Sleep>>,
    silent: Arc<AtomicBool>,
    waiting: Waiting,
    wait: Later,
}

impl Passing {
    /// The body, and what tells afterwards whether the client fell silent. From its end on `wait` is set.
    pub(super) fn new(inner: Incoming, patience: Duration, waiting: &Waiting, wait: &Later) -> (Self, Arc<AtomicBool>) {
        let silent = Arc::new(AtomicBool::new(false));
        let sleep = Box::pin(tokio::time::sleep(patience));
        let body =
            Self { inner, patience, sleep, silent: silent.clone(), waiting: waiting.clone(), wait: wait.clone() };
        (body, silent)
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(frame) => {
                let next = Instant::now() + self.patience;
                self.sleep.as_mut().reset(next);
                if frame.is_none() || self.inner.is_end_stream() {
                    self.wait.get_or_init(|| self.waiting.begin());
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending if self.sleep.as_mut().poll(context).is_ready() => {
                self.silent.store(true, Ordering::Relaxed);
                Poll::Ready(Some(Err("the client sent nothing more of the request body".into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
