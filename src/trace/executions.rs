//! The transcript of what a recorder saw: each tool execution that began and ended, as a record.
//!
//! Only spans of tools count: what a model asked for is no execution. What is incomplete is left out and counted, for a
//! call whose arguments or response were cut cannot be compared with another.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::event::{Event, Kind, Phase, Status};

/// A transcript made of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executions {
    /// One record a line, in the order in which the executions began.
    pub transcript: Vec<u8>,
    /// For each record the id of its span.
    pub spans: Vec<String>,
    /// The executions that are left out, also as a transcript, each with its tool alone: what was called is known, and can
    /// be held against a scope.
    pub left_out: Vec<u8>,
    /// Executions that did not end, or were cancelled.
    pub unfinished: u64,
    /// Executions of whose arguments or response something was left out.
    pub truncated: u64,
}

/// Puts the spans of tools together. `args` is the recorded input, `response` the output or, for an execution that
/// failed, `error_type`. What is no object becomes the only field of one: `input`, `output`.
#[must_use]
pub fn executions(events: &[Event]) -> Executions {
    let ends: HashMap<&str, &Event> =
        events.iter().filter(|event| event.phase == Phase::End).map(|event| (event.span_id.as_str(), event)).collect();
    let mut made = Executions::default();
    let mut left_out = 0;
    let mut leave_out = |start: &Event, out: &mut Vec<u8>| {
        write(out, left_out, &start.name, &json!({}), &json!({}));
        left_out += 1;
    };
    for start in events.iter().filter(|event| event.kind == Kind::Tool && event.phase == Phase::Start) {
        let end = ends.get(start.span_id.as_str()).filter(|end| matches!(end.status, Status::Ok | Status::Error));
        let Some(end) = end else {
            made.unfinished += 1;
            leave_out(start, &mut made.left_out);
            continue;
        };
        if [start, *end].iter().any(|event| event.truncated || event.data.values().any(is_cut)) {
            made.truncated += 1;
            leave_out(start, &mut made.left_out);
            continue;
        }
        let response = match end.status {
            Status::Error => Value::Object(end.data.clone()),
            _ => object(&end.data, "output"),
        };
        write(&mut made.transcript, made.spans.len(), &start.name, &object(&start.data, "input"), &response);
        made.spans.push(start.span_id.clone());
    }
    made
}

fn write(out: &mut Vec<u8>, index: usize, tool: &str, args: &Value, response: &Value) {
    let record = json!({"index": index, "tool": tool, "args": args, "response": response});
    out.extend_from_slice(record.to_string().as_bytes());
    out.push(b'\n');
}

fn object(data: &Map<String, Value>, field: &str) -> Value {
    match data.get(field) {
        Some(value @ Value::Object(_)) => value.clone(),
        Some(value) => json!({field: value}),
        None => json!({}),
    }
}

/// Whether a mark stands somewhere in the value for what was not recorded.
fn is_cut(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("capture_omitted") || fields.values().any(is_cut),
        Value::Array(items) => items.iter().any(is_cut),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Ruleset, judge};
    use crate::tools::ToolSet;
    use crate::trace::{Captured, Options, Recorder};

    #[test]
    fn tools_that_ended_become_records() {
        let recorder = Recorder::new(Options::default()).unwrap();
        let outer = recorder.span(Kind::Tool, "outer", json!({"a": 1}));
        let model = recorder.span(Kind::Model, "model", json!({"a": 1}));
        recorder.span(Kind::Tool, "inner", json!([1])).end(json!([2]));
        recorder.span(Kind::Tool, "fails", Value::Null).fail("Timeout");
        recorder.span(Kind::Tool, "stopped", json!({})).cancel();
        recorder.span(Kind::Tool, "odd", json!({"x": [Captured::of_type("set")]})).end(json!(1));
        recorder.span_in(None, Kind::Tool, "long", Captured { value: json!(1), cut: true }).end(json!(1));
        let open = recorder.span(Kind::Tool, "open", json!({}));
        model.end(json!(1));
        outer.end(json!({"done": true}));
        let made = recorder.executions();
        let lines: Vec<&str> = std::str::from_utf8(&made.transcript).unwrap().lines().collect();
        let expected = [
            json!({"index": 0, "tool": "outer", "args": {"a": 1}, "response": {"done": true}}),
            json!({"index": 1, "tool": "inner", "args": {"input": [1]}, "response": {"output": [2]}}),
            json!({"index": 2, "tool": "fails", "args": {}, "response": {"error_type": "Timeout"}}),
        ];
        assert_eq!(lines, expected.map(|record| record.to_string()));
        assert_eq!((made.spans.len(), made.unfinished, made.truncated), (3, 2, 2));
        assert_eq!(made.spans[0], outer_id(&recorder));
        let ruleset = Ruleset::replay(ToolSet::default_mutators());
        let calls = |transcript: &[u8]| judge(transcript, &ruleset, 1).unwrap().calls;
        assert_eq!((calls(&made.transcript), calls(&made.left_out)), (3, 4));
        drop(open);
    }

    fn outer_id(recorder: &Recorder) -> String {
        recorder.snapshot()["events"][0]["span_id"].as_str().unwrap().to_owned()
    }
}
