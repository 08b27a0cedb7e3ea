//! A file that is no transcript.

use crate::finding::{Finding, Level, Rule};

/// A file could not be read as a transcript, so nothing in it was judged. The detail is the error.
pub static MALFORMED_TRANSCRIPT: Rule = Rule {
    id: "malformed-transcript",
    summary: "A file could not be read as a transcript, so none of its calls were judged.",
    level: Level::Error,
    page: include_str!("../../docs/rules/malformed-transcript.md"),
    security_severity: None,
    suppressible: false,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
