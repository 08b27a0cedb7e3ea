//! The kinds of findings: one file a rule, and the table of them all.
//!
//! A rule says what it is (`Rule`: id, summary, page, message) and, where it judges calls, when it fires. What it may
//! know of a call is an [`Occurrence`]; what came before is remembered once for all rules, in `history`.

mod bad_signature;
mod broken_link;
pub mod dangerous_call;
mod history;
mod malformed_transcript;
mod non_determinism;
mod permission_overreach;
mod policy_changed;
mod redundant_call;
mod seal_deleted;
mod seal_mismatch;
mod seal_rewritten;
mod sourced;
mod unsigned_seal;

pub use bad_signature::BAD_SIGNATURE;
pub use broken_link::BROKEN_LINK;
pub use history::{Earlier, History, Key, Occurrence, Print, Step};
pub use malformed_transcript::MALFORMED_TRANSCRIPT;
pub use non_determinism::NON_DETERMINISM;
pub use permission_overreach::PERMISSION_OVERREACH;
pub use policy_changed::POLICY_CHANGED;
pub use redundant_call::REDUNDANT_CALL;
pub use seal_deleted::SEAL_DELETED;
pub use seal_mismatch::SEAL_MISMATCH;
pub use seal_rewritten::SEAL_REWRITTEN;
pub(crate) use sourced::{SourcedHistory, SourcedStep};
pub use unsigned_seal::UNSIGNED_SEAL;

use crate::finding::{Level, Place, Rule};

/// Every rule, sorted by id.
pub static RULES: [&Rule; 11] = [
    &BAD_SIGNATURE,
    &BROKEN_LINK,
    &MALFORMED_TRANSCRIPT,
    &NON_DETERMINISM,
    &PERMISSION_OVERREACH,
    &POLICY_CHANGED,
    &REDUNDANT_CALL,
    &SEAL_DELETED,
    &SEAL_MISMATCH,
    &SEAL_REWRITTEN,
    &UNSIGNED_SEAL,
];

/// Whether a rule is about seals and what is judged by, not about single calls.
#[must_use]
pub fn guards_evidence(rule: &Rule) -> bool {
    let evidence =
        [&BAD_SIGNATURE, &BROKEN_LINK, &POLICY_CHANGED, &SEAL_DELETED, &SEAL_MISMATCH, &SEAL_REWRITTEN, &UNSIGNED_SEAL];
    evidence.iter().any(|one| one.id == rule.id)
}

/// The rule with an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// A rule that fired on a call.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// The rule.
    pub rule: &'static Rule,
    /// How grave this finding is.
    pub level: Level,
    /// The earlier call it refers to.
    pub related: Option<Place>,
}

/// The rules that judge a call by what came before it, sorted by id.
pub(crate) fn judge(occurrence: &Occurrence) -> impl Iterator<Item = Hit> {
    [non_determinism::judge(occurrence), redundant_call::judge(occurrence)].into_iter().flatten()
}

/// The hit for a call to a tool outside the scope.
pub(crate) fn overreach() -> Hit {
    Hit { rule: &PERMISSION_OVERREACH, level: PERMISSION_OVERREACH.level, related: None }
}

/// The hit for such a call that never ran: the agent asked for it and did not get it.
pub(crate) fn attempt() -> Hit {
    Hit { level: Level::Warning, ..overreach() }
}
