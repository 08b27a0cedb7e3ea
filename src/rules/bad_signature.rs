//! A signature that does not vouch for the seal it stands beside.

use crate::finding::{Finding, Level, Rule};

/// What stands beside a sealed transcript does not fit it, or nobody who is trusted signed it. The detail says why.
pub static BAD_SIGNATURE: Rule = Rule {
    id: "bad-signature",
    summary: "What is signed about a sealed transcript is not what it is, or no trusted key signed it.",
    level: Level::Error,
    page: include_str!("../../docs/rules/bad-signature.md"),
    security_severity: Some("9.0"),
    suppressible: false,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
