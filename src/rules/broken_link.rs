//! A sealed transcript whose chain does not hold.

use crate::finding::{Finding, Level, Rule};

/// The first link of a seal that does not follow from what stands before it. The detail says what was expected.
pub static BROKEN_LINK: Rule = Rule {
    id: "broken-link",
    summary: "The hash chain of a sealed transcript does not hold: it was changed after it was sealed.",
    level: Level::Error,
    page: include_str!("../../docs/rules/broken-link.md"),
    security_severity: Some("9.0"),
    suppressible: false,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    format!("the chain is broken: {}", finding.detail_text())
}
