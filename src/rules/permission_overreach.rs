//! A call outside what the agent was declared to be allowed.

use super::{Arguments, CallRule, Memo, Needs, Spot};
use crate::call::Call;
use crate::finding::{Finding, Level, Rule, TOOL_NAME};
use crate::sanitize::clip;
use crate::scope::{Applied, Overreach as Verdict, PolicyCall, Reason, Verdict as Judged};
use crate::secrets;
use std::sync::Arc;

/// A tool was called that the scope does not list, or with arguments that it does not allow. The finding's detail is the
/// agent's name for a scope of version 1, and a [`Decision`] for one of version 2, whose pattern is the reason.
pub static PERMISSION_OVERREACH: Rule = Rule {
    id: "permission-overreach",
    summary: "A tool was called, or called with arguments, that the agent's declared scope does not allow.",
    level: Level::Error,
    page: include_str!("../../docs/rules/permission-overreach.md"),
    security_severity: Some("8.0"),
    suppressible: true,
    precision: "very-high",
    message,
};

/// The name under which a file with several agents has the lists of a session's own agent.
pub const MAIN_AGENT: &str = "main";

/// The rule, with what the agent may call.
#[derive(Debug)]
pub struct Overreach {
    scope: Arc<Applied>,
}

impl Overreach {
    /// The rule for a scope.
    #[must_use]
    pub fn new(scope: Arc<Applied>) -> Overreach {
        Overreach { scope }
    }

    fn found(&self, call: &Arguments<'_>, overreach: &Verdict) -> Spot {
        let decision = Decision::of(&self.scope.policy, overreach);
        Spot {
            pattern: Some(overreach.reason.name()),
            argument: (!overreach.pointer.is_empty()).then(|| (call.locate)(&overreach.pointer)).flatten(),
            ..Spot::new(Level::Error, decision.write())
        }
    }
}

impl CallRule for Overreach {
    fn rule(&self) -> &'static Rule {
        &PERMISSION_OVERREACH
    }

    fn needs(&self) -> Needs {
        Needs { arguments: self.scope.policy.version > 1, ..Needs::default() }
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, found: &mut Vec<Spot>) -> Option<Memo> {
        let Applied { policy, tally, .. } = &*self.scope;
        if policy.version == 1 {
            if !policy.has_name(call.literal, tally) {
                found.push(Spot::new(Level::Error, policy.agent.as_deref().unwrap_or_default()));
            }
            return None;
        }
        let judged = judged(&self.scope, call);
        if call.agents.is_some() || !policy.tells_agents_apart() {
            if let Judged::Overreach(overreach) = policy.judge(&judged, tally) {
                found.push(self.found(call, &overreach));
            }
            return None;
        }
        // what is allowed by some lists is noted as well: their entries count only if it is these that apply
        let mut allowed = Vec::new();
        for (candidate, verdict) in policy.judge_each(&judged) {
            match verdict {
                Judged::Allowed(_) => allowed.push(candidate),
                Judged::Overreach(overreach) => {
                    found.push(Spot { lists: vec![candidate], ..self.found(call, &overreach) });
                }
            }
        }
        if !allowed.is_empty() {
            found.push(Spot { lists: allowed, ..Spot::new(Level::Note, ALLOWED) });
        }
        None
    }

    fn part<'s>(&self, spot: &'s Spot) -> &'s str {
        spot.detail.rsplit(BETWEEN).next().filter(|_| spot.pattern.is_some()).unwrap_or_default()
    }

    /// Of a call that never ran, the agent asked and did not get it.
    fn settle(&self, spot: &Spot, call: &Call, agents: &[&str]) -> Option<Level> {
        if !spot.lists.is_empty() {
            let chosen = spot.lists.iter().find(|lists| self.scope.policy.chooses(lists, agents))?;
            self.scope.tally.take(chosen);
            if &*spot.detail == ALLOWED {
                return None;
            }
        }
        Some(if call.ran() { spot.level } else { Level::Warning })
    }
}

/// The detail of what is no finding. That of one holds at least what parts its fields.
const ALLOWED: &str = "allowed";

/// A call as scopes of version 2 judge it.
pub(super) fn judged<'a>(scope: &'a Applied, call: &'a Arguments<'a>) -> PolicyCall<'a> {
    PolicyCall {
        agents: call.agents.unwrap_or(call.agent.as_slice()),
        tool: call.tool,
        arguments: call.arguments.text(),
        cwd: call.cwd,
        home: scope.home.as_deref(),
        ..PolicyCall::default()
    }
}

