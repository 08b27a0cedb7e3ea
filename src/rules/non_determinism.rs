//! The same call, another answer.

use super::seed_index::SeedOccurrence;
use super::{CallRule, DraftId, Memo, Occurrence, RuleState, Sink};
use crate::call::Call;
use crate::finding::{Finding, Level, Place, Rule};

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

/// The rule, as `audit` has it.
#[derive(Debug)]
pub struct NonDeterminism;

impl CallRule for NonDeterminism {
    fn rule(&self) -> &'static Rule {
        &NON_DETERMINISM
    }

    fn state(&self) -> Option<Box<dyn RuleState>> {
        Some(Box::new(State::default()))
    }
}

/// Findings of the turn that is being made: a call made at the same time may explain them.
#[derive(Debug, Default)]
struct State {
    turn: u64,
    open: Vec<(DraftId, Option<u64>)>,
}

impl RuleState for State {
    /// How grave it is depends on what stood between the call and the last identical one that was answered.
    fn observe(&mut self, call: &Call, _memo: Option<Memo>, before: &Occurrence, sink: &mut Sink<'_>) {
        if call.turn == 0 || call.turn != self.turn {
            self.turn = call.turn;
            self.open.clear();
        }
        if call.mutates() {
            // made at once with calls whose answers changed: it may be the reason, whatever the order in the file
            for (id, target) in &self.open {
                let explains = call.target.is_none() || target.is_none() || *target == call.target;
                if let Some(draft) = sink.draft(*id).filter(|_| explains) {
                    draft.level = Level::Note;
                }
            }
        }
        let Some(earlier) = before.answered else { return };
        if call.poll || call.varies || earlier.same_result != Some(false) {
            return;
        }
        let explained = earlier.changed || call.effect.changes_itself();
        if explained && !call.plain {
            return;
        }
        let apart = earlier.apart();
        let level = match () {
            () if explained || apart.is_some() => Level::Note,
            // files and commands are shared with people and other programs, whose doings are in no recording
            () if !call.plain && earlier.others => Level::Note,
            () if !call.plain || earlier.others => Level::Warning,
            () => Level::Error,
        };
        let id = sink.hit(call, level, Some(earlier.place));
        if let Some(draft) = sink.draft(id) {
            draft.detail = apart.map(Into::into);
        }
        if call.turn != 0 {
            self.open.push((id, call.target));
        }
    }
}

/// What `replay` says of a call: it is held against the first identical one. If a mutator stood between the two, or if
/// the call itself is one, the answer may rightly have changed.
pub(crate) fn seed(call: &SeedOccurrence) -> Option<(Level, Place)> {
    let first = call.first.filter(|first| !first.same_response)?;
    let level = if call.mutation_since_first {
        Level::Note
    } else if call.others_since_first {
        Level::Warning
    } else {
        Level::Error
    };
    Some((level, first.place))
}

fn message(finding: &Finding) -> String {
    let earlier = finding.related.map_or(0, |place| place.index);
    let tool = finding.tool_text();
    let apart = finding.detail.as_ref().map(|words| format!(" ({words})")).unwrap_or_default();
    format!("tool '{tool}' returned a different response than the identical call at index {earlier}{apart}")
}
