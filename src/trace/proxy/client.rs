//! The client's end of a connection: one that has said all it had to say is not one that has left.
//!
//! A client may close its half of a connection behind its request and wait for the reply. On the wire that looks like a
//! client that is gone, whose upstream must not go on. Both ends are on this machine, so the system knows which it is.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How often a client that has closed its half is looked after.
const LOOK: Duration = Duration::from_millis(100);

/// How often a connection is looked at before its end counts: what was read last may be a whole request that is only about
/// to be handled.
const TURNS: u8 = 16;

/// How many whole requests of a connection wait for the end of their replies.
#[derive(Clone, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// One more, until the guard is dropped.
    pub(super) fn begin(&self) -> Wait {
        self.0.fetch_add(1, Ordering::Relaxed);
        Wait(self.0.clone())
    }
}

/// A request that waits once it is whole.
pub(super) type Later = Arc<OnceLock<Wait>>;

/// A request that waits.
pub(super) struct Wait(Arc<AtomicUsize>);

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection. It ends for its reader when the client has left, or has nothing more to say and nothing to wait for.
pub(super) struct Stream {
    inner: TcpStream,
    waiting: Waiting,
    /// The client has closed its half.
    ended: bool,
    turns: u8,
    look: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(inner: TcpStream, waiting: Waiting) -> Self {
        Self { inner, waiting, ended: false, turns: 0, look: None }
    }

    fn client_listens(&self) -> bool {
        match (self.inner.local_addr(), self.inner.peer_addr()) {
            (Ok(own), Ok(client)) => is_open(client, own),
            _ => false,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if !self.ended {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
            if buffer.filled().len() > before || buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            self.ended = true;
        }
        if self.turns < TURNS {
            self.turns += 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.waiting.0.load(Ordering::Relaxed) > 0 && self.client_listens() {
            let look = self.look.get_or_insert_with(|| Box::pin(tokio::time::sleep(LOOK)));
            ready!(look.as_mut().poll(context));
            self.look = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

/// Whether a program still holds the socket `own` that is connected to `other`. Where the system does not tell, nobody does.
#[cfg(target_os = "linux")]
fn is_open(own: SocketAddr, other: SocketAddr) -> bool {
    let (own, other) = (written(own), written(other));
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].into_iter().any(|table| {
        std::fs::read_to_string(table).is_ok_and(|table| {
            // sl, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode
            let mut sockets = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
            sockets.any(|fields| {
                let is = |at: usize, names: &[String]| names.iter().any(|name| fields.get(at) == Some(&name.as_str()));
                is(1, &own) && is(2, &other) && fields.get(9).is_some_and(|inode| *inode != "0")
            })
        })
    })
}

/// An address as the system's tables have it: of IPv4 also the form of programs that speak IPv6 only.
#[cfg(target_os = "linux")]
fn written(address: SocketAddr) -> Vec<String> {
    let words = |bytes: &[u8]| -> String {
        let word = |bytes: &[u8]| match *bytes {
            [a, b, c, d] => format!("{:08X}", u32::from_ne_bytes([a, b, c, d])),
            _ => String::new(),
        };
        bytes.chunks(4).map(word).collect()
    };
    let port = address.port();
    match address {
        SocketAddr::V4(v4) => {
            let mapped = v4.ip().to_ipv6_mapped().octets();
            vec![format!("{}:{port:04X}", words(&v4.ip().octets())), format!("{}:{port:04X}", words(&mapped))]
        }
        SocketAddr::V6(v6) => vec![format!("{}:{port:04X}", words(&v6.ip().octets()))],
    }
}

#[cfg(not(target_os = "linux"))]
fn is_open(_own: SocketAddr, _other: SocketAddr) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_closed_half_is_no_closed_socket() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let own = server.local_addr().unwrap();
            assert!(is_open(peer, own));
            client.shutdown(Shutdown::Write).unwrap();
            assert!(is_open(peer, own));
            drop(client);
            assert!(!is_open(peer, own));
        }
    }
}
