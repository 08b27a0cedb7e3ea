//! What a revision is judged by, changed by that revision.

use crate::finding::{Finding, Level, Rule};

/// The scope file or the configuration differs from the base revision's. The detail says in which way.
pub static POLICY_CHANGED: Rule = Rule {
    id: "policy-changed",
    summary: "The scope file or the configuration was changed by the very revision it judges.",
    level: Level::Error,
    page: include_str!("../../docs/rules/policy-changed.md"),
    security_severity: Some("7.0"),
    suppressible: false,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
