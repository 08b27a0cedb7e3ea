//! An agent that goes round in circles.

use super::{Arguments, CallRule, DraftId, Memo, Needs, Occurrence, RuleState, Sink};
use crate::call::{Call, Effect, NotExecuted, Print, ResultState};
use crate::finding::{Finding, Level, Place, Rule};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Calls that repeat without getting anywhere. The finding's detail says which kind of loop it is.
pub static STUCK_LOOP: Rule = Rule {
    id: "stuck-loop",
    summary: "The same calls are made again and again with the same results, or fail again and again.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/stuck-loop.md"),
    security_severity: None,
    suppressible: true,
    precision: "high",
    message,
};

/// Calls of the longest cycle that is looked for.
const LONGEST: usize = 6;
/// Rounds of a cycle, and failures of the identical call, that make a loop.
const ROUNDS: usize = 3;
/// Failing calls to one target that make a loop.
const FAILURES: u64 = 5;
/// Calls in a row that differ in numbers alone, and are answered alike, that are worth a note.
const NUMBERED: u64 = 10;

/// The rule.
#[derive(Debug)]
pub struct StuckLoop;

impl CallRule for StuckLoop {
    fn rule(&self) -> &'static Rule {
        &STUCK_LOOP
    }

    fn needs(&self) -> Needs {
        Needs { comparison: true, arguments: true, ..Needs::default() }
    }

    /// Notes what the call is without its numbers.
    fn inspect_arguments(&self, call: &Arguments<'_>, _found: &mut Vec<super::Spot>) -> Option<Memo> {
        let text = call.arguments.text();
        let mut shape = Vec::with_capacity(text.len().min(1 << 12));
        let mut in_number = false;
        // arguments this long differ in more than numbers
        for byte in text.iter().take(1 << 16) {
            let digit = byte.is_ascii_digit();
            if !digit || !in_number {
                shape.push(if digit { b'0' } else { *byte });
            }
            in_number = digit;
        }
        let numbers = text.iter().any(u8::is_ascii_digit);
        let print = call.key.print_parts(&[call.literal, &shape]);
        let tool = call.key.print_parts(&[call.literal]);
        Some([if numbers { print.number() | 1 } else { print.number() & !1 }, tool.number()])
    }

    fn state(&self) -> Option<Box<dyn RuleState>> {
        Some(Box::new(State::default()))
    }
}

/// A call as cycles see it.
#[derive(Debug, Clone, Copy)]
struct Step {
    same: Print,
    result: Option<Print>,
    failed: bool,
    mutates: bool,
    poll: bool,
    turn: u64,
    place: Place,
}

impl Step {
    fn repeats(&self, other: &Step) -> bool {
        let at_once = self.turn != 0 && self.turn == other.turn;
        let same = self.same == other.same && self.failed == other.failed;
        same && !at_once && self.result.is_some() && self.result == other.result
    }
}

/// Failures of the identical call, or of calls to one target, with no success between.
#[derive(Debug, Default)]
struct Failures {
    places: Vec<Place>,
    count: u64,
    /// The turn of the last one, and how many turns they were made in: calls made at once cannot learn from each other.
    turn: u64,
    turns: u64,
    finding: Option<DraftId>,
}

