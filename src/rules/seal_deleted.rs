//! A sealed transcript that the base revision has and the audited one has not.

use crate::finding::{Finding, Level, Rule};

/// The file is gone, or was moved where nothing is audited. The detail says what it held.
pub static SEAL_DELETED: Rule = Rule {
    id: "seal-deleted",
    summary: "A sealed transcript of the base revision is gone, or was moved out of what is audited.",
    level: Level::Error,
    page: include_str!("../../docs/rules/seal-deleted.md"),
    security_severity: Some("8.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    format!("the sealed transcript of the base revision {}", finding.detail_text())
}
