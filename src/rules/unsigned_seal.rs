//! A sealed transcript that nobody vouches for, where somebody must.

use crate::finding::{Finding, Level, Rule};

/// A signature is required, and there is none that could be checked. The detail says what is missing.
pub static UNSIGNED_SEAL: Rule = Rule {
    id: "unsigned-seal",
    summary: "A sealed transcript has no signature, where one is required or was there before.",
    level: Level::Error,
    page: include_str!("../../docs/rules/unsigned-seal.md"),
    security_severity: Some("8.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
