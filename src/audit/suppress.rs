//! Suppressions: findings that a project knows and accepts, each with a reason.

use crate::config::{Date, Suppression};
use crate::finding::Finding;
use crate::rules::POLICY_CHANGED;
use crate::sanitize::visible;

/// The suppressions of a run, and how often each matched.
pub(super) struct Suppressions<'s> {
    all: &'s [Suppression],
    today: Option<Date>,
    matches: Vec<u64>,
}

impl<'s> Suppressions<'s> {
    pub(super) fn new(all: &'s [Suppression], today: Option<Date>) -> Suppressions<'s> {
        Suppressions { all, today, matches: vec![0; all.len()] }
    }

    /// Whether a finding is suppressed. All suppressions that fit count a match.
    pub(super) fn suppresses(&mut self, path: &str, finding: &Finding) -> bool {
        let mut suppressed = false;
        for (suppression, matches) in self.all.iter().zip(&mut self.matches) {
            if !expired(suppression, self.today) && fits(suppression, path, finding) {
                *matches += 1;
                suppressed = true;
            }
        }
        suppressed
    }

    /// What must be said about suppressions that did nothing.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for (suppression, &matches) in self.all.iter().zip(&self.matches) {
            let name = describe(suppression);
            if let Some(expires) = suppression.expires.filter(|_| expired(suppression, self.today)) {
                remarks.push(format!("the suppression of {name} expired on {expires}; remove it or renew it"));
            } else if matches == 0 {
                remarks.push(format!("the suppression of {name} matched nothing; remove it"));
            }
        }
        remarks
    }
}

fn expired(suppression: &Suppression, today: Option<Date>) -> bool {
    suppression.expires.zip(today).is_some_and(|(expires, today)| today > expires)
}

fn fits(suppression: &Suppression, path: &str, finding: &Finding) -> bool {
    let is = |selector: &Option<String>, value: &str| selector.as_deref().is_none_or(|selector| selector == value);
    // what suppresses must not be able to hide that it was changed
    finding.rule.id != POLICY_CHANGED.id
        && is(&suppression.rule, finding.rule.id)
        && is(&suppression.tool, finding.tool_text())
        && is(&suppression.fingerprint, &finding.fingerprint.to_string())
        && suppression.path.as_deref().is_none_or(|glob| path_fits(glob, path))
}

/// Whether a glob fits a path with `/` between its segments. `*` and `?` stop at `/`, `**` does not.
fn path_fits(glob: &str, path: &str) -> bool {
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    glob::Pattern::new(glob).is_ok_and(|pattern| pattern.matches_with(path, options))
}

fn describe(suppression: &Suppression) -> String {
    let selectors = [
        ("rule", &suppression.rule),
        ("path", &suppression.path),
        ("tool", &suppression.tool),
        ("fingerprint", &suppression.fingerprint),
    ];
    let given: Vec<String> = selectors
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} '{}'", visible(value))))
        .collect();
    format!("{} ({})", given.join(", "), visible(&suppression.reason))
}
