//! What the rules remember of calls whose recording says more than four fields can: which calls were made at once,
//! which never ran, which answers are not the tool's whole answer.
//!
//! Where something is not known, nothing is claimed: an answer that is missing is neither equal to another nor
//! different from it, and a tool that nobody described may have changed anything.

use super::history::Print;
use super::{Hit, NON_DETERMINISM, REDUNDANT_CALL};
use crate::finding::{Level, Place};
use std::collections::HashMap;

/// One call, as the history takes it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourcedStep {
    pub(crate) place: Place,
    /// The print of `args` and `tool`.
    pub(crate) call: Print,
    /// The print of the tool's whole answer; none where that is not known.
    pub(crate) response: Option<Print>,
    /// Whether the call ran, as far as the recording tells.
    pub(crate) ran: bool,
    pub(crate) failed: bool,
    /// Whether it may have changed what other calls see.
    pub(crate) mutator: bool,
    /// Whether the call asks how far something is.
    pub(crate) poll: bool,
    /// Whether it changes the agent's own plan or notes, which nobody else sees.
    pub(crate) own_state: bool,
    /// Whether what it was called with is known; else it is like no other call.
    pub(crate) known: bool,
    /// Stands for the turn of the model the call was made in; 0: alone.
    pub(crate) turn: u64,
    /// The index of the last call of the turn.
    pub(crate) turn_end: u64,
    /// Whether any call of the turn may have changed something.
    pub(crate) turn_mutates: bool,
}

/// What came of a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourcedJudgement {
    /// Sorted by rule id.
    pub(crate) hits: Vec<Hit>,
    /// Whether its answer was compared with an earlier one.
    pub(crate) compared: bool,
    /// Whether there is an identical call before it with which it could not be compared.
    pub(crate) unknown: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The first call that ran and did not fail, and its answer.
    first: Option<(Place, Print)>,
    /// The last call that ran.
    last: SourcedStep,
}

/// The calls of one conversation so far.
#[derive(Debug, Default)]
pub(crate) struct SourcedHistory {
    entries: HashMap<Print, Entry>,
    /// Up to which index calls that may have changed something reach: those of a turn reach to its end.
    mutated_until: Option<u64>,
    /// From which index on all calls are identical to the last one.
    run_start: u64,
    previous: Option<Print>,
}

impl SourcedHistory {
    /// Takes in the next call and judges it.
    pub(crate) fn observe(&mut self, step: SourcedStep) -> SourcedJudgement {
        let index = step.place.index;
        let mut judgement = SourcedJudgement::default();
        if step.turn_mutates || step.mutator {
            self.mutated_until = self.mutated_until.max(Some(if step.turn == 0 { index } else { step.turn_end }));
        }
        if !step.ran || !step.known {
            return judgement;
        }
        let changes = step.mutator || step.own_state;
        let adjacent = self.previous == Some(step.call);
        if !adjacent {
            self.run_start = index;
        }
        self.previous = Some(step.call);
        let Some(entry) = self.entries.get_mut(&step.call) else {
            let first = step.first();
            self.entries.insert(step.call, Entry { first, last: step });
            return judgement;
        };
        let answered = step.response.filter(|_| !step.failed);
        match (entry.first, answered) {
            (Some((place, before)), Some(now)) => {
                judgement.compared = true;
                if before != now && !step.poll {
                    let mutated = changes || self.mutated_until >= Some(place.index);
                    let level = match mutated {
                        true => Level::Note,
                        false if self.run_start > place.index => Level::Warning,
                        false => Level::Error,
                    };
                    judgement.hits.push(Hit { rule: &NON_DETERMINISM, level, related: Some(place) });
                }
            }
            (Some(_), None) | (None, Some(_)) => judgement.unknown = !step.failed && !entry.last.failed,
            (None, None) => judgement.unknown = !step.failed,
        }
        let last = entry.last;
        let same = last.response.zip(step.response).map(|(before, now)| before == now);
        let at_once = step.turn != 0 && last.turn == step.turn;
        let unchanged = if changes { adjacent } else { self.mutated_until < Some(last.place.index) };
        let fails = step.failed || last.failed;
        let redundant = !fails && if at_once { same != Some(false) } else { unchanged && same == Some(true) };
        if redundant {
            let unsure = changes || step.poll || same.is_none();
            let level = if unsure { Level::Note } else { Level::Warning };
            judgement.hits.push(Hit { rule: &REDUNDANT_CALL, level, related: Some(last.place) });
        }
        entry.first = entry.first.or(step.first());
        entry.last = step;
        judgement
    }
}

