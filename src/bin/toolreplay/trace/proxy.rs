//! `toolreplay trace proxy`.

use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use toolreplay::trace::proxy::{Config, Proxy, Record, Upstream};

/// What becomes of a request whose capture cannot be made.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Recording {
    /// It is refused with 503.
    Required,
    /// It is sent on unrecorded, with a line in the log.
    BestEffort,
}

#[derive(Debug, Args)]
pub(super) struct ProxyArgs {
    /// The model API's base URL, with its version prefix: https://api.openai.com/v1
    #[arg(long, value_name = "URL")]
    upstream_base_url: String,
    /// Where captures go, one file a request.
    #[arg(long, value_name = "DIR", default_value = "data/traces/proxy")]
    output_dir: PathBuf,
    /// The loopback address to listen on: 127.0.0.1 or ::1.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = loopback)]
    host: IpAddr,
    /// The port to listen on; 0 picks one and prints it.
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// How long to wait for the head of a reply, in seconds. A stream that lives has no limit.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    timeout: Duration,
    /// How long to wait for more of a request's body, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    body_timeout: Duration,
    /// What becomes of a request whose capture cannot be made, as on a full disk.
    #[arg(long, value_name = "HOW", value_enum, default_value = "required")]
    record: Recording,
    /// The largest request to send on. A larger one is answered with 413.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, value_parser = at_least::<1>)]
    max_request_bytes: usize,
    /// How much of a request, and of a reply, a capture keeps; at least 128.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = at_least::<128>)]
    max_capture_bytes: usize,
    /// A field whose value is redacted wherever it stands; repeatable.
    #[arg(long = "redact-field", value_name = "NAME")]
    redact_fields: Vec<String>,
    /// A request header to send on beside the usual ones; repeatable.
    #[arg(long = "forward-header", value_name = "NAME")]
    forward_headers: Vec<String>,
    /// Refuse paths that cannot be recorded instead of sending them on.
    #[arg(long)]
    no_passthrough: bool,
}

fn loopback(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| "not an IP address".to_owned())?;
    let allowed = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
    if allowed.contains(&address) { Ok(address) } else { Err("the proxy listens on 127.0.0.1 or ::1 only".to_owned()) }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() && time.as_secs() <= 86_400 => Ok(time),
        _ => Err("must be more than 0 and at most 86400".to_owned()),
    }
}

fn at_least<const LEAST: usize>(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&bytes| bytes >= LEAST).ok_or_else(|| format!("must be a number of at least {LEAST}"))
}

impl ProxyArgs {
    pub(super) fn run(self) -> anyhow::Result<u8> {
        let mut config = Config::new(Upstream::parse(&self.upstream_base_url)?);
        config.output_dir = self.output_dir;
        config.host = self.host;
        config.port = self.port;
        config.timeout = self.timeout;
        config.body_timeout = self.body_timeout;
        config.record = match self.record {
            Recording::Required => Record::Required,
            Recording::BestEffort => Record::BestEffort,
        };
        config.max_request_bytes = self.max_request_bytes;
        config.max_capture_bytes = self.max_capture_bytes;
        config.redact_fields = self.redact_fields;
        config.passthrough = !self.no_passthrough;
        for name in self.forward_headers {
            config.forward_headers.push(name.parse().map_err(|_| anyhow!("'{name}' is not a header name"))?);
        }
        raise_descriptor_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers())
            .enable_all()
            .build()
            .context("cannot start")?;
        runtime.block_on(serve(config))
    }
}

/// A stream takes three descriptors: the client's, the upstream's and its capture's. The usual soft limit of 1,024 would
/// end at 340 streams, though the system allows far more.
fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.unwrap_or(u64::MAX).min(65_536);
        if limit.current.is_some_and(|current| current < wanted) {
            limit.current = Some(wanted);
            // Where this is not allowed the proxy runs with what it has.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}

/// One thread passes everything on as long as the machine is small: a request then crosses no core on its way, and the
/// other core is free for the writer of captures.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4))
}

async fn serve(config: Config) -> anyhow::Result<u8> {
    let upstream = config.upstream.to_string();
    let folder = config.output_dir.display().to_string();
    let log = |line: &str| {
        // The log must not be able to stop what it reports on.
        let _ = writeln!(std::io::stderr(), "{line}");
    };
    // Before the address is printed, so that whoever read it can already stop the proxy in order.
    let mut signals = Signals::new().context("cannot start")?;
    let proxy = Proxy::bind(config, Arc::new(log)).await?;
    let _ =
        writeln!(std::io::stdout(), "listening on http://{}/v1 -> {upstream}, captures in {folder}", proxy.address());
    let (first, asked) = tokio::sync::oneshot::channel();
    let (second, hurried) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        let _ = first.send(());
        signals.next().await;
        let _ = second.send(());
    });
    let once = |signal: tokio::sync::oneshot::Receiver<()>| async { drop(signal.await) };
    proxy.serve(once(asked), once(hurried)).await;
    Ok(0)
}

/// Ctrl-C, SIGTERM and, where a terminal is closed, SIGHUP: the first ends the proxy in order, the second at once.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            // who started it with nohup wants it to go on
            hang_up: if is_ignored(1) { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up(self.hang_up.as_mut()) => {}
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "the other systems' variant can fail")]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
async fn hung_up(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with a signal ignored, where the system tells.
#[cfg(unix)]
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
