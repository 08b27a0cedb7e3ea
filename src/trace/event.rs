//! The lines of a capture file, version 1: frozen wire types, apart from everything that works with them.
//!
//! Shapes only. A field is never renamed or removed within version 1; readers ignore fields they do not know.
//! `schemas/trace-event.json` is generated from these types and a test holds it to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version this module writes.
pub const VERSION: u8 = 1;

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A whole agent run.
    Agent,
    /// One turn of an agent's loop.
    Loop,
    /// One model request.
    Model,
    /// One tool execution.
    Tool,
}

/// Which end of a span an event marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The span began.
    Start,
    /// The span ended.
    End,
}

/// How a span stands at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Begun and not ended.
    Running,
    /// Ended as it should.
    Ok,
    /// Ended with an error.
    Error,
    /// Ended before its result was complete, because somebody stopped it.
    Cancelled,
}

/// Who saw the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Code in the observed program.
    RuntimeWrapper,
    /// A proxy between the program and its model.
    ModelProxy,
}

/// What a capture can have seen at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Only what passed through the program's instrumented calls.
    InstrumentedBoundariesOnly,
    /// Only what passed between the program and its model; no tool execution.
    ModelProtocolOnly,
}

/// One end of one span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u8,
    /// The capture this event belongs to.
    #[schemars(length(min = 1))]
    pub trace_id: String,
    /// The span this event marks an end of.
    #[schemars(length(min = 1))]
    pub span_id: String,
    /// The span that was open around it, or null.
    #[schemars(extend("type" = ["string", "null"]), required)]
    pub parent_span_id: Option<String>,
    /// Position in the capture, from 1.
    #[schemars(range(min = 1))]
    pub sequence: u64,
    /// RFC 3339, UTC.
    #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"))]
    pub timestamp: String,
    /// What the span stands for.
    pub kind: Kind,
    /// The name the recording side gave the span.
    pub name: String,
    /// Which end this is.
    pub phase: Phase,
    /// `running` at the start.
    pub status: Status,
    /// Time since the start event; null at the start.
    #[schemars(extend("type" = ["number", "null"]), required, range(min = 0))]
    pub duration_ms: Option<f64>,
    /// What was observed, after redaction.
    pub data: Map<String, Value>,
    /// True when something was left out of `data` for its size.
    pub truncated: bool,
    /// Who saw it.
    pub source: Source,
}

/// The constant `record_type` of a [`CaptureSummary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordType {
    /// The only value.
    CaptureSummary,
}

/// The last line of a finished capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSummary {
    /// Always `capture_summary`.
    pub record_type: RecordType,
    /// The capture.
    #[schemars(length(min = 1))]
    pub trace_id: String,
    /// Events written.
    pub events: u64,
    /// Events left out because the recorder was full.
    pub dropped_events: u64,
    /// Writes that failed.
    pub capture_errors: u64,
    /// What the capture can have seen at most.
    pub coverage: Coverage,
}

/// One line of a capture file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "toolreplay trace event, version 1")]
pub enum Line {
    /// The last line.
    Summary(CaptureSummary),
    /// Any other line.
    Event(Box<Event>),
}

impl Event {
    /// The line, without its end of line.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl CaptureSummary {
    /// The line, without its end of line.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The JSON Schema of one line, as published in `schemas/trace-event.json`.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Line);
    schema.insert("$id".to_owned(), Value::from("urn:toolreplay:schema:trace-event:1"));
    schema.to_value()
}
