//! What a rule that judges calls is: what it wants to see, where it looks, what it remembers and where it writes.

use super::call_index::Occurrence;
use crate::call::{Call, Key};
use crate::finding::{ArgumentPlace, Level, Place, Rule};
use crate::json::view::Value;
use crate::scope::Candidate;
use std::fmt::Debug;
use std::sync::Arc;

/// What a rule wants to see. What no rule of a run needs is neither kept nor looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Calls before that were identical: prints of calls and results.
    pub comparison: bool,
    /// The arguments.
    pub arguments: bool,
    /// The results.
    pub results: bool,
}

impl Needs {
    /// What either of two needs.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            comparison: self.comparison || other.comparison,
            arguments: self.arguments || other.arguments,
            results: self.results || other.results,
        }
    }
}

/// A rule that judges calls. One value is one rule as a run is configured: the rule of a scope holds the scope.
pub trait CallRule: Debug + Send + Sync {
    /// What is fixed about it.
    fn rule(&self) -> &'static Rule;

    /// What it wants to see: most rules hold calls against identical ones before.
    fn needs(&self) -> Needs {
        Needs { comparison: true, ..Needs::default() }
    }

    /// Looks at what a call was called with. Runs on many threads: what it finds may depend on nothing but the call.
    /// What the rule's state shall know of the arguments is the memo.
    fn inspect_arguments(&self, _call: &Arguments<'_>, _found: &mut Vec<Spot>) -> Option<Memo> {
        None
    }

    /// Looks at what a call was answered; likewise.
    fn inspect_result(&self, _result: &Value<'_>, _found: &mut Vec<Spot>) {}

    /// The level of what was found, once it is known what became of the call and which names its agent has; none: it is
    /// no finding after all.
    fn settle(&self, spot: &Spot, _call: &Call, _agents: &[&str]) -> Option<Level> {
        Some(spot.level)
    }

    /// The part of the argument that a spot is about, as the argument has it; empty: all of it.
    fn part<'s>(&self, _spot: &'s Spot) -> &'s str {
        ""
    }

    /// A memory for one agent's context, if the rule needs one.
    fn state(&self) -> Option<Box<dyn RuleState>> {
        None
    }
}

/// Two numbers that a rule notes of a call's arguments, most often halves of prints.
pub type Memo = [u64; 2];

/// A call's arguments.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The name as a JSON string in canonical form.
    pub literal: &'a [u8],
    /// What it was called with: an object in canonical form.
    pub arguments: Value<'a>,
    /// The working directory, where the recording names it.
    pub cwd: Option<&'a str>,
    /// The agent that made the call, where it is not the main one.
    pub agent: Option<&'a str>,
    /// The names under which a scope may have lists for it, the most specific first; none: that shows only when the whole
    /// recording was read, and [`CallRule::settle`] is told.
    pub agents: Option<&'a [&'a str]>,
    /// The key of the run's prints.
    pub key: &'a Key,
    /// Where in the recording an argument stands, by its JSON Pointer.
    pub locate: &'a dyn Fn(&str) -> Option<ArgumentPlace>,
}

impl Debug for Arguments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arguments").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// What a rule found in a call's arguments or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// How grave it is.
    pub level: Level,
    /// What the rule's message needs besides: safe to show, never a secret.
    pub detail: Arc<str>,
    /// Which of the rule's patterns it is, for rules that have several.
    pub pattern: Option<&'static str>,
    /// The argument it is about.
    pub argument: Option<ArgumentPlace>,
    /// The lists of the scope under which it is so; empty: whichever count.
    pub lists: Vec<Candidate>,
    /// What it is about, as a number: of one number in a recording there is one finding, to which the later calls belong.
    pub same: Option<u64>,
}

impl Spot {
    /// Something that is so whoever called, and that stands for itself.
    #[must_use]
    pub fn new(level: Level, detail: impl Into<Arc<str>>) -> Spot {
        Spot { level, detail: detail.into(), pattern: None, argument: None, lists: Vec::new(), same: None }
    }
}

/// What a rule remembers of one agent's context.
pub trait RuleState: Send {
    /// Takes in the context's next call. `memo` is what the rule noted of its arguments, `before` which identical calls
    /// came before it.
    fn observe(&mut self, call: &Call, memo: Option<Memo>, before: &Occurrence, sink: &mut Sink<'_>);

    /// The context ends.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}

/// A finding in the making. A rule may go on writing to it while later calls belong to it.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The rule.
    pub rule: &'static Rule,
    /// How grave it is so far.
    pub level: Level,
    /// The call it is about.
    pub place: Place,
    /// The earlier call it refers to.
    pub related: Option<Place>,
    /// Further calls that belong to it, in order; not more than [`MOST_RELATED`].
    pub others: Vec<Place>,
    /// How many calls belong to it, the one it is about included; 0: it is about one call.
    pub count: u64,
    /// What the rule's message needs besides.
    pub detail: Option<Arc<str>>,
    /// Not, or no longer, a finding.
    pub withdrawn: bool,
    /// The index of the last call that was found to belong to it.
    last: Option<u64>,
}

/// The most further calls that a finding names.
pub const MOST_RELATED: usize = 100;

impl Draft {
    /// A finding about one call, with nothing said besides.
    #[must_use]
    pub fn about(rule: &'static Rule, level: Level, place: Place) -> Draft {
        Draft {
            rule,
            level,
            place,
            related: None,
            others: Vec::new(),
            count: 0,
            detail: None,
            withdrawn: false,
            last: None,
        }
    }

    /// A call of which the same is found, which may be the one that it is about, or the last that was added.
    pub(crate) fn belongs(&mut self, place: Place, level: Level) {
        self.level = self.level.max(level);
        if place.index != self.last.unwrap_or(self.place.index) {
            self.count = self.count.max(1);
            self.last = Some(place.index);
            self.add(place);
        }
    }

    /// One more call belongs to it.
    pub fn add(&mut self, place: Place) {
        if self.others.len() < MOST_RELATED {
            self.others.push(place);
        }
        self.count += 1;
    }
}

/// Names a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftId(usize);

/// Where a rule writes its findings.
#[derive(Debug)]
pub struct Sink<'a> {
    drafts: &'a mut Vec<Draft>,
    rule: &'static Rule,
}

impl<'a> Sink<'a> {
    /// The sink of one rule.
    pub fn new(drafts: &'a mut Vec<Draft>, rule: &'static Rule) -> Sink<'a> {
        Sink { drafts, rule }
    }

    /// A finding about a call, which must be the one that is being observed.
    pub fn hit(&mut self, call: &Call, level: Level, related: Option<Place>) -> DraftId {
        self.drafts.push(Draft { related, ..Draft::about(self.rule, level, call.place) });
        DraftId(self.drafts.len() - 1)
    }

    /// A draft of this sink, to go on with.
    pub fn draft(&mut self, id: DraftId) -> Option<&mut Draft> {
        self.drafts.get_mut(id.0)
    }
}
