//! The same call, another answer.

use super::{Hit, Occurrence};
use crate::finding::{Finding, Level, Rule};

/// A later identical call got a response that differs from the first one's.
pub static NON_DETERMINISM: Rule = Rule {
    id: "non-determinism",
    summary: "The same call returned a different response than before.",
    level: Level::Error,
    page: include_str!("../../docs/rules/non-determinism.md"),
    security_severity: None,
    suppressible: true,
    precision: "high",
    message,
};

/// How grave it is depends on what stood between the call and the first identical one: if a mutator did, or if the call
/// itself is one, the answer may rightly have changed.
pub(super) fn judge(call: &Occurrence) -> Option<Hit> {
    let first = call.first?;
    if first.same_response {
        return None;
    }
    let level = if call.mutation_since_first {
        Level::Note
    } else if call.others_since_first {
        Level::Warning
    } else {
        Level::Error
    };
    Some(Hit { rule: &NON_DETERMINISM, level, related: Some(first.place) })
}

fn message(finding: &Finding) -> String {
    let first = finding.related.map_or(0, |place| place.index);
    format!("tool '{}' returned a different response than the identical call at index {first}", finding.tool_text())
}
