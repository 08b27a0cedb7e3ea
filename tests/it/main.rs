//! The one ordinary integration binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test that fails says so by panicking"
)]

mod canonical;
