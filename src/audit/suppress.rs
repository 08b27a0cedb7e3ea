//! Suppressions: findings that a project knows and accepts, each with a reason.

use super::report::Settings;
use crate::config::{Date, Suppression};
use crate::finding::Finding;
use crate::rules::NON_DETERMINISM;
use crate::sanitize::visible;

/// What of the findings is kept, and the count of what is not.
pub(super) struct Sieve<'s> {
    suppressions: Suppressions<'s>,
    settings: &'s Settings,
    pub(super) suppressed: u64,
    pub(super) below_min_level: u64,
    /// Whether a finding counts, shown or not.
    pub(super) fails: bool,
}

impl<'s> Sieve<'s> {
    pub(super) fn new(settings: &'s Settings) -> Sieve<'s> {
        let suppressions = Suppressions::new(&settings.suppressions, settings.today);
        Sieve { suppressions, settings, suppressed: 0, below_min_level: 0, fails: false }
    }

    /// Keeps of one file's findings those that are shown. Returns the first index whose answer changed, shown or not.
    pub(super) fn keep(&mut self, path: &str, findings: &mut Vec<Finding>) -> Option<u64> {
        self.suppressed += self.suppressions.apply(path, findings);
        self.fails |= findings.iter().any(|finding| finding.level >= self.settings.fail_on);
        let divergence = findings.iter().find(|finding| finding.rule.id == NON_DETERMINISM.id);
        let divergence = divergence.and_then(|finding| finding.index);
        let before = findings.len();
        findings.retain(|finding| finding.level >= self.settings.min_level);
        self.below_min_level += (before - findings.len()) as u64;
        divergence
    }

    /// What must be said about suppressions that did nothing.
    pub(super) fn remarks(&self) -> Vec<String> {
        self.suppressions.remarks()
    }
}

/// The suppressions of a run, and how often each matched.
struct Suppressions<'s> {
    all: Vec<Compiled<'s>>,
}

struct Compiled<'s> {
    suppression: &'s Suppression,
    path: Option<glob::Pattern>,
    expired: bool,
    matches: u64,
}

impl<'s> Suppressions<'s> {
    fn new(all: &'s [Suppression], today: Option<Date>) -> Suppressions<'s> {
        let compile = |suppression: &'s Suppression| Compiled {
            suppression,
            // the configuration was refused if this is none
            path: suppression
                .path
                .as_deref()
                .and_then(|path| glob::Pattern::new(path.strip_prefix("./").unwrap_or(path)).ok()),
            expired: suppression.expires.zip(today).is_some_and(|(expires, today)| today > expires),
            matches: 0,
        };
        Suppressions { all: all.iter().map(compile).collect() }
    }

    /// Takes out the findings of one file that are suppressed, and says how many they are. All suppressions that fit
    /// count a match.
    fn apply(&mut self, path: &str, findings: &mut Vec<Finding>) -> u64 {
        // `*` and `?` stop at `/`, `**` does not
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        let fits_path = |pattern: &glob::Pattern| pattern.matches_with(path, options);
        let mut in_force: Vec<&mut Compiled<'_>> = self
            .all
            .iter_mut()
            .filter(|compiled| !compiled.expired && compiled.path.as_ref().is_none_or(fits_path))
            .collect();
        let before = findings.len();
        findings.retain(|finding| {
            let mut suppressed = false;
            for compiled in &mut in_force {
                if fits(compiled.suppression, finding) {
                    compiled.matches += 1;
                    suppressed = true;
                }
            }
            !suppressed
        });
        (before - findings.len()) as u64
    }

    /// What must be said about suppressions that did nothing.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for compiled in &self.all {
            let name = describe(compiled.suppression);
            if let Some(expires) = compiled.suppression.expires.filter(|_| compiled.expired) {
                remarks.push(format!("the suppression of {name} expired on {expires}; remove it or renew it"));
            } else if compiled.matches == 0 {
                remarks.push(format!("the suppression of {name} matched nothing; remove it"));
            }
        }
        remarks
    }
}

/// Whether all selectors but the path fit.
fn fits(suppression: &Suppression, finding: &Finding) -> bool {
    finding.rule.suppressible
        && suppression.rule.as_deref().is_none_or(|rule| rule == finding.rule.id)
        && suppression.tool.as_deref().is_none_or(|name| finding.tool.as_ref().is_some_and(|tool| tool.is(name)))
        && suppression.fingerprint.as_deref().is_none_or(|print| print == finding.fingerprint.to_string())
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
