//! Pairs the calls that a model asked for with the results that an agent reported later.
//!
//! A pure function over captures. It observes no execution: a result is what the agent said, and a call without
//! one may or may not have run.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::event::{Event, Phase, Source};
use super::read::Capture;

/// Where something was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The capture file.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: u64,
}

/// A call, and its result if one was reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The request whose reply asked for it.
    pub request_id: String,
    /// Its id, which need not be unique.
    pub id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// `function`, or the protocol's word for another kind.
    pub kind: String,
    /// Its arguments; a text where they were no JSON.
    pub arguments: Value,
    /// The reply was cut inside it.
    pub partial: bool,
    /// The line with the reply's end.
    pub place: Place,
    /// What the agent reported.
    pub result: Option<Report>,
}

/// A reported result.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The request that carried it.
    pub request_id: String,
    /// The id of the call it answers.
    pub id: Option<String>,
    /// What the tool returned, in the agent's words.
    pub content: Value,
    /// The agent's word that the tool failed.
    pub is_error: Option<bool>,
    /// The line with the request.
    pub place: Place,
}

/// The calls of one session, in order of observation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Session {
    /// The session.
    pub id: String,
    /// Its calls.
    pub calls: Vec<Call>,
    /// Results that answer no call of this session: the call was not seen, or had its result already.
    pub unmatched: Vec<Report>,
}

/// Pairs calls and results, session by session; sessions come in order of their first request.
///
/// Ids repeat in practice, so results are paired by occurrence: a result answers the oldest call with its id that
/// has no result yet, first among the calls of the requests it is known to follow. The same result reported
/// again, as agents do when they send a turn twice, changes nothing.
#[must_use]
pub fn calls(captures: &[Capture]) -> Vec<Session> {
    let mut moments: Vec<Moment<'_>> = captures.iter().flat_map(moments).collect();
    // Sorting is stable and ids sort by time, so that equal timestamps keep a defined order.
    moments.sort_by(|a, b| {
        (&a.event.timestamp, &a.event.trace_id, a.event.sequence).cmp(&(
            &b.event.timestamp,
            &b.event.trace_id,
            b.event.sequence,
        ))
    });

    let mut order: Vec<String> = Vec::new();
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut session_of: HashMap<String, String> = HashMap::new();
    for moment in &moments {
        let data = &moment.event.data;
        let request_id = &moment.event.trace_id;
        match moment.event.phase {
            Phase::Start => {
                let id = text(data, "session_id").unwrap_or_else(|| request_id.clone());
                session_of.insert(request_id.clone(), id.clone());
                let session = sessions.entry(id.clone()).or_insert_with(|| {
                    order.push(id.clone());
                    Session { id, ..Session::default() }
                });
                let parents: Vec<&str> = list(data, "parent_request_ids").filter_map(Value::as_str).collect();
                for result in list(data, "agent_reported_tool_results") {
                    session.report(
                        &parents,
                        Report {
                            request_id: request_id.clone(),
                            id: field_text(result, "id"),
                            content: result.get("content").cloned().unwrap_or_default(),
                            is_error: result.get("is_error").and_then(Value::as_bool),
                            place: moment.place.clone(),
                        },
                    );
                }
            }
            Phase::End => {
                let Some(session) = session_of.get(request_id).and_then(|id| sessions.get_mut(id)) else { continue };
                for call in list(data, "model_requested_tools") {
                    session.calls.push(Call {
                        request_id: request_id.clone(),
                        id: field_text(call, "id"),
                        tool: field_text(call, "name"),
                        kind: field_text(call, "type").unwrap_or_else(|| "function".to_owned()),
                        arguments: call.get("arguments").cloned().unwrap_or_default(),
                        partial: call.get("partial").and_then(Value::as_bool).unwrap_or(false),
                        place: moment.place.clone(),
                        result: None,
                    });
                }
            }
        }
    }
    order.iter().filter_map(|id| sessions.remove(id)).collect()
}

impl Session {
    fn report(&mut self, parents: &[&str], report: Report) {
        let same_id = |call: &Call| report.id.is_some() && call.id == report.id;
        let of_parent = |call: &Call| parents.contains(&call.request_id.as_str());
        let open = |call: &Call| same_id(call) && call.result.is_none();
        let at = self.calls.iter().position(|call| open(call) && of_parent(call)).or_else(|| {
            // Known parents that have all their results mean a repeat, not an older call.
            let repeats = self.calls.iter().any(|call| same_id(call) && of_parent(call));
            if repeats { None } else { self.calls.iter().position(open) }
        });
        match at {
            Some(at) => self.calls[at].result = Some(report),
            None => {
                let known = |call: &Call| {
                    same_id(call) && call.result.as_ref().is_some_and(|known| known.content == report.content)
                };
                if !self.calls.iter().any(known) {
                    self.unmatched.push(report);
                }
            }
        }
    }
}

struct Moment<'a> {
    event: &'a Event,
    place: Place,
}

fn moments(capture: &Capture) -> impl Iterator<Item = Moment<'_>> {
    let from_proxy = capture.events.iter().filter(|(_, event)| event.source == Source::ModelProxy);
    from_proxy.map(|(line, event)| Moment { event, place: Place { file: capture.path.clone(), line: *line } })
}

fn text(data: &Map<String, Value>, name: &str) -> Option<String> {
    data.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn field_text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The items of a list, also where the recorder left some out.
fn list<'a>(data: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    let value = data.get(name);
    let items = value.and_then(|value| value.as_array().or_else(|| value.get("captured_items")?.as_array()));
    items.into_iter().flatten()
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
