//! A sealed transcript that is not the base revision's continued.

use crate::finding::{Finding, Level, Rule};

/// The chain does not extend the one that the base revision has. The detail says in which way.
pub static SEAL_REWRITTEN: Rule = Rule {
    id: "seal-rewritten",
    summary: "A sealed transcript is not the base revision's continued: it was cut, resealed or rewritten.",
    level: Level::Error,
    page: include_str!("../../docs/rules/seal-rewritten.md"),
    security_severity: Some("9.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    format!("the sealed transcript does not extend the base revision's: {}", finding.detail_text())
}
