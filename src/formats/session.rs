//! Which session a capture of the proxy belongs to: one file is one request, and a call is answered in another.

use super::open::{self, Opened};
use crate::json::view::{self, Value, text};
use crate::limits::{Budget, Start};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Mutex;

/// A capture's place in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSession {
    /// The session.
    pub session: String,
    /// When the request came, as RFC 3339.
    pub time: String,
    /// The request.
    pub request: String,
    /// The requests of the session whose replies it follows.
    pub parents: Vec<String>,
}

/// The longest first event that is looked into, in bytes: what the proxy writes of one request is far shorter, whatever
/// its limits.
const FIRST_EVENT: usize = 32 << 20;

/// Held while a long first event is in memory.
static LONG: Mutex<()> = Mutex::new(());

/// The session of the capture in a file; `None` for every other file, and where it cannot be read.
#[must_use]
pub fn in_session(path: &Path) -> Option<InSession> {
    // opening what is no regular file might wait for ever
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let Ok(Opened::Text(source, _)) = open::open(Box::new(File::open(path).ok()?), &Budget::default()) else {
        return None;
    };
    let (start, source) = open::peek(source, 512).ok()?;
    // long files of other kinds are not read for this
    memchr::memmem::find(&start, b"\"trace_id\"")?;
    let mut start = Start::read(source, 64 << 10).ok()?;
    let mut long = None;
    while !start.complete && memchr::memchr(b'\n', &start.text).is_none() {
        if start.text.len() > FIRST_EVENT {
            return None;
        }
        // files are looked into side by side; long ones one after the other
        if start.text.len() > 1 << 20 && long.is_none() {
            long = Some(LONG.lock());
        }
        start.grow(&Budget::default()).ok()?;
    }
    let line = start.text.split(|byte| *byte == b'\n').next()?;
    let event = view::only_value(line.trim_ascii()).ok()?;
    let [trace, time, source, data] = event.fields(&["trace_id", "timestamp", "source", "data"]);
    if !source.is_some_and(|source| source.is("model_proxy")) {
        return None;
    }
    let [session, parents] = data?.fields(&["session_id", "parent_request_ids"]);
    let own = |value| text(value).unwrap_or_default().into_owned();
    let parents = parents.into_iter().flat_map(Value::items).filter_map(|parent| Some(parent.as_str()?.into_owned()));
    Some(InSession {
        session: text(session)?.into_owned(),
        time: own(time),
        request: own(trace),
        parents: parents.collect(),
    })
}

/// What tells the history that a session file of Claude Code or Codex begins with from every other: its first call. A
/// session that is forked or resumed takes over the records of the one before, with their ids.
#[must_use]
pub fn history(path: &Path) -> Option<String> {
    if path.extension().is_none_or(|extension| extension != "jsonl") || !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut file = BufReader::with_capacity(64 << 10, File::open(path).ok()?.take(HISTORY));
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).ok()? > 0 {
        if memchr::memmem::find(&line, b"\"response_item\"").is_some()
            && memchr::memmem::find(&line, b"_call\"").is_some()
        {
            let record = view::only_value(line.trim_ascii()).ok()?;
            let [kind, payload] = record.fields(&["type", "payload"]);
            let [item, id] = payload.map(|payload| payload.fields(&["type", "call_id"])).unwrap_or_default();
            if kind.is_some_and(|kind| kind.is("response_item"))
                && text(item).is_some_and(|item| item.ends_with("_call"))
            {
                // what the model's server gave out, as a rule; a short one is made up, and may be anybody's
                return text(id).filter(|id| id.len() >= 16).map(|id| format!("codex {id}"));
            }
        }
        if memchr::memmem::find(&line, b"\"tool_use\"").is_some() {
            let record = view::only_value(line.trim_ascii()).ok()?;
            let [session, own, message] = record.fields(&["sessionId", "uuid", "message"]);
            let calls = |message: Value<'_>| {
                message.get("content").into_iter().flat_map(Value::items).any(|block| block.get("input").is_some())
            };
            // an id that is none of the program's own would bring strangers together
            let own = text(own).filter(|own| session.is_some() && own.len() >= 32);
            return own.filter(|_| message.is_some_and(calls)).map(|own| own.into_owned());
        }
        line.clear();
    }
    None
}

/// How far into a file its first call is looked for, in bytes.
const HISTORY: u64 = 4 << 20;

/// Whether a file has the name that the proxy gives to captures.
pub(super) fn has_name_of_a_capture(path: &Path) -> bool {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    path.extension().is_some_and(|extension| extension == "jsonl")
        && stem.len() == 32
        && stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
