//! The published JSON Schemas, made from the types they describe.

use crate::config::Config;
use crate::formats::JsonSideReport;
use crate::report::{JsonDiff, JsonReport, JsonStats};
use crate::scope::ScopeFile;
use crate::trace::event;
use schemars::{JsonSchema, Schema, schema_for};

/// The names of the schemas.
pub const NAMES: [&str; 9] =
    ["config", "diff", "import", "report", "scope", "sealed", "stats", "trace-event", "transcript"];

/// One line of a transcript.
#[derive(JsonSchema)]
#[schemars(title = "toolreplay transcript record", deny_unknown_fields)]
#[allow(dead_code, reason = "describes the record to schemars")]
struct TranscriptRecord {
    /// The place of the call: 0, 1, 2 …
    index: u64,
    /// The name of the tool that was called.
    tool: String,
    /// What it was called with.
    args: serde_json::Map<String, serde_json::Value>,
    /// What it answered.
    response: serde_json::Map<String, serde_json::Value>,
}

/// One line of a sealed transcript.
#[derive(JsonSchema)]
#[schemars(title = "toolreplay sealed record", deny_unknown_fields)]
#[allow(dead_code, reason = "describes the record to schemars")]
struct SealedRecord {
    /// The place of the call: 0, 1, 2 …
    index: u64,
    /// The name of the tool that was called.
    tool: String,
    /// What it was called with.
    args: serde_json::Map<String, serde_json::Value>,
    /// What it answered.
    response: serde_json::Map<String, serde_json::Value>,
    /// The digest of the record before; 64 zeros for the first.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    prev: String,
    /// SHA-256 of the canonical form of the other five fields, in lower-case hexadecimal digits.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    digest: String,
}

/// The text of a schema, ending in a newline.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    let mut schema: Schema = match name {
        "config" => schema_for!(Config),
        "diff" => schema_for!(JsonDiff<'_>),
        "import" => schema_for!(JsonSideReport),
        "report" => schema_for!(JsonReport<'_>),
        "scope" => schema_for!(ScopeFile),
        "sealed" => schema_for!(SealedRecord),
        "stats" => schema_for!(JsonStats),
        "trace-event" => event::json_schema().try_into().ok()?,
        "transcript" => schema_for!(TranscriptRecord),
        _ => return None,
    };
    // editors find a schema by its address
    schema.insert("$id".to_owned(), format!("{}/raw/main/schemas/{name}.json", env!("CARGO_PKG_REPOSITORY")).into());
    serde_json::to_string_pretty(&schema).ok().map(|text| text + "\n")
}
