//! A run that looked at less than the one before it.

use crate::finding::{Finding, Level, Rule};

/// Fewer files, calls or compared pairs than the baseline says. The detail says which.
pub static COVERAGE_DROPPED: Rule = Rule {
    id: "coverage-dropped",
    summary: "The run covers less than the one that wrote the baseline.",
    level: Level::Error,
    page: include_str!("../../docs/rules/coverage-dropped.md"),
    security_severity: Some("5.0"),
    suppressible: false,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    format!("the run covers less than the baseline says: {}", finding.detail_text())
}
