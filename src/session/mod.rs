//! A recording of any format as a list of calls, to be counted ([`stats`]), compared ([`diff`]) and looked at.
//!
//! It comes from the readers that an audit uses, so that a call's place in [`Session::calls`] is the index that findings
//! have for it. What a call was called with and what was answered is kept once, beyond a limit in a temporary file, and
//! read one call at a time.

mod read;
pub mod stats;
mod align;
pub mod diff;

pub use read::{Context, Session, SessionCall, read, read_source, ruleset};
