//! The kinds of findings: one file a rule, and the table of them all.
//!
//! A rule says what it is ([`Rule`]: id, summary, page, message) and, where it judges calls, when it fires ([`CallRule`]).
//! It may look at arguments and results where they are read, by many threads at once and without a memory
//! ([`CallRule::inspect_arguments`], [`CallRule::inspect_result`]), and it may keep a state of its own for each agent's
//! context, which sees that agent's calls in order ([`RuleState`]). Which identical calls came before is remembered once
//! for all rules, in `call_index`.

mod selection;
mod call_index;
mod call_rule;
mod seed_index;
mod permission_overreach;
mod bad_signature;
mod broken_link;
mod coverage_dropped;
mod dangerous_call;
mod malformed_transcript;
mod non_determinism;
mod policy_changed;
mod recording_rewritten;
mod redundant_call;
mod seal_deleted;
mod seal_mismatch;
mod seal_rewritten;
mod secret_exposed;
mod stuck_loop;
mod unread_recording;
mod unsigned_seal;

pub use bad_signature::BAD_SIGNATURE;
pub use broken_link::BROKEN_LINK;
pub use call_index::{CallIndex, Changes, Earlier, Occurrence};
pub use call_rule::{Arguments, CallRule, Draft, DraftId, MOST_RELATED, Memo, Needs, RuleState, Sink, Spot};
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
pub use selection::Selection;
pub use stuck_loop::{STUCK_LOOP, StuckLoop};
pub use unread_recording::UNREAD_RECORDING;
pub use unsigned_seal::UNSIGNED_SEAL;

use crate::finding::{Level, Place, Rule};
use crate::scope::Applied;
use selection::Known;
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

/// The rules that a run judges by: all, or those that are selected, less those that are ignored. Both name rules, or
/// patterns such as `dangerous-call/force-push`.
///
/// # Errors
/// In words: a name that is none, a rule that cannot be turned off, or that no rule is left.
pub fn selection(select: &[String], ignore: &[String]) -> Result<Selection, String> {
    let patterns: Vec<&'static str> = dangerous_call::patterns().chain(secret_exposed::patterns()).collect();
    Selection::new(select, ignore, Known { rules: &RULES, patterns: &patterns })
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

/// What `replay` finds, sorted by the rule's id: the rule, the level and the earlier call.
pub(crate) fn seed_hits(before: &SeedOccurrence) -> impl Iterator<Item = (&'static Rule, Level, Place)> {
    let changed = non_determinism::seed(before).map(|(level, place)| (&NON_DETERMINISM, level, place));
    let repeated = redundant_call::seed(before).map(|(level, place)| (&REDUNDANT_CALL, level, place));
    changed.into_iter().chain(repeated)
}
