//! A call that could not have learned anything new.

use super::{Hit, Occurrence};
use crate::finding::{Finding, Level, Rule};

/// A repeat of an identical call with no possible state change between the two.
pub static REDUNDANT_CALL: Rule = Rule {
    id: "redundant-call",
    summary: "An identical call was repeated although nothing can have changed in between.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/redundant-call.md"),
    security_severity: None,
    suppressible: true,
    precision: "high",
    message,
};

/// Any different call may change state, so only a call right behind its identical twin is redundant. It is no more than
/// a note if the tool itself changes state (running a command twice can be meant), or if the answer did change.
pub(super) fn judge(call: &Occurrence) -> Option<Hit> {
    let previous = call.right_before?;
    let level = if call.mutator || !previous.same_response { Level::Note } else { Level::Warning };
    Some(Hit { rule: &REDUNDANT_CALL, level, related: Some(previous.place) })
}

fn message(finding: &Finding) -> String {
    let previous = finding.related.map_or(0, |place| place.index);
    let tool = finding.tool_text();
    format!("tool '{tool}' repeats the identical call at index {previous} with no state change between them")
}
