//! An upstream behind TLS.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

use super::support::*;

/// A TLS server that answers one request on each connection; gives its port and its certificate.
fn server() -> (u16, String) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = BufReader::new(rustls::StreamOwned::new(connection, stream.unwrap()));
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let _ = stream.get_mut().write_all(&sse(tool_stream().as_bytes()));
            let _ = stream.get_mut().flush();
        }
    });
    (port, certified.cert.pem())
}

#[test]
fn certificates_are_checked() {
    let (port, certificate) = server();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted.pem");
    std::fs::write(&trusted, certificate).unwrap();
    let trusted = trusted.to_str().unwrap();

    let proxy = Proxy::with(&format!("https://localhost:{port}/v1"), &[], &[("SSL_CERT_FILE", trusted)]);
    let got = proxy.send(CHAT, chat_body());
    assert_eq!((got.status, got.body.as_slice()), (200, tool_stream().as_bytes()));
    assert_eq!(proxy.capture_of(&got).calls().len(), 2);

    // The name that the certificate does not have, and a certificate that nobody vouches for.
    let (_, other) = server();
    let unrelated = folder.path().join("other.pem");
    std::fs::write(&unrelated, other).unwrap();
    for (host, file) in [("127.0.0.1", trusted), ("localhost", unrelated.to_str().unwrap())] {
        let proxy = Proxy::with(&format!("https://{host}:{port}/v1"), &[], &[("SSL_CERT_FILE", file)]);
        let got = proxy.send(CHAT, chat_body());
        assert_eq!((got.status, proxy.capture_of(&got).error_type()), (502, "upstream_unreachable"));
    }
}
