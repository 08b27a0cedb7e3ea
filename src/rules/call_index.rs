//! Which identical calls came before, within one agent's context, and what changed since: remembered once for all rules.

use crate::call::{Call, Effect, Print};
use crate::finding::Place;
use std::collections::HashMap;

/// An identical call that came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// Where it stands.
    pub place: Place,
    /// Whether its result was the same; none where one of the two is not known.
    pub same_result: Option<bool>,
    /// Whether it failed.
    pub failed: bool,
    /// Whether something changed since that the call may see.
    pub changed: bool,
    /// Whether a different call came since that may have changed something, however unlikely.
    pub disturbed: bool,
    /// Whether any different call came since.
    pub others: bool,
    /// Whether both were made in the same turn.
    pub at_once: bool,
    /// Whether the context was compacted or reset since.
    pub compacted: bool,
    /// Whether a person said something since.
    pub spoken: bool,
}

impl Earlier {
    /// What stands between the two that gives a reason to ask again, in words.
    #[must_use]
    pub fn apart(&self) -> Option<&'static str> {
        if self.compacted {
            Some("the context was compacted or reset in between")
        } else if self.spoken {
            Some("a person wrote in between")
        } else {
            None
        }
    }
}

/// A call with what the rules may know of the identical calls before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Occurrence {
    /// The last identical call that ran.
    pub last: Option<Earlier>,
    /// The last identical call that did not fail and whose whole result is known.
    pub answered: Option<Earlier>,
    /// Whether the call right before it in its context is identical.
    pub adjacent: bool,
    /// There is an identical call before it with which it could not be compared.
    pub unknown: bool,
}

impl Occurrence {
    /// Whether its result was held against another one.
    #[must_use]
    pub fn compared(&self) -> bool {
        self.answered.is_some_and(|earlier| earlier.same_result.is_some())
    }
}

/// What is remembered of one call.
#[derive(Debug, Clone, Copy)]
struct Seen {
    place: Place,
    result: Option<Print>,
    failed: bool,
    turn: u64,
    epoch: u32,
    words: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    last: Seen,
    answered: Option<Seen>,
}

/// The calls of one agent's context so far.
#[derive(Debug, Default)]
pub struct CallIndex {
    entries: HashMap<Print, Entry>,
    previous: Option<Print>,
    /// From which index on all calls are identical to the last one.
    run_start: u64,
}

/// When what calls see was changed last, by what was changed: by any agent, for they share their files.
#[derive(Debug, Default)]
pub struct Changes {
    /// By a call that may have changed anything.
    anywhere: Option<u64>,
    /// By a call that changed one file: the last of them all, and the last for each file.
    some_file: Option<u64>,
    files: HashMap<u64, u64>,
    /// The last call that may have changed something, however unlikely, and the last one that is not identical to it.
    disturbance: Option<(u64, Print)>,
    other_disturbance: Option<u64>,
    /// The turn that is being made, and what its calls change: they were made at once, in whatever order they stand.
    turn: u64,
    of_turn: Vec<Option<u64>>,
}

impl Changes {
    fn note(&mut self, target: Option<u64>, index: u64) {
        match target {
            None => self.anywhere = Some(index),
            Some(file) => {
                self.some_file = Some(index);
                self.files.insert(file, index);
            }
        }
    }

    /// Takes in the next call of any agent.
    pub fn take(&mut self, call: &Call) {
        if call.turn == 0 || call.turn != self.turn {
            self.turn = call.turn;
            self.of_turn.clear();
        }
        if call.mutates() {
            self.of_turn.push(call.target);
        }
        // what the calls of a turn change reaches to its end
        for at in 0..self.of_turn.len() {
            self.note(self.of_turn[at], call.place.index);
        }
        if call.ran() && call.effect.may_change_others() && !call.without_effect {
            match &mut self.disturbance {
                Some((index, same)) if *same == call.same => *index = call.place.index,
                last => {
                    self.other_disturbance = last.map(|(index, _)| index);
                    *last = Some((call.place.index, call.same));
                }
            }
        }
    }

    /// Whether something that a call may see changed at or behind an index.
    fn since(&self, target: Option<u64>, index: u64) -> bool {
        let near = match target {
            None => self.some_file,
            Some(file) => self.files.get(&file).copied(),
        };
        self.anywhere.max(near) >= Some(index)
    }

    /// Whether a call that is not identical may have changed something behind an index.
    fn disturbed_since(&self, same: Print, index: u64) -> bool {
        let last = match self.disturbance {
            Some((_, own)) if own == same => self.other_disturbance,
            Some((last, _)) => Some(last),
            None => None,
        };
        last > Some(index)
    }
}

impl CallIndex {
    /// Takes in the context's next call, when the changes know it, and says what came before it.
    pub fn observe(&mut self, call: &Call, changes: &Changes) -> Occurrence {
        let mut before = Occurrence::default();
        if !call.ran() || !call.known {
            return before;
        }
        before.adjacent = self.previous == Some(call.same);
        if !before.adjacent {
            self.run_start = call.place.index;
        }
        self.previous = Some(call.same);
        let mut seen = Seen {
            place: call.place,
            result: call.result,
            failed: call.failed,
            turn: call.turn,
            epoch: call.epoch,
            words: call.words,
        };
        let Some(entry) = self.entries.get_mut(&call.same) else {
            let answered = Some(seen).filter(|seen| seen.result.is_some() && !seen.failed);
            self.entries.insert(call.same, Entry { last: seen, answered });
            return before;
        };
        if call.unchanged {
            // it says itself that its answer is the one before
            seen.result = entry.answered.and_then(|answered| answered.result);
        }
        let run_start = self.run_start;
        let earlier = |one: &Seen| {
            // the call's own change lies between it and its next answer
            let own = call.mutates() && call.effect != Effect::Undeclared;
            Earlier {
                place: one.place,
                same_result: one.result.zip(seen.result).map(|(before, now)| before == now),
                failed: one.failed,
                changed: own || changes.since(call.target, one.place.index),
                disturbed: changes.disturbed_since(call.same, one.place.index),
                others: run_start > one.place.index,
                at_once: call.turn != 0 && one.turn == call.turn,
                compacted: one.epoch != call.epoch,
                spoken: one.words != call.words,
            }
        };
        before.last = Some(earlier(&entry.last));
        if !call.failed {
            before.answered = entry.answered.as_ref().map(earlier);
            let comparable = before.answered.is_some_and(|earlier| earlier.same_result.is_some());
            before.unknown = !comparable && !entry.last.failed;
        }
        entry.last = seen;
        if seen.result.is_some() && !seen.failed {
            entry.answered = Some(seen);
        }
        before
    }
}