impl Failures {
    fn add(&mut self, call: &Call) {
        self.count += 1;
        self.turns += u64::from(call.turn == 0 || call.turn != self.turn || self.count == 1);
        self.turn = call.turn;
        if self.places.len() < super::MOST_RELATED {
            self.places.push(call.place);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// The last calls, the newest last.
    recent: VecDeque<Step>,
    /// For each length of a cycle: how many calls in a row repeat the one that long before.
    matching: [usize; LONGEST + 1],
    /// The cycle that is being walked: its length and finding.
    cycle: Option<(usize, DraftId)>,
    failing: HashMap<Print, Failures>,
    /// By tool and target.
    targets: HashMap<(u64, u64), Failures>,
    /// Calls in a row that differ in numbers alone: their shape, result, places and finding.
    numbered: Option<Numbered>,
    words: u32,
    /// The call right before, if it was denied.
    denied: Option<(Print, Place)>,
    /// Findings about polls, by the poll: only one that still waits at the end is stuck.
    waiting: BTreeMap<Print, (DraftId, Option<Print>)>,
}

#[derive(Debug)]
struct Numbered {
    shape: u64,
    result: Print,
    places: Vec<Place>,
    count: u64,
    distinct: bool,
    last: Print,
    finding: Option<DraftId>,
}

impl RuleState for State {
    fn observe(&mut self, call: &Call, memo: Option<Memo>, before: &Occurrence, sink: &mut Sink<'_>) {
        if call.words != self.words {
            // somebody looked at it: what comes is a new attempt
            *self = State { words: call.words, waiting: std::mem::take(&mut self.waiting), ..State::default() };
        }
        let denied = self.denied.take();
        if !call.ran() {
            self.refused(call, denied, sink);
            return;
        }
        if let Some((id, result)) = self.waiting.get(&call.same)
            && *result != call.result
            && call.result.is_some()
        {
            if let Some(draft) = sink.draft(*id) {
                draft.withdrawn = true;
            }
            self.waiting.remove(&call.same);
        }
        let Some([shape, tool]) = memo.filter(|_| call.known) else { return };
        if call.failed && call.state.is_some() {
            // stopped because another call failed, or cut: not a failure of its own
            return;
        }
        // one call belongs to one loop
        let found = self.cycle(call, sink) || self.failure(call, sink) || self.target(call, tool, sink);
        if !found {
            self.numbers(call, shape, before, sink);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        for (id, _) in self.waiting.values() {
            if let Some(draft) = sink.draft(*id) {
                draft.withdrawn = false;
            }
        }
    }
}

impl State {
    /// A call that somebody denied, made again with no word between.
    fn refused(&mut self, call: &Call, denied: Option<(Print, Place)>, sink: &mut Sink<'_>) {
        let by_somebody = matches!(
            call.state,
            Some(ResultState::NotExecuted(NotExecuted::UserRejected | NotExecuted::PermissionDenied))
        );
        if !by_somebody || !call.known {
            return;
        }
        if let Some((_, place)) = denied.filter(|(same, _)| *same == call.same) {
            let id = sink.hit(call, Level::Note, Some(place));
            if let Some(draft) = sink.draft(id) {
                draft.detail = Some("was denied, and made again at once with no word between".into());
            }
        }
        self.denied = Some((call.same, call.place));
    }

    /// The same cycle of calls with the same results, three times running.
    fn cycle(&mut self, call: &Call, sink: &mut Sink<'_>) -> bool {
        let step = Step {
            same: call.same,
            result: call.result,
            failed: call.failed,
            mutates: call.mutates(),
            poll: call.poll,
            turn: call.turn,
            place: call.place,
        };
        for length in 1..=LONGEST {
            let earlier = self.recent.len().checked_sub(length).and_then(|at| self.recent.get(at));
            let repeats = earlier.is_some_and(|earlier| step.repeats(earlier));
            self.matching[length] = if repeats { self.matching[length] + 1 } else { 0 };
        }
        self.recent.push_back(step);
        if self.recent.len() > LONGEST * ROUNDS {
            self.recent.pop_front();
        }
        if let Some((length, id)) = self.cycle {
            if self.matching[length] > 0 {
                if let Some(draft) = sink.draft(id) {
                    draft.add(call.place);
                }
                return true;
            }
            self.cycle = None;
        }
        let Some(length) = (1..=LONGEST).find(|length| self.matching[*length] >= length * (ROUNDS - 1)) else {
            return false;
        };
        let calls = self.recent.len() - length * ROUNDS;
        let round: Vec<Step> = self.recent.iter().skip(self.recent.len() - length).copied().collect();
        let fails = round.iter().any(|step| step.failed);
        if round.iter().any(|step| step.mutates && !step.failed) && !fails {
            return false;
        }
        if length == 1 && !fails && !round[0].poll {
            // that the call could not have learned anything new is the rule redundant-call's to say
            return false;
        }
        let places: Vec<Place> = self.recent.iter().skip(calls).map(|step| step.place).collect();
        let id = sink.hit(call, Level::Warning, places.first().copied());
        let polls = round.iter().all(|step| step.poll);
        if let Some(draft) = sink.draft(id) {
            draft.others = places[1..places.len() - 1].to_vec();
            draft.count = places.len() as u64;
            draft.detail = Some(match (length, fails) {
                (1, true) => "fails again and again in the same way".into(),
                (1, false) => "gets the same answer again and again".into(),
                (_, true) => {
                    format!("ends a cycle of {length} calls that goes round with the same results, and fails").into()
                }
                (_, false) => format!("ends a cycle of {length} calls that goes round with the same results").into(),
            });
            draft.withdrawn = polls;
        }
        if polls {
            self.waiting.insert(call.same, (id, call.result));
        }
        self.cycle = Some((length, id));
        true
    }

    /// The identical call that fails again with nothing changed between.
    fn failure(&mut self, call: &Call, sink: &mut Sink<'_>) -> bool {
        if call.mutates() && !call.failed {
            // whatever failed before may work now
            self.failing.clear();
        }
        if !call.failed {
            self.failing.remove(&call.same);
            return false;
        }
        if call.varies || call.poll {
            return false;
        }
        let failures = self.failing.entry(call.same).or_default();
        failures.add(call);
        extend(failures, call, ROUNDS as u64, "fails again and again, and nothing was changed between", sink)
    }

    /// Calls to one target that all fail.
    fn target(&mut self, call: &Call, tool: u64, sink: &mut Sink<'_>) -> bool {
        let Some(target) = call.target else { return false };
        if !call.failed {
            self.targets.remove(&(tool, target));
            return false;
        }
        let failures = self.targets.entry((tool, target)).or_default();
        failures.add(call);
        extend(failures, call, FAILURES, "fails again and again on the same target", sink)
    }

    /// Calls in a row that differ in numbers alone and are answered alike.
    fn numbers(&mut self, call: &Call, shape: u64, before: &Occurrence, sink: &mut Sink<'_>) {
        let Some(result) = call.result.filter(|_| shape & 1 == 1 && !call.poll && call.effect != Effect::Session)
        else {
            self.numbered = None;
            return;
        };
        match &mut self.numbered {
            Some(row) if row.shape == shape && row.result == result => {
                row.count += 1;
                row.distinct &= row.last != call.same && !before.adjacent;
                row.last = call.same;
                if row.places.len() < super::MOST_RELATED {
                    row.places.push(call.place);
                }
                if let Some(draft) = row.finding.and_then(|id| sink.draft(id)) {
                    draft.add(call.place);
                } else if row.count == NUMBERED && row.distinct {
                    let id = sink.hit(call, Level::Note, row.places.first().copied());
                    row.finding = Some(id);
                    if let Some(draft) = sink.draft(id) {
                        draft.others = row.places[1..row.places.len() - 1].to_vec();
                        draft.count = row.count;
                        draft.detail = Some("is made again and again with other numbers, and answered alike".into());
                    }
                }
            }
            row => {
                *row = Some(Numbered {
                    shape,
                    result,
                    places: vec![call.place],
                    count: 1,
                    distinct: true,
                    last: call.same,
                    finding: None,
                });
            }
        }
    }
}

/// Goes on with the finding about a series of failures, or makes it when there are enough. Whether there is one.
fn extend(failures: &mut Failures, call: &Call, enough: u64, words: &'static str, sink: &mut Sink<'_>) -> bool {
    if let Some(draft) = failures.finding.and_then(|id| sink.draft(id)) {
        draft.add(call.place);
        return true;
    }
    if failures.count < enough || failures.turns < ROUNDS as u64 {
        return false;
    }
    let id = sink.hit(call, Level::Warning, failures.places.first().copied());
    failures.finding = Some(id);
    if let Some(draft) = sink.draft(id) {
        draft.others = failures.places[1..failures.places.len() - 1].to_vec();
        draft.count = failures.count;
        draft.detail = Some(words.into());
    }
    true
}

fn message(finding: &Finding) -> String {
    let first = finding.related.map_or(0, |place| place.index);
    let (tool, how) = (finding.tool_text(), finding.detail_text());
    let count =
        if finding.count > 0 { format!(": {} calls since index {first}", finding.count) } else { String::new() };
    format!("tool '{tool}' {how}{count}")
}
