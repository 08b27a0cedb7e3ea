use serde_json::json;

use super::*;
use crate::trace::event::{Kind, Status};

struct Made {
    captures: Vec<Capture>,
    seconds: u32,
}

impl Made {
    fn new() -> Self {
        Self { captures: Vec::new(), seconds: 0 }
    }

    /// A capture of a request that reports `results` and whose reply asks for `calls`.
    fn request(&mut self, id: &str, session: &str, parents: &[&str], results: &Value, calls: &Value) -> &mut Self {
        let mut event = |phase: Phase, data: Value| {
            self.seconds += 1;
            Event {
                version: 1,
                trace_id: id.to_owned(),
                span_id: "s".to_owned(),
                parent_span_id: None,
                sequence: if phase == Phase::Start { 1 } else { 2 },
                timestamp: format!("2026-01-01T00:00:{:02}Z", self.seconds),
                kind: Kind::Model,
                name: "m".to_owned(),
                phase,
                status: Status::Ok,
                duration_ms: None,
                data: data.as_object().unwrap().clone(),
                truncated: false,
                source: Source::ModelProxy,
            }
        };
        let start = event(
            Phase::Start,
            json!({"session_id": session, "parent_request_ids": parents, "agent_reported_tool_results": results}),
        );
        let end = event(Phase::End, json!({"model_requested_tools": calls}));
        self.captures.push(Capture {
            path: format!("{id}.jsonl").into(),
            events: vec![(1, start), (2, end)],
            ..Capture::default()
        });
        self
    }

    fn pairs(&self) -> Vec<String> {
        let mut out = Vec::new();
        // In whatever order the files are read.
        let reversed: Vec<Capture> = self.captures.iter().rev().cloned().collect();
        assert_eq!(calls(&self.captures), calls(&reversed));
        for session in calls(&self.captures) {
            for call in &session.calls {
                let result = call.result.as_ref().map_or("none".to_owned(), |result| result.content.to_string());
                out.push(format!("{}/{} {} -> {result}", session.id, call.request_id, call.arguments));
            }
            out.extend(session.unmatched.iter().map(|result| format!("{} unmatched {}", session.id, result.content)));
        }
        out
    }
}

fn call(id: &str, n: u32) -> Value {
    json!({"id": id, "name": "f", "type": "function", "arguments": n})
}

fn result(id: &str, content: &str) -> Value {
    json!({"id": id, "content": content})
}

#[test]
fn calls_meet_their_results() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("a", 1), call("b", 2)]));
    made.request("r2", "B", &[], &json!([]), &json!([call("a", 3)]));
    made.request("r3", "A", &["r1"], &json!([result("b", "two"), result("a", "one")]), &json!([call("c", 4)]));
    assert_eq!(made.pairs(), ["A/r1 1 -> \"one\"", "A/r1 2 -> \"two\"", "A/r3 4 -> none", "B/r2 3 -> none"]);
    let sessions = calls(&made.captures);
    let first = &sessions[0].calls[0];
    assert_eq!(first.place, Place { file: "r1.jsonl".into(), line: 2 });
    assert_eq!(first.result.as_ref().unwrap().place, Place { file: "r3.jsonl".into(), line: 1 });
    assert_eq!((first.id.as_deref(), first.tool.as_deref(), first.kind.as_str()), (Some("a"), Some("f"), "function"));
}

#[test]
fn repeated_ids_pair_by_occurrence() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("x", 1), call("x", 2)]));
    made.request("r2", "A", &["r1"], &json!([result("x", "one"), result("x", "two")]), &json!([call("x", 3)]));
    made.request("r3", "A", &["r2"], &json!([result("x", "three")]), &json!([]));
    assert_eq!(made.pairs(), ["A/r1 1 -> \"one\"", "A/r1 2 -> \"two\"", "A/r2 3 -> \"three\""]);
}

#[test]
fn a_turn_sent_twice_changes_nothing_and_strangers_are_named() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("x", 1)]));
    made.request("r2", "A", &["r1"], &json!([result("x", "one")]), &json!([call("x", 2)]));
    // The same turn again, as after a timeout: it must not answer the newer call.
    made.request("r3", "A", &["r1"], &json!([result("x", "one")]), &json!([call("y", 3)]));
    made.request("r4", "A", &["r3"], &json!([result("z", "what?"), json!({"content": "without id"})]), &json!([]));
    assert_eq!(
        made.pairs(),
        [
            "A/r1 1 -> \"one\"",
            "A/r2 2 -> none",
            "A/r3 3 -> none",
            "A unmatched \"what?\"",
            "A unmatched \"without id\""
        ]
    );
}

#[test]
fn cut_calls_and_shortened_lists() {
    let mut made = Made::new();
    let cut = json!({"id": "a", "name": "f", "arguments": "{\"n", "partial": true});
    made.request("r1", "A", &[], &json!([]), &json!({"captured_items": [cut], "capture_omitted_items": 3}));
    let sessions = calls(&made.captures);
    assert!(sessions[0].calls[0].partial);
    assert!(calls(&[]).is_empty());
}
