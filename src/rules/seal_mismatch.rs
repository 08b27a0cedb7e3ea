//! A transcript and the seal beside it that say different things.

use crate::finding::{Finding, Level, Rule};

/// `X.jsonl` is not what `X.sealed.jsonl` sealed. The detail says where they part.
pub static SEAL_MISMATCH: Rule = Rule {
    id: "seal-mismatch",
    summary: "A transcript is not what the sealed transcript beside it holds.",
    level: Level::Error,
    page: include_str!("../../docs/rules/seal-mismatch.md"),
    security_severity: Some("8.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    finding.detail_text().to_owned()
}
