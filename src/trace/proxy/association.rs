//! Which requests belong to one agent session.
//!
//! Only evidence links: a header, a response id, or tool results that answer calls which this proxy saw going to
//! the same client. Equal text links nothing, and between two candidates nothing is chosen.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::HeaderMap;
use serde_json::Value;

use super::headers;
use crate::trace::clock;
use crate::trace::protocol::{Head, ToolCall};

/// Calls, and reply ids, that are remembered.
const REMEMBERED: usize = 10_000;

type Print = [u8; 16];

/// A client, as far as its credentials tell.
#[derive(Clone, Copy)]
pub(super) struct Scope([u8; 32]);

/// A request whose reply was seen.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) request_id: Arc<str>,
    pub(super) session_id: Arc<str>,
}

/// Where a request belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) session_id: Arc<str>,
    pub(super) kind: &'static str,
    /// Why it stands alone.
    pub(super) reason: Option<&'static str>,
    pub(super) parents: Vec<Arc<str>>,
    /// Positions of the reported results whose call was not seen.
    pub(super) unlinked: Vec<usize>,
}

#[derive(Default)]
struct Memory {
    seen: HashMap<Print, Vec<Seen>>,
    order: VecDeque<Print>,
}

impl Memory {
    fn add(&mut self, print: Print, seen: Seen) {
        self.seen.entry(print).or_default().push(seen);
        self.order.push_back(print);
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front()
                && let Some(list) = self.seen.get_mut(&oldest)
            {
                list.remove(0);
                if list.is_empty() {
                    self.seen.remove(&oldest);
                }
            }
        }
    }

    fn get(&self, print: &Print) -> &[Seen] {
        self.seen.get(print).map_or(&[], Vec::as_slice)
    }
}

/// What this process has seen.
pub(super) struct Associations {
    key: [u8; 32],
    calls: Mutex<Memory>,
    /// Calls by their request and id, for results that come without their calls.
    ids: Mutex<Memory>,
    replies: Mutex<Memory>,
}

impl Associations {
    pub(super) fn new() -> Self {
        Self { key: clock::random(), calls: Mutex::default(), ids: Mutex::default(), replies: Mutex::default() }
    }

    pub(super) fn scope(&self, headers: &HeaderMap) -> Scope {
        Scope(*blake3::keyed_hash(&self.key, &headers::scope_parts(headers)).as_bytes())
    }

