//! The recording proxy: HTTP in, HTTP out, a capture beside it.
//!
//! What passes is never changed, retried, regenerated, decompressed or held back. Bodies cross byte for byte,
//! aborts cross as aborts, a client that goes away takes its upstream connection with it. Everything that is
//! recorded comes from copies.

mod headers;
mod config;
mod client;
mod association;
mod encoding;
mod room;
mod route;
mod writer;
mod file_pool;
mod request_body;
mod upstream;
mod shared;
mod capture;
mod tap;
mod forward;

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::config::{Config, ProxyError, Record, Upstream};
pub use self::shared::Log;
use self::shared::Shared;
use self::writer::{Budget, Writer};
use super::Redactor;

/// A proxy that listens and does not serve yet.
pub struct Proxy {
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
    writing: std::thread::JoinHandle<()>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Checks the settings, makes the folder and listens. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// See [`ProxyError`].
    pub async fn bind(config: Config, log: Log) -> Result<Self, ProxyError> {
        config.check()?;
        let others_write = make_folder(&config.output_dir)
            .map_err(|source| ProxyError::Output { path: config.output_dir.clone(), source })?;
        if others_write {
            let folder = config.output_dir.display();
            log(&format!(
                "warning: others than you may write to '{folder}': whoever can may add, change and remove captures (chmod 700 ends that)"
            ));
        }
        let client = upstream::client(&config).map_err(ProxyError::Start)?;
        let address = SocketAddr::new(config.host, config.port);
        let failed = |source| ProxyError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let files = Arc::new(file_pool::FilePool::new());
        let refill = {
            let (files, folder) = (files.clone(), config.output_dir.clone());
            move || files.refill(&folder)
        };
        refill();
        let (writer, writing) = Writer::start(refill).map_err(ProxyError::Start)?;
        let shared = Arc::new(Shared {
            client,
            associations: association::Associations::new(),
            writer,
            budget: Budget::new(config.capture_budget),
            room: Arc::default(),
            files,
            names: Redactor::new([""; 0], &config.redact_fields),
            stopping: AtomicBool::new(false),
            log,
            config,
        });
        Ok(Self { shared, listener, address, writing })
    }

    /// The address that is listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is done, lets streams end within the grace time or until `now` is done, and returns
    /// when every capture is written.
    pub async fn serve(self, stop: impl Future<Output = ()>, now: impl Future<Output = ()>) {
        let Self { shared, listener, writing, .. } = self;
        let (ask, asked) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let _ = stream.set_nodelay(true);
                        connections.spawn(connection(stream, shared.clone(), asked.clone()));
                    }
                    // Out of descriptors, or a client that left at once: neither may end the proxy.
                    Err(error) => {
                        (shared.log)(&format!("cannot accept a connection: {error}"));
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        drop(listener);
        let _ = ask.send(true);
        let grace = shared.config.grace;
        let ended = async { while connections.join_next().await.is_some() {} };
        let hurry = tokio::select! {
            () = ended => None,
            () = tokio::time::sleep(grace) => Some("streams are still open when the time to end was over: closing them"),
            () = now => Some("asked once more: closing the streams that are still open"),
        };
        shared.stopping.store(true, Ordering::Relaxed);
        if let Some(why) = hurry {
            (shared.log)(why);
            connections.shutdown().await;
        }
        // The writer thread ends with the last holder of `shared`, having done all jobs.
        drop(shared);
        let _ = tokio::task::spawn_blocking(move || writing.join()).await;
    }
}

async fn connection(stream: tokio::net::TcpStream, shared: Arc<Shared>, mut asked: watch::Receiver<bool>) {
    let waiting = client::Waiting::default();
    let stream = client::Stream::new(stream, waiting.clone());
    let service = hyper::service::service_fn(move |request| {
        let (shared, waiting) = (shared.clone(), waiting.clone());
        async move { forward::handle(shared, &waiting, request).await }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(75))
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // The client's errors are its own; captures say how each request ended.
        _ = connection.as_mut() => return,
        _ = asked.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Makes the folder for captures. Says whether others may write to one that was there.
fn make_folder(path: &Path) -> std::io::Result<bool> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(std::fs::metadata(path)?.permissions().mode() & 0o022 != 0)
    }
    #[cfg(not(unix))]
    Ok(false)
}
