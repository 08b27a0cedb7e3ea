//! Which session a capture of the proxy belongs to: one file is one request, and a call is answered in another.

use super::value::{self, text};
use crate::json::MAX_TEXT;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A capture's place in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InSession {
    /// The session.
    pub session: String,
    /// When the request came, and its id: captures of one session stand in this order.
    pub order: (String, String),
}

/// The session of the capture in a file; `None` for every other file, and where it cannot be read.
#[must_use]
pub fn in_session(path: &Path) -> Option<InSession> {
    // opening what is no regular file might wait for ever
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut file = BufReader::with_capacity(64 << 10, File::open(path).ok()?);
    let start = file.fill_buf().ok()?;
    // long files of other kinds are not read for this
    let named = memchr::memmem::find(&start[..start.len().min(512)], b"\"trace_id\"");
    named?;
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if file.by_ref().take(MAX_TEXT as u64).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
    }
    let event = value::only_value(line.trim_ascii()).ok()?;
    let [trace, time, source, data] = event.fields(&["trace_id", "timestamp", "source", "data"]);
    if !source.is_some_and(|source| source.is("model_proxy")) {
        return None;
    }
    let session = text(data?.get("session_id"))?.into_owned();
    let own = |value| text(value).unwrap_or_default().into_owned();
    Some(InSession { session, order: (own(time), own(trace)) })
}
