//! Settings of the proxy, checked before anything listens.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderName;
use hyper::http::uri::{Authority, Scheme};

/// Why the proxy could not run.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A setting is wrong.
    #[error("{0}")]
    Config(String),
    /// The folder for captures cannot be used.
    #[error("cannot use the output folder '{}': {source}", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// No certificate store, or no thread.
    #[error("cannot start: {0}")]
    Start(std::io::Error),
}

/// What becomes of a request whose capture cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// It is refused.
    Required,
    /// It is sent on all the same, with a line in the log.
    BestEffort,
}

/// How the proxy is to run.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where requests go.
    pub upstream: Upstream,
    /// The folder for captures; made with mode 0700 if it does not exist.
    pub output_dir: PathBuf,
    /// The address to listen on: a loopback address.
    pub host: IpAddr,
    /// The port to listen on; 0 picks one.
    pub port: u16,
    /// How long to wait for the head of a reply.
    pub timeout: Duration,
    /// How long to wait for more of a request's body.
    pub body_timeout: Duration,
    /// What becomes of a request whose capture cannot be made.
    pub record: Record,
    /// The largest request that is sent on.
    pub max_request_bytes: usize,
    /// How much of one request, and of one reply, a capture keeps.
    pub max_capture_bytes: usize,
    /// How much all captures together may hold in memory.
    pub capture_budget: usize,
    /// Field names to redact beside the built-in ones.
    pub redact_fields: Vec<String>,
    /// Request headers to send on beside the built-in ones.
    pub forward_headers: Vec<HeaderName>,
    /// Whether paths without a decoder are sent on unrecorded.
    pub passthrough: bool,
    /// How long streams may go on after the proxy was asked to stop.
    pub grace: Duration,
}

impl Config {
    /// The defaults for an upstream.
    #[must_use]
    pub fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            output_dir: PathBuf::from("data/traces/proxy"),
            host: IpAddr::from([127, 0, 0, 1]),
            port: 8787,
            timeout: Duration::from_secs(120),
            body_timeout: Duration::from_secs(60),
            record: Record::Required,
            max_request_bytes: 8 << 20,
            max_capture_bytes: 1 << 20,
            capture_budget: 256 << 20,
            redact_fields: Vec::new(),
            forward_headers: Vec::new(),
            passthrough: true,
            grace: Duration::from_secs(5),
        }
    }

    pub(super) fn check(&self) -> Result<(), ProxyError> {
        let wrong = |what: &str| Err(ProxyError::Config(what.to_owned()));
        if !self.host.is_loopback() {
            return wrong("the host must be a loopback address: 127.0.0.1 or ::1");
        }
        if self.max_capture_bytes < 128 {
            return wrong("the capture limit must be at least 128 bytes");
        }
        if self.max_request_bytes == 0 {
            return wrong("the request limit must be at least 1 byte");
        }
        if self.timeout.is_zero() || self.body_timeout.is_zero() {
            return wrong("the timeout must be more than 0 seconds");
        }
        for name in &self.forward_headers {
            if super::headers::is_never_forwarded(name) {
                return wrong(&format!("the header '{name}' is never sent on"));
            }
        }
        Ok(())
    }
}

/// The base URL of a model API, with its version prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    path: String,
}

impl Upstream {
    /// Reads a base URL such as `https://api.example.com/v1`.
    ///
    /// # Errors
    /// It is not an http or https URL, or carries credentials, a query or a fragment. The message never repeats
    /// credentials.
    pub fn parse(url: &str) -> Result<Self, ProxyError> {
        let wrong = |what: &str| ProxyError::Config(format!("the upstream base URL {what}"));
        if url.contains('#') {
            return Err(wrong("must not have a fragment"));
        }
        let uri: Uri = url.trim().parse().map_err(|_| wrong("is not a URL"))?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
        let scheme = scheme.ok_or_else(|| wrong("must begin with http:// or https://"))?;
        let authority = parts.authority.ok_or_else(|| wrong("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("must not carry credentials"));
        }
        // behind a host that may have colons of its own, between brackets
        let port = authority.as_str().strip_prefix(authority.host()).unwrap_or(":").strip_prefix(':');
        let is_port = |port: &str| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        if authority.host().is_empty() || port.is_some_and(|port| !is_port(port)) {
            return Err(wrong("has no valid host and port"));
        }
        let (path, query) = parts
            .path_and_query
            .map_or((String::new(), false), |path| (path.path().to_owned(), path.query().is_some()));
        if query {
            return Err(wrong("must not have a query"));
        }
        Ok(Self { scheme, authority, path: path.trim_end_matches('/').to_owned() })
    }

    /// The URL for a path below the base and a query.
    pub(super) fn uri(&self, below: &str, query: Option<&str>) -> Result<Uri, hyper::http::Error> {
        let mark = if query.is_some() { "?" } else { "" };
        let path = format!("{}{below}{mark}{}", self.path, query.unwrap_or_default());
        Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(path).build()
    }

    pub(super) fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_urls() {
        let good = Upstream::parse("https://api.example.com:8443/v1/").unwrap();
        assert_eq!(good.to_string(), "https://api.example.com:8443/v1");
        assert_eq!(
            good.uri("/chat/completions", Some("a=%2F&b")).unwrap(),
            "https://api.example.com:8443/v1/chat/completions?a=%2F&b"
        );
        assert_eq!(good.uri("/models", Some("")).unwrap(), "https://api.example.com:8443/v1/models?");
        assert_eq!(Upstream::parse("http://[::1]:9").unwrap().uri("/m", None).unwrap(), "http://[::1]:9/m");
        for bad in [
            "",
            "api.example.com/v1",
            "ftp://h/v1",
            "https://user:secret@h/v1",
            "https://secret@h/v1",
            "https://h/v1?key=secret",
            "https://h/v1#secret",
            "https://",
            "http://h:0/v1",
            "http://h:/v1",
            "http://h:65536/v1",
            "http://h:70000/v1",
            "http://h:+80/v1",
            "http://[::1]:99999/v1",
        ] {
            let error = Upstream::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
