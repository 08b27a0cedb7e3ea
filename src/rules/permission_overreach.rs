//! A call outside what the agent was declared to be allowed.

use crate::finding::{Finding, Level, Rule, TOOL_NAME};
use crate::sanitize::clip;

/// A tool was called that the scope does not list. The finding's detail is the agent's name.
pub static PERMISSION_OVERREACH: Rule = Rule {
    id: "permission-overreach",
    summary: "A tool was called that the agent's declared scope does not allow.",
    level: Level::Error,
    page: include_str!("../../docs/rules/permission-overreach.md"),
    security_severity: Some("8.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

fn message(finding: &Finding) -> String {
    // only a call that is known not to have run is less than an error
    let ran = if finding.level == Level::Error { "" } else { " (attempted: the call never ran)" };
    format!(
        "tool '{}' is not in the declared scope for agent '{}'{ran}",
        finding.tool_text(),
        clip(finding.detail_text(), TOOL_NAME)
    )
}
