//! Recording what an agent did, and looking at recordings.
//!
//! - [`event`]: the lines of a capture file.
//! - [`Recorder`]: records spans from inside a program.
//! - [`protocol`]: decoders for model protocols, without I/O.
//! - [`proxy`] (feature `proxy`): records from outside, between an agent and its model.
//! - [`show`]: reads capture files, damaged and growing ones too, and draws them.
//!
//! A recording is evidence of what was observed. It never claims an execution that was not seen, and recording
//! never changes, retries or fails what it observes.

pub(crate) mod clock;
pub mod event;
mod limits;
pub mod protocol;
mod redact;
mod recorder;
pub mod read;
pub mod show;
#[cfg(feature = "proxy")]
pub mod proxy;

pub use limits::{Captured, Limits};
pub use recorder::{Entered, Options, Recorder, RecorderError, Scoped, Span};
pub use redact::{Redactor, SHORTEST_SECRET};
