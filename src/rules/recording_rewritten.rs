//! A recording of the base revision that is gone or says something else now.

use crate::finding::{Finding, Level, Rule};

/// A recording does not begin with what the base revision has of it. The detail says in which way.
pub static RECORDING_REWRITTEN: Rule = Rule {
    id: "recording-rewritten",
    summary: "A recording of the base revision is gone, lost its seal, or says something else now.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/recording-rewritten.md"),
    security_severity: Some("6.0"),
    suppressible: true,
    precision: "high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
