//! The kinds of findings: one file a rule, and the table of them all.
//!
//! A rule says what it is ([`Rule`]: id, summary, page, message) and, where it judges calls, when it fires ([`CallRule`]).
//! It may look at arguments and results where they are read, by many threads at once and without a memory
//! ([`CallRule::inspect_arguments`], [`CallRule::inspect_result`]), and it may keep a state of its own for each agent's
//! context, which sees that agent's calls in order ([`RuleState`]). Which identical calls came before is remembered once
//! for all rules, in `call_index`.

mod bad_signature;
mod broken_link;
mod call_index;
mod coverage_dropped;
mod dangerous_call;
mod malformed_transcript;
mod non_determinism;
mod permission_overreach;
mod policy_changed;
mod recording_rewritten;
mod redundant_call;
mod seal_deleted;
mod seal_mismatch;
mod seal_rewritten;
mod secret_exposed;
mod seed_index;
mod stuck_loop;
mod unread_recording;
mod unsigned_seal;

pub use bad_signature::BAD_SIGNATURE;
pub use broken_link::BROKEN_LINK;
pub use call_index::{CallIndex, Changes, Earlier, Occurrence};
pub use coverage_dropped::COVERAGE_DROPPED;
pub use dangerous_call::{DANGEROUS_CALL, DangerousCall};
pub use malformed_transcript::MALFORMED_TRANSCRIPT;
pub use non_determinism::{NON_DETERMINISM, NonDeterminism};
pub use permission_overreach::{Decision, MAIN_AGENT, Overreach, PERMISSION_OVERREACH, agent_names};
pub use policy_changed::POLICY_CHANGED;
pub use recording_rewritten::RECORDING_REWRITTEN;
pub use redundant_call::{REDUNDANT_CALL, RedundantCall};
pub use seal_deleted::SEAL_DELETED;
pub use seal_mismatch::SEAL_MISMATCH;
pub use seal_rewritten::SEAL_REWRITTEN;
pub use secret_exposed::{SECRET_EXPOSED, SecretExposed};
pub(crate) use seed_index::{SeedIndex, SeedOccurrence, SeedStep};
pub use stuck_loop::{STUCK_LOOP, StuckLoop};
pub use unread_recording::UNREAD_RECORDING;
pub use unsigned_seal::UNSIGNED_SEAL;

use crate::call::{Call, Key};
use crate::finding::{ArgumentPlace, Level, Place, Rule};
use crate::json::view::Value;
use crate::scope::{Applied, Candidate};
use std::fmt::Debug;
use std::sync::Arc;

/// Every rule, sorted by id.
pub static RULES: [&Rule; 17] = [
    &BAD_SIGNATURE,
    &BROKEN_LINK,
    &COVERAGE_DROPPED,
    &DANGEROUS_CALL,
    &MALFORMED_TRANSCRIPT,
    &NON_DETERMINISM,
    &PERMISSION_OVERREACH,
    &POLICY_CHANGED,
    &RECORDING_REWRITTEN,
    &REDUNDANT_CALL,
    &SEAL_DELETED,
    &SEAL_MISMATCH,
    &SEAL_REWRITTEN,
    &SECRET_EXPOSED,
    &STUCK_LOOP,
    &UNREAD_RECORDING,
    &UNSIGNED_SEAL,
];

/// Whether a rule is about seals and what is judged by, not about single calls.
#[must_use]
pub fn guards_evidence(rule: &Rule) -> bool {
    let evidence = [
        &BAD_SIGNATURE,
        &BROKEN_LINK,
        &POLICY_CHANGED,
        &RECORDING_REWRITTEN,
        &SEAL_DELETED,
        &SEAL_MISMATCH,
        &SEAL_REWRITTEN,
        &UNSIGNED_SEAL,
    ];
    evidence.iter().any(|one| one.id == rule.id)
}

/// The rule with an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// The id of a pattern of a rule that has several, as suppressions name it: `dangerous-call/force-push`.
#[must_use]
pub fn pattern(id: &str) -> Option<&'static str> {
    dangerous_call::patterns().chain(secret_exposed::patterns()).find(|known| *known == id)
}

/// The rules that `audit` judges every call by, besides those that need a scope.
#[must_use]
pub fn call_rules(scope: Option<&Arc<Applied>>) -> Vec<Arc<dyn CallRule>> {
    vec![
        Arc::new(NonDeterminism),
        Arc::new(RedundantCall),
        Arc::new(StuckLoop),
        Arc::new(DangerousCall::new(scope.cloned())),
        Arc::new(SecretExposed),
    ]
}

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

    /// What it wants to see.
    fn needs(&self) -> Needs;

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

/// What `replay` finds, sorted by the rule's id: the rule, the level and the earlier call.
pub(crate) fn seed_hits(before: &SeedOccurrence) -> impl Iterator<Item = (&'static Rule, Level, Place)> {
    let changed = non_determinism::seed(before).map(|(level, place)| (&NON_DETERMINISM, level, place));
    let repeated = redundant_call::seed(before).map(|(level, place)| (&REDUNDANT_CALL, level, place));
    changed.into_iter().chain(repeated)
}
