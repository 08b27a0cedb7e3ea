//! A call outside what the agent was declared to be allowed.

use super::{Arguments, CallRule, Memo, Needs, Spot};
use crate::call::Call;
use crate::finding::{Finding, Level, Rule, TOOL_NAME};
use crate::sanitize::clip;
use crate::scope::Scope;
use std::sync::Arc;

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

/// The rule, with what the agent may call.
#[derive(Debug)]
pub struct Overreach {
    scope: Scope,
}

impl Overreach {
    /// The rule for a scope.
    #[must_use]
    pub fn new(scope: Scope) -> Overreach {
        Overreach { scope }
    }
}

impl CallRule for Overreach {
    fn rule(&self) -> &'static Rule {
        &PERMISSION_OVERREACH
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, found: &mut Vec<Spot>) -> Option<Memo> {
        if !self.scope.allowed_tools.contains(call.literal) {
            let detail = Arc::clone(&self.scope.agent);
            found.push(Spot { level: Level::Error, detail, pattern: None, argument: None });
        }
        None
    }

    /// Of a call that never ran, the agent asked and did not get it.
    fn settle(&self, spot: &Spot, call: &Call) -> Option<Level> {
        Some(if call.ran() { spot.level } else { Level::Warning })
    }
}

fn message(finding: &Finding) -> String {
    let ran = if finding.never_ran { " (attempted: the call never ran)" } else { "" };
    format!(
        "tool '{}' is not in the declared scope for agent '{}'{ran}",
        finding.tool_text(),
        clip(finding.detail_text(), TOOL_NAME)
    )
}
