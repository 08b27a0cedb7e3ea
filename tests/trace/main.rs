//! The recording proxy as its users meet it: the real binary between a hostile upstream and a raw client.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test fails by panicking and measures time"
)]

mod association;
mod damaged;
mod faults;
mod forwarding;
mod load;
mod properties;
mod protocols;
mod schema;
mod secrets;
mod streaming;
mod support;
mod tls;
mod viewer;
mod wire;
