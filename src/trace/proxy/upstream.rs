//! The client that requests are sent on with.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as PooledClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::config::Config;
use super::request_body::Passing;

pub(super) type Client = PooledClient<HttpsConnector<HttpConnector>, Outgoing>;
/// What is sent.
pub(super) type Outgoing = Either<Full<Bytes>, Passing>;

/// An HTTP/1.1 client: no proxy variables, no redirects, no cookies, no decompression.
pub(super) fn client(config: &Config) -> std::io::Result<Client> {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.enforce_http(false);
    http.set_connect_timeout(Some(Duration::from_secs(10).min(config.timeout)));
    let builder = hyper_rustls::HttpsConnectorBuilder::new();
    let builder = if config.upstream.is_tls() {
        builder.with_provider_and_native_roots(rustls::crypto::ring::default_provider())?
    } else {
        // Never used: the upstream is plain HTTP. An empty store needs no certificate files.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let versions = versions.map_err(std::io::Error::other)?;
        builder.with_tls_config(versions.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
    };
    let connector = builder.https_or_http().enable_http1().wrap_connector(http);
    // Servers close idle connections after 5 s and more; a shorter time here avoids sending into a closing one.
    Ok(PooledClient::builder(TokioExecutor::new())
        .pool_idle_timeout(Duration::from_secs(4))
        .pool_timer(TokioTimer::new())
        .build(connector))
}