/// The names under which a scope may have lists for an agent, the most specific first. What a recording calls an agent,
/// by a name or a kind, decides; an id names nobody, so that an agent of which no more is known falls to the lists of the one
/// that started it, whose names are `parent`.
#[must_use]
pub fn agent_names(id: Option<&str>, kinds: &[String], parent: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if let Some(id) = id {
        names.push(id.to_owned());
        names.extend(id.split_once(':').map(|(_, own)| own.to_owned()).filter(|own| !own.is_empty()));
    }
    if !kinds.is_empty() {
        names.extend_from_slice(kinds);
    } else if parent.is_empty() {
        names.push(MAIN_AGENT.to_owned());
    } else {
        names.extend_from_slice(parent);
    }
    names
}

/// What decided on a call, as findings carry it: safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The entry that decided or came closest, as its place in the scope file.
    pub entry: Option<String>,
    /// Why that is there, as the file says.
    pub why: Option<String>,
    /// The part of the call that broke it, secrets masked.
    pub part: String,
}

/// Parts the fields of a decision in a finding's detail. No field holds it.
const BETWEEN: char = '\u{1f}';

impl Decision {
    /// The decision on a call that a policy does not allow.
    #[must_use]
    pub fn of(policy: &crate::scope::Policy, overreach: &Verdict) -> Decision {
        let entry = overreach.entry.and_then(|place| policy.entries().get(place));
        Decision {
            entry: entry.map(|entry| entry.place.clone()),
            why: entry.and_then(|entry| entry.why.clone()),
            part: without_secrets(&overreach.part),
        }
    }

    /// The decision that a finding carries.
    #[must_use]
    pub fn read(finding: &Finding) -> Option<Decision> {
        if finding.rule.id != PERMISSION_OVERREACH.id || finding.pattern.is_none() {
            return None;
        }
        let mut fields = finding.detail_text().splitn(3, BETWEEN).map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let (entry, why, part) = (next(), next(), next());
        let some = |text: String| (!text.is_empty()).then_some(text);
        Some(Decision { entry: some(entry), why: some(why), part })
    }

    fn write(&self) -> String {
        let field = |text: Option<&String>| text.map_or_else(String::new, |text| text.replace(BETWEEN, " "));
        format!("{}{BETWEEN}{}{BETWEEN}{}", field(self.entry.as_ref()), field(self.why.as_ref()), self.part)
    }
}

/// A text with whatever is shaped like a secret taken out.
fn without_secrets(text: &str) -> String {
    let mut shown = text.to_owned();
    for found in secrets::find_shapes(text.as_bytes()).iter().rev() {
        if shown.get(found.range.clone()).is_some() {
            shown.replace_range(found.range.clone(), secrets::MASK);
        }
    }
    shown
}

/// How much of a part and of a why a message shows, in characters.
const SHOWN: usize = 160;

fn message(finding: &Finding) -> String {
    let ran = if finding.never_ran { " (attempted: the call never ran)" } else { "" };
    let tool = finding.tool_text();
    let Some(decision) = Decision::read(finding) else {
        return format!(
            "tool '{tool}' is not in the declared scope for agent '{}'{ran}",
            clip(finding.detail_text(), TOOL_NAME)
        );
    };
    let part = clip(&decision.part, SHOWN).into_owned();
    let entry = decision.entry.as_deref().unwrap_or("no entry");
    let why = decision.why.as_deref().map_or_else(String::new, |why| format!(" ({})", clip(why, SHOWN)));
    let reason = finding.pattern.unwrap_or_default();
    let said = if reason == Reason::Denied.name() {
        format!("tool '{tool}' is denied by {entry}{why}: {part}")
    } else if reason == Reason::NotProven.name() {
        format!("tool '{tool}' cannot be proven to be in scope by {entry}{why}: {part}")
    } else if reason == Reason::AgentNotListed.name() {
        format!("tool '{tool}' was called by agent '{part}', for which the scope has no lists")
    } else if decision.entry.is_some() {
        format!("tool '{tool}' is not in the declared scope, nearest is {entry}{why}: {part}")
    } else {
        format!("tool '{tool}' is not in the declared scope")
    };
    said + ran
}