    /// Finds the session of a request. An error says what is wrong with its session header.
    pub(super) fn resolve(
        &self,
        scope: Scope,
        protocol: &str,
        headers: &HeaderMap,
        head: &Head,
    ) -> Result<Association, &'static str> {
        let mut explicit = headers::TRACE_ID.iter().flat_map(|name| headers.get_all(*name));
        let (first, more) = (explicit.next(), explicit.next().is_some());
        if more {
            return Err("the request has more than one trace id header");
        }
        let agent =
            headers::AGENT_SESSION.iter().find_map(|name| Some((name, headers::label(headers.get(*name)?, 256)?)));
        let named = if let Some(value) = first {
            let label =
                headers::label(value, 128).ok_or("the trace id header must have 1 to 128 printable characters")?;
            Some(("explicit_header", self.session(scope, "explicit", label)))
        } else {
            agent.map(|(name, label)| ("agent_session_header", self.session(scope, name, label)))
        };
        let previous = match &head.previous_response {
            Some(previous) => {
                let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
                match replies.get(&self.print(scope, &[protocol, "reply", previous], None)) {
                    [only] => Some(Ok(only.clone())),
                    [] => Some(Err("previous_response_not_observed")),
                    _ => Some(Err("previous_response_ambiguous")),
                }
            }
            None => None,
        };
        let seen = previous.as_ref().and_then(|previous| previous.as_ref().ok());
        let session = named.as_ref().map(|(_, session)| session);
        let (mut parents, unlinked, mut reason) = self.trace_results(scope, protocol, head, session, seen);
        let linked_session = parents.first().map(|seen| seen.session_id.clone());
        let (kind, session_id) = match (named, previous) {
            (Some(named), _) => named,
            (None, Some(Ok(only))) => {
                if !parents.contains(&only) {
                    parents.insert(0, only.clone());
                }
                ("response_reference", only.session_id)
            }
            (None, Some(Err(why))) => {
                reason = Some(why);
                ("independent_request", new_session())
            }
            (None, None) => match (reason, linked_session) {
                (None, Some(session)) => ("tool_call_reference", session),
                _ => ("independent_request", new_session()),
            },
        };
        let independent = kind == "independent_request";
        if independent {
            parents.clear();
        }
        Ok(Association {
            session_id,
            kind,
            reason: reason.filter(|_| independent),
            parents: parents.into_iter().map(|seen| seen.request_id).collect(),
            unlinked,
        })
    }

    /// The requests whose replies asked for the reported results, the results without one, and why they do not
    /// all lead to one session.
    fn trace_results(
        &self,
        scope: Scope,
        protocol: &str,
        head: &Head,
        session: Option<&Arc<str>>,
        previous: Option<&Seen>,
    ) -> (Vec<Seen>, Vec<usize>, Option<&'static str>) {
        if head.results.is_empty() {
            return (Vec::new(), Vec::new(), Some("no_tool_results"));
        }
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parents: Vec<Seen> = Vec::new();
        let mut unlinked = Vec::new();
        let mut reason = None;
        for (position, result) in head.results.iter().enumerate() {
            // Ids repeat in practice: the second result with an id answers the second call with it.
            let nth = head.results[..position].iter().filter(|other| other.id == result.id).count();
            let call = head.history.iter().filter(|call| call.id.is_some() && call.id == result.id).nth(nth);
            let Some(call) = call else {
                // A reply that is named instead of repeated has its calls by their ids.
                if let (Some(previous), Some(id)) = (previous, &result.id)
                    && self.asked(scope, protocol, previous, id)
                {
                    if !parents.contains(previous) {
                        parents.push(previous.clone());
                    }
                    continue;
                }
                unlinked.push(position);
                reason = reason.or(Some("tool_result_without_call"));
                continue;
            };
            let mut found: Vec<&Seen> = Vec::new();
            for seen in calls.get(&self.call_print(scope, protocol, call)) {
                if !found.contains(&seen) {
                    found.push(seen);
                }
            }
            if found.len() > 1
                && let Some(session) = session
            {
                // Another session's call of the same id is none of this one.
                found.retain(|seen| seen.session_id == *session);
            }
            match found[..] {
                [only] => {
                    if !parents.contains(only) {
                        parents.push(only.clone());
                    }
                }
                [] => {
                    unlinked.push(position);
                    reason = reason.or(Some("tool_call_not_observed"));
                }
                _ => {
                    unlinked.push(position);
                    reason = Some("tool_call_ambiguous");
                }
            }
        }
        if parents.windows(2).any(|pair| pair[0].session_id != pair[1].session_id) {
            reason = Some("tool_calls_of_several_sessions");
        }
        (parents, unlinked, reason)
    }

    /// Remembers what a reply asked for. To be called before the client can have read the reply.
    pub(super) fn register(&self, scope: Scope, protocol: &str, seen: &Seen, reply: Option<&str>, calls: &[ToolCall]) {
        if let Some(id) = reply {
            let print = self.print(scope, &[protocol, "reply", id], None);
            self.replies.lock().unwrap_or_else(PoisonError::into_inner).add(print, seen.clone());
        }
        let mut memory = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        for call in calls.iter().filter(|call| call.complete && call.id.is_some()) {
            memory.add(self.call_print(scope, protocol, call), seen.clone());
        }
        drop(memory);
        let mut memory = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        for id in calls.iter().filter(|call| call.complete).filter_map(|call| call.id.as_deref()) {
            memory.add(self.id_print(scope, protocol, seen, id), seen.clone());
        }
    }

    /// Whether the reply to this request asked for a call of this id.
    fn asked(&self, scope: Scope, protocol: &str, seen: &Seen, id: &str) -> bool {
        let memory = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        !memory.get(&self.id_print(scope, protocol, seen, id)).is_empty()
    }

    fn id_print(&self, scope: Scope, protocol: &str, seen: &Seen, id: &str) -> Print {
        self.print(scope, &[protocol, "id", &seen.request_id, id], None)
    }

    fn call_print(&self, scope: Scope, protocol: &str, call: &ToolCall) -> Print {
        let parts =
            [protocol, "call", call.id.as_deref().unwrap_or_default(), call.name.as_deref().unwrap_or_default()];
        self.print(scope, &parts, Some(&call.arguments))
    }

    fn print(&self, scope: Scope, parts: &[&str], value: Option<&Value>) -> Print {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&scope.0);
        for part in parts {
            text(&mut hasher, part);
        }
        if let Some(value) = value {
            digest(&mut hasher, value);
        }
        let mut print = [0; 16];
        hasher.finalize_xof().fill(&mut print);
        print
    }

    fn session(&self, scope: Scope, source: &str, label: &str) -> Arc<str> {
        hex::encode(self.print(scope, &["session", source, label], None)).into()
    }
}

fn new_session() -> Arc<str> {
    hex::encode(clock::random::<16>()).into()
}

fn text(hasher: &mut blake3::Hasher, part: &str) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part.as_bytes());
}

/// Feeds a value's content: neither the order of keys nor how a number or a string is written counts.
fn digest(hasher: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Null => drop(hasher.update(b"n")),
        Value::Bool(true) => drop(hasher.update(b"t")),
        Value::Bool(false) => drop(hasher.update(b"f")),
        Value::Number(number) => {
            hasher.update(b"#");
            let written = number.to_string();
            // Agents written in other languages turn 1.0 into 1; integers beyond a double keep their digits.
            let plain = written.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            match written.parse::<f64>() {
                Ok(double) if !plain && double.is_finite() => text(hasher, &double.to_string()),
                _ => text(hasher, &written),
            }
        }
        Value::String(string) => {
            hasher.update(b"s");
            text(hasher, string);
        }
        Value::Array(items) => {
            hasher.update(b"[");
            hasher.update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| digest(hasher, item));
        }
        Value::Object(fields) => {
            hasher.update(b"{");
            hasher.update(&(fields.len() as u64).to_le_bytes());
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            for (name, field) in fields {
                text(hasher, name);
                digest(hasher, field);
            }
        }
    }
}

#[cfg(test)]
#[path = "association_tests.rs"]
mod tests;