impl SourcedStep {
    fn first(&self) -> Option<(Place, Print)> {
        self.response.filter(|_| !self.failed).map(|response| (self.place, response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Key;

    fn step(key: &Key, index: u64, call: &str, answer: Option<&str>) -> SourcedStep {
        SourcedStep {
            place: Place { index, line: index + 1 },
            call: key.print_parts(&[call.as_bytes()]),
            response: answer.map(|answer| key.print_parts(&[answer.as_bytes()])),
            ran: true,
            failed: false,
            mutator: false,
            poll: false,
            own_state: false,
            known: true,
            turn: 0,
            turn_end: index,
            turn_mutates: false,
        }
    }

    fn found(steps: &[SourcedStep]) -> Vec<(u64, &'static str, Level)> {
        let mut history = SourcedHistory::default();
        let mut all = Vec::new();
        for step in steps {
            let judgement = history.observe(*step);
            all.extend(judgement.hits.iter().map(|hit| (step.place.index, hit.rule.id, hit.level)));
        }
        all
    }

    #[test]
    fn reads_between_change_nothing_and_unknown_tools_may() {
        let key = Key::random();
        let read = |index| step(&key, index, "read a", Some("x"));
        let other = step(&key, 1, "read b", Some("y"));
        assert_eq!(found(&[read(0), other, read(2)]), [(2, "redundant-call", Level::Warning)]);
        assert_eq!(found(&[read(0), SourcedStep { mutator: true, turn_mutates: true, ..other }, read(2)]), []);
        let rejected = SourcedStep { ran: false, ..other };
        assert_eq!(found(&[read(0), rejected, read(2)]), [(2, "redundant-call", Level::Warning)]);
    }

    #[test]
    fn a_retry_and_a_missing_answer_prove_nothing() {
        let key = Key::random();
        let failed = SourcedStep { failed: true, ..step(&key, 0, "read a", Some("no such file")) };
        assert_eq!(found(&[failed, step(&key, 1, "read a", Some("x"))]), []);
        assert_eq!(found(&[step(&key, 0, "read a", None), step(&key, 1, "read a", Some("x"))]), []);
        let rejected = SourcedStep { ran: false, ..step(&key, 0, "read a", Some("rejected")) };
        assert_eq!(found(&[rejected, step(&key, 1, "read a", Some("x"))]), []);
    }

    #[test]
    fn calls_of_one_turn_have_nothing_between_them() {
        let key = Key::random();
        let at = |index, call, answer| SourcedStep {
            turn: 7,
            turn_end: 2,
            turn_mutates: true,
            ..step(&key, index, call, answer)
        };
        let edit = SourcedStep { mutator: true, ..at(1, "edit", Some("done")) };
        let steps = [at(0, "read a", Some("x")), edit, at(2, "read a", Some("x"))];
        assert_eq!(found(&steps), [(2, "redundant-call", Level::Warning)]);
        // what ran beside it may have changed the answer, whatever the order in the file
        let steps = [
            at(0, "read a", Some("x")),
            at(1, "read a", Some("y")),
            SourcedStep { mutator: true, ..at(2, "edit", None) },
        ];
        assert_eq!(found(&steps), [(1, "non-determinism", Level::Note)]);
    }

    #[test]
    fn answers_that_change_are_graded_by_what_stood_between() {
        let key = Key::random();
        let other = step(&key, 1, "read b", Some("y"));
        let first = step(&key, 0, "read a", Some("x"));
        assert_eq!(found(&[first, step(&key, 1, "read a", Some("z"))]), [(1, "non-determinism", Level::Error)]);
        assert_eq!(
            found(&[first, other, step(&key, 2, "read a", Some("z"))]),
            [(2, "non-determinism", Level::Warning)]
        );
        let poll = |index, answer| SourcedStep { poll: true, ..step(&key, index, "output", Some(answer)) };
        assert_eq!(found(&[poll(0, "1 %"), poll(1, "2 %"), poll(2, "3 %")]), []);
        assert_eq!(found(&[poll(0, "1 %"), poll(1, "1 %")]), [(1, "redundant-call", Level::Note)]);
    }

    #[test]
    fn what_is_not_known_is_like_nothing_else() {
        let key = Key::random();
        let read = |index| SourcedStep { known: false, ..step(&key, index, "read", Some("x")) };
        assert_eq!(found(&[read(0), read(1)]), []);
    }

    #[test]
    fn a_plan_changes_its_own_answers_and_no_others() {
        let key = Key::random();
        let plan = |index, answer| SourcedStep { own_state: true, ..step(&key, index, "plan", Some(answer)) };
        assert_eq!(found(&[plan(0, "sure?"), plan(1, "done")]), [(1, "non-determinism", Level::Note)]);
        let read = |index| step(&key, index, "read a", Some("x"));
        assert_eq!(found(&[read(0), plan(1, "done"), read(2)]), [(2, "redundant-call", Level::Warning)]);
    }

    #[test]
    fn a_command_run_twice_in_a_row_is_no_more_than_a_note() {
        let key = Key::random();
        let run = |index, answer| SourcedStep {
            mutator: true,
            turn_mutates: true,
            ..step(&key, index, "make", Some(answer))
        };
        assert_eq!(found(&[run(0, "ok"), run(1, "ok")]), [(1, "redundant-call", Level::Note)]);
        assert_eq!(found(&[run(0, "ok"), step(&key, 1, "read a", Some("x")), run(2, "ok")]), []);
    }
}
