//! Two sessions, call by call: which calls both made, which only one, and which were answered differently.
//!
//! A call is the same where its tool and those of its arguments that make a difference are; an answer is the same where it
//! says the same, whichever way its format wraps it. So two runs can be compared whatever they were recorded in.

use super::align::align;
use super::read::{Session, SessionCall};
use crate::call::Print;
use std::collections::{HashMap, VecDeque};

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Both made it, and were answered alike.
    Same,
    /// Both made it; whether they were answered alike is not known, because an answer is not recorded as a whole, or
    /// because what the call was called with is not.
    NotCompared,
    /// Both made it, and the answers differ.
    Answer,
    /// Only the first made it.
    OnlyA,
    /// Only the second made it.
    OnlyB,
    /// Both made it, at another place among the others.
    Moved {
        /// The answers differ too.
        answer: bool,
    },
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Same => "same",
            Kind::NotCompared => "not-compared",
            Kind::Answer => "answer",
            Kind::OnlyA => "only-a",
            Kind::OnlyB => "only-b",
            Kind::Moved { .. } => "moved",
        }
    }

    /// Whether the sessions differ in it.
    #[must_use]
    pub fn differs(self) -> bool {
        !matches!(self, Kind::Same | Kind::NotCompared)
    }
}

/// One call of either session, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its index in the first session.
    pub a: Option<usize>,
    /// Its index in the second.
    pub b: Option<usize>,
    /// What became of it.
    pub kind: Kind,
}

/// Where two sessions part first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// The index, which is the same in both: up to it they made the same calls.
    pub index: usize,
    /// The call is the same, and its answer differs. Else the calls differ, or one session has no more.
    pub answer: bool,
}

/// How many calls became what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Made and answered alike.
    pub same: u64,
    /// Made by both; the answers could not be compared.
    pub not_compared: u64,
    /// Made by both and answered differently.
    pub answers: u64,
    /// Made by the first alone.
    pub only_a: u64,
    /// Made by the second alone.
    pub only_b: u64,
    /// Made by both at different places.
    pub moved: u64,
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same calls in the same order, with the same answers as far as both are recorded.
    Same,
    /// They differ.
    Differ,
    /// Not a single answer could be compared, or there was no call: that proves nothing.
    Inconclusive,
}

impl Verdict {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differ => "differ",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// The process's exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Same => 0,
            Verdict::Differ => 1,
            Verdict::Inconclusive => 2,
        }
    }
}

/// Two sessions, compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// Every call of both, in order.
    pub steps: Vec<Step>,
    /// Where they part first.
    pub first: Option<Divergence>,
    /// How many calls became what.
    pub tally: Tally,
}

impl Diff {
    /// Compares two sessions that were read with the same ruleset.
    #[must_use]
    pub fn of(a: &Session, b: &Session) -> Diff {
        let keys =
            |session: &Session| -> Vec<Key> { session.calls.iter().map(|call| Key::of(session, call)).collect() };
        let (ones, others) = (keys(a), keys(b));
        let mut steps = Vec::with_capacity(ones.len().max(others.len()));
        for stretch in align(&ones, &others) {
            steps.extend(stretch.only.0.clone().map(|a| Step { a: Some(a), b: None, kind: Kind::OnlyA }));
            steps.extend(stretch.only.1.clone().map(|b| Step { a: None, b: Some(b), kind: Kind::OnlyB }));
            let (at, other_at) = (stretch.only.0.end, stretch.only.1.end);
            for step in 0..stretch.same {
                let (one, other) = (at + step, other_at + step);
                let kind = answers(&a.calls[one], &b.calls[other]);
                steps.push(Step { a: Some(one), b: Some(other), kind });
            }
        }
        let steps = moved(steps, &ones, &others, a, b);
        let mut tally = Tally::default();
        for step in &steps {
            *match step.kind {
                Kind::Same => &mut tally.same,
                Kind::NotCompared => &mut tally.not_compared,
                Kind::Answer => &mut tally.answers,
                Kind::OnlyA => &mut tally.only_a,
                Kind::OnlyB => &mut tally.only_b,
                Kind::Moved { .. } => &mut tally.moved,
            } += 1;
        }
        Diff { first: first(&ones, &others, a, b), steps, tally }
    }

    /// What comes of it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.steps.iter().any(|step| step.kind.differs()) {
            Verdict::Differ
        } else if self.tally.same == 0 {
            Verdict::Inconclusive
        } else {
            Verdict::Same
        }
    }
}

/// What stands for a call where sessions are aligned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Call(Print),
    /// What it was called with is not known: it is aligned by the tool's name, and proves nothing.
    Tool(String),
}

impl Key {
    fn of(session: &Session, call: &SessionCall) -> Key {
        if call.known { Key::Call(call.same) } else { Key::Tool(session.tool(call).to_owned()) }
    }
}

/// How the answers to one call of both compare.
fn answers(one: &SessionCall, other: &SessionCall) -> Kind {
    if !one.known || !other.known {
        return Kind::NotCompared;
    }
    let state = |call: &SessionCall| call.state.map(|state| state.status());
    if one.failed != other.failed || one.ran() != other.ran() {
        return Kind::Answer;
    }
    match (one.said, other.said) {
        (Some(one), Some(other)) if one == other => Kind::Same,
        (Some(_), Some(_)) => Kind::Answer,
        // neither ran, and why is recorded
        (None, None) if !one.ran() && one.state == other.state => Kind::Same,
        _ if state(one) != state(other) && one.answered != other.answered => Kind::Answer,
        _ => Kind::NotCompared,
    }
}

/// Takes together what one session made here and the other there.
fn moved(steps: Vec<Step>, ones: &[Key], others: &[Key], a: &Session, b: &Session) -> Vec<Step> {
    let mut waiting: HashMap<&Key, VecDeque<usize>> = HashMap::new();
    for step in &steps {
        if let (Some(at), None) = (step.a, step.b) {
            waiting.entry(&ones[at]).or_default().push_back(at);
        }
    }
    let mut gone = vec![false; ones.len()];
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let earlier = match (step.a, step.b) {
            (None, Some(at)) => waiting.get_mut(&others[at]).and_then(VecDeque::pop_front).map(|from| (from, at)),
            _ => None,
        };
        match earlier {
            Some((from, to)) => {
                gone[from] = true;
                let answer = answers(&a.calls[from], &b.calls[to]) == Kind::Answer;
                out.push(Step { a: Some(from), b: Some(to), kind: Kind::Moved { answer } });
            }
            None => out.push(step),
        }
    }
    out.retain(|step| step.kind != Kind::OnlyA || step.a.is_none_or(|at| !gone[at]));
    out
}

/// The first index at which the sessions differ.
fn first(ones: &[Key], others: &[Key], a: &Session, b: &Session) -> Option<Divergence> {
    for index in 0..ones.len().max(others.len()) {
        let same = ones.get(index).is_some() && ones.get(index) == others.get(index);
        if !same {
            return Some(Divergence { index, answer: false });
        }
        if answers(&a.calls[index], &b.calls[index]) == Kind::Answer {
            return Some(Divergence { index, answer: true });
        }
    }
    None
}
