//! The patterns by name: in findings and suppressions, and in words.

/// The ids of all patterns.
pub(in crate::rules) fn patterns() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|(id, _)| *id)
}

pub(super) const CHMOD_777: &str = "dangerous-call/chmod-777";
pub(super) const DISCARD: &str = "dangerous-call/discard";
pub(super) const FORCE_PUSH: &str = "dangerous-call/force-push";
pub(super) const NO_VERIFY: &str = "dangerous-call/no-verify";
pub(super) const PIPE_TO_SHELL: &str = "dangerous-call/pipe-to-shell";
pub(super) const PUSH_MAIN: &str = "dangerous-call/push-main";
pub(super) const READ_CREDENTIALS: &str = "dangerous-call/read-credentials";
pub(super) const REWRITE_HISTORY: &str = "dangerous-call/rewrite-history";
pub(super) const RM_GIT: &str = "dangerous-call/rm-git";
pub(super) const RM_OUTSIDE: &str = "dangerous-call/rm-outside";
pub(super) const SKIP_PERMISSIONS: &str = "dangerous-call/skip-permissions";
pub(super) const TLS_OFF: &str = "dangerous-call/tls-off";
pub(super) const WRITE_CREDENTIALS: &str = "dangerous-call/write-credentials";
pub(super) const WRITE_STARTUP: &str = "dangerous-call/write-startup";
pub(super) const WRITE_SYSTEM: &str = "dangerous-call/write-system";

/// Every pattern, sorted by id: what it does, in words.
pub(super) const PATTERNS: &[(&str, &str)] = &[
    (CHMOD_777, "lets everybody write"),
    (DISCARD, "throws away changes that were not committed"),
    (FORCE_PUSH, "forces a push"),
    (NO_VERIFY, "skips the checks of a commit or push"),
    (PIPE_TO_SHELL, "runs what it downloads"),
    (PUSH_MAIN, "pushes to the main branch"),
    (READ_CREDENTIALS, "reads keys or credentials"),
    (REWRITE_HISTORY, "rewrites the history of a repository"),
    (RM_GIT, "deletes a repository's history"),
    (RM_OUTSIDE, "deletes a folder outside the working directory"),
    (SKIP_PERMISSIONS, "starts an agent that asks nobody"),
    (TLS_OFF, "trusts any server"),
    (WRITE_CREDENTIALS, "changes keys, credentials or who may log in"),
    (WRITE_STARTUP, "changes what every shell runs when it starts"),
    (WRITE_SYSTEM, "changes a system folder"),
];

/// What is only worth knowing: it can be meant, and is often asked for.
pub(super) const NOTES: &[&str] = &[DISCARD, PUSH_MAIN];

/// Whether a pattern is no more than a note.
pub(super) fn is_note(pattern: &str) -> bool {
    NOTES.contains(&pattern)
}

/// What a pattern does, in words.
pub(super) fn describe(pattern: &str) -> &'static str {
    PATTERNS.iter().find(|(id, _)| *id == pattern).map_or("is dangerous", |(_, words)| words)
}
