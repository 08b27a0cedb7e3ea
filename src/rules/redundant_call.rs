//! A call that could not have learned anything new.

use super::seed_index::SeedOccurrence;
use super::{CallRule, DraftId, Memo, Occurrence, RuleState, Sink};
use crate::call::{Call, Effect};
use crate::finding::{Finding, Level, Place, Rule};
use std::collections::HashMap;

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

/// The rule, as `audit` has it.
#[derive(Debug)]
pub struct RedundantCall;

impl CallRule for RedundantCall {
    fn rule(&self) -> &'static Rule {
        &REDUNDANT_CALL
    }

    fn state(&self) -> Option<Box<dyn RuleState>> {
        Some(Box::new(State::default()))
    }
}

#[derive(Debug, Default)]
struct State {
    /// The finding that a series of repeats has, by the index of the series' last call.
    series: HashMap<u64, DraftId>,
}

impl RuleState for State {
    fn observe(&mut self, call: &Call, _memo: Option<Memo>, before: &Occurrence, sink: &mut Sink<'_>) {
        let Some(last) = before.last else { return };
        if call.failed || last.failed || !call.ran() {
            return;
        }
        let series = self.series.remove(&last.place.index);
        let own = call.effect.changes_itself();
        let unchanged = match call.effect {
            Effect::Undeclared => !last.disturbed,
            _ if own => before.adjacent,
            _ => !last.changed,
        };
        // a transcript's own rule: right behind an identical one a call is redundant, whatever it was answered
        let plain = call.plain && before.adjacent;
        let redundant = match last.at_once {
            true => last.same_result != Some(false),
            false => unchanged && (last.same_result == Some(true) || plain && last.same_result.is_some()),
        };
        if !redundant {
            return;
        }
        let apart = last.apart();
        let unsure = own || call.poll || call.varies || last.same_result != Some(true) || apart.is_some();
        let level = if unsure { Level::Note } else { Level::Warning };
        let id = match series.filter(|id| sink.draft(*id).is_some_and(|draft| draft.level == level)) {
            Some(id) => {
                if let Some(draft) = sink.draft(id) {
                    if draft.count == 0 {
                        draft.count = 2;
                    }
                    draft.add(call.place);
                }
                id
            }
            None => {
                let id = sink.hit(call, level, Some(last.place));
                if let Some(draft) = sink.draft(id) {
                    draft.detail = apart.map(Into::into);
                }
                id
            }
        };
        self.series.insert(call.place.index, id);
    }
}

/// What `replay` says of a call: any different call may change state, so only a call right behind an identical call is
/// redundant. It is no more than a note if the tool itself changes state (running a command twice can be meant), or if the
/// answer did change.
pub(crate) fn seed(call: &SeedOccurrence) -> Option<(Level, Place)> {
    let previous = call.right_before?;
    let level = if call.mutator || !previous.same_response { Level::Note } else { Level::Warning };
    Some((level, previous.place))
}

fn message(finding: &Finding) -> String {
    let previous = finding.related.map_or(0, |place| place.index);
    let tool = finding.tool_text();
    let apart = finding.detail.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
    let times = if finding.count > 2 { format!(", {} times in all", finding.count) } else { String::new() };
    format!(
        "tool '{tool}' repeats the identical call at index {previous} with no state change between them{times}{apart}"
    )
}
