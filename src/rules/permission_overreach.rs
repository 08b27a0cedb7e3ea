//! A call outside what the agent was declared to be allowed.

use crate::finding::{Finding, Level, Rule};

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
    format!("tool '{}' is not in the declared scope for agent '{}'", finding.tool_text(), finding.detail_text())
}
