//! What looks like a recording among what is audited, and was not read.

use crate::finding::{Finding, Level, Rule};

/// A file, link or submodule was passed over although it holds, or may hold, recordings. The detail says why.
pub static UNREAD_RECORDING: Rule = Rule {
    id: "unread-recording",
    summary: "What looks like a recording among the audited folders was not read.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/unread-recording.md"),
    security_severity: Some("5.0"),
    suppressible: true,
    precision: "high",
    message,
};

fn message(finding: &Finding) -> String {
    format!("not read: {}", finding.detail_text())
}
