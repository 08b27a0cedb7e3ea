//! Suppressions: findings that a project knows and accepts, each with a reason.

use super::settings::Settings;
use crate::config::{Date, Suppression};
use crate::finding::{Finding, ToolName};
use crate::rules::NON_DETERMINISM;
use crate::sanitize::visible;
use std::collections::{BTreeSet, HashMap};

/// What of the findings is kept, and the count of what is not.
pub(super) struct FindingFilter<'s> {
    suppressions: Suppressions<'s>,
    settings: &'s Settings,
    pub(super) suppressed: u64,
    pub(super) below_min_level: u64,
    /// Findings that the baseline knows.
    pub(super) known: u64,
    /// Whether a finding counts, shown or not.
    pub(super) fails: bool,
}

impl<'s> FindingFilter<'s> {
    pub(super) fn new(settings: &'s Settings) -> FindingFilter<'s> {
        let suppressions = Suppressions::new(&settings.suppressions, settings.today);
        FindingFilter { suppressions, settings, suppressed: 0, below_min_level: 0, known: 0, fails: false }
    }

    /// Keeps of one file's findings those that are shown. Returns the first index whose answer changed, shown or not.
    pub(super) fn keep(&mut self, path: &str, findings: &mut Vec<Finding>) -> Option<u64> {
        findings.retain(|finding| self.settings.rules.keeps(finding));
        self.suppressed += self.suppressions.apply(path, findings);
        if let Some(baseline) = &self.settings.baseline {
            for finding in findings.iter_mut() {
                finding.known = baseline.knows(path, finding);
                self.known += u64::from(finding.known);
            }
        }
        self.fails |= findings.iter().any(|finding| !finding.known && finding.level >= self.settings.fail_on);
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

/// The suppressions of a run, and how often each matched. They are many and findings too, so each is found by what it says
/// that the fewest others say.
struct Suppressions<'s> {
    all: Vec<Compiled<'s>>,
    /// Places in `all`, of those in force; of several that say the same, the first.
    by_key: HashMap<FindingKey<'s>, Vec<usize>>,
    /// The lengths of the keys that are parts of paths.
    starts: BTreeSet<usize>,
    ends: BTreeSet<usize>,
}

struct Compiled<'s> {
    suppression: &'s Suppression,
    path: Option<glob::Pattern>,
    tool: Option<ToolName>,
    expired: bool,
    /// The first suppression with the same selectors.
    same_as: usize,
    matches: u64,
}

/// What a suppression says and a finding can be asked for.
#[derive(PartialEq, Eq, Hash)]
enum FindingKey<'s> {
    Rule(&'s str),
    Tool(ToolName),
    Fingerprint(&'s str),
    /// What the paths that a glob fits begin and end with.
    Start(&'s str),
    End(&'s str),
}

impl<'s> Suppressions<'s> {
    fn new(all: &'s [Suppression], today: Option<Date>) -> Suppressions<'s> {
        let mut first = HashMap::new();
        let compile = |(place, suppression): (usize, &'s Suppression)| {
            let Suppression { rule, path, tool, fingerprint, expires, .. } = suppression;
            let expired = expires.zip(today).is_some_and(|(expires, today)| today > expires);
            Compiled {
                suppression,
                // the configuration was refused if this is none
                path: path.as_deref().and_then(|path| glob::Pattern::new(from_root(path)).ok()),
                tool: tool.as_deref().map(ToolName::of),
                expired,
                same_as: *first.entry((rule, path, tool, fingerprint, expired)).or_insert(place),
                matches: 0,
            }
        };
        let all: Vec<Compiled<'s>> = all.iter().enumerate().map(compile).collect();
        let mut counts: HashMap<FindingKey<'s>, usize> = HashMap::new();
        let in_force = || all.iter().enumerate().filter(|(place, it)| !it.expired && it.same_as == *place);
        in_force().flat_map(|(_, it)| it.keys()).for_each(|key| *counts.entry(key).or_default() += 1);
        let mut suppressions =
            Suppressions { by_key: HashMap::new(), starts: BTreeSet::new(), ends: BTreeSet::new(), all: Vec::new() };
        for (place, compiled) in in_force() {
            // the configuration was refused if there is none
            let Some(key) = compiled.keys().into_iter().min_by_key(|key| counts.get(key)) else { continue };
            match key {
                FindingKey::Start(start) => drop(suppressions.starts.insert(start.len())),
                FindingKey::End(end) => drop(suppressions.ends.insert(end.len())),
                FindingKey::Rule(_) | FindingKey::Tool(_) | FindingKey::Fingerprint(_) => {}
            }
            suppressions.by_key.entry(key).or_default().push(place);
        }
        suppressions.all = all;
        suppressions
    }

    /// Takes out the findings of one file that are suppressed, and says how many they are. All suppressions that fit
    /// count a match.
    fn apply(&mut self, path: &str, findings: &mut Vec<Finding>) -> u64 {
        let starts = self.starts.iter().filter_map(|length| path.get(..*length)).map(FindingKey::Start);
        let ends =
            self.ends.iter().filter_map(|length| path.get(path.len().checked_sub(*length)?..)).map(FindingKey::End);
        let of_path: Vec<usize> =
            starts.chain(ends).filter_map(|key| self.by_key.get(&key)).flatten().copied().collect();
        let mut fits_path: HashMap<usize, bool> = HashMap::new();
        let before = findings.len();
        findings.retain(|finding| {
            let fingerprint = finding.fingerprint.to_string();
            let tool = finding.tool.as_deref().map(|tool| FindingKey::Tool(tool.clone()));
            let pattern = finding.pattern.map(FindingKey::Rule);
            let keys = [FindingKey::Rule(finding.rule.id), FindingKey::Fingerprint(&fingerprint)]
                .into_iter()
                .chain(pattern)
                .chain(tool);
            let mut fitting: Vec<usize> = keys.filter_map(|key| self.by_key.get(&key)).flatten().copied().collect();
            fitting.extend(&of_path);
            fitting.retain(|place| {
                let compiled = &self.all[*place];
                compiled.fits(finding, &fingerprint)
                    && *fits_path.entry(*place).or_insert_with(|| compiled.fits_path(path))
            });
            fitting.iter().for_each(|place| self.all[*place].matches += 1);
            fitting.is_empty()
        });
        (before - findings.len()) as u64
    }

    /// What must be said about suppressions that did nothing.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for compiled in &self.all {
            let name = || describe(compiled.suppression);
            if let Some(expires) = compiled.suppression.expires.filter(|_| compiled.expired) {
                remarks.push(format!("the suppression of {} expired on {expires}; remove it or renew it", name()));
            } else if self.all[compiled.same_as].matches == 0 {
                remarks.push(format!("the suppression of {} matched nothing; remove it", name()));
            }
        }
        remarks
    }
}

impl<'s> Compiled<'s> {
    /// What it can be found by.
    fn keys(&self) -> Vec<FindingKey<'s>> {
        let Suppression { rule, path, fingerprint, .. } = self.suppression;
        let mut keys: Vec<FindingKey<'s>> = fingerprint.iter().map(|print| FindingKey::Fingerprint(print)).collect();
        keys.extend(self.tool.clone().map(FindingKey::Tool));
        if let Some(path) = path.as_deref().map(from_root) {
            let plain = |char: char| !matches!(char, '*' | '?' | '[' | ']');
            // a `**` may stand for no folder, and then the `/` beside it does as well
            keys.push(FindingKey::Start(path.split(|char| !plain(char)).next().unwrap_or("").trim_end_matches('/')));
            keys.push(FindingKey::End(path.rsplit(|char| !plain(char)).next().unwrap_or("").trim_start_matches('/')));
        }
        keys.extend(rule.as_deref().map(FindingKey::Rule));
        keys
    }

    /// Whether all selectors but the path fit.
    fn fits(&self, finding: &Finding, fingerprint: &str) -> bool {
        finding.rule.suppressible
            && self
                .suppression
                .rule
                .as_deref()
                .is_none_or(|rule| rule == finding.rule.id || finding.pattern == Some(rule))
            && self.tool.as_ref().is_none_or(|tool| finding.tool.as_deref() == Some(tool))
            && self.suppression.fingerprint.as_deref().is_none_or(|print| print == fingerprint)
    }

    fn fits_path(&self, path: &str) -> bool {
        // `*` and `?` stop at `/`, `**` does not
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        self.path.as_ref().is_none_or(|pattern| pattern.matches_with(path, options))
    }
}

/// A glob as paths from the root of the repository are written.
fn from_root(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Fingerprint, Level};
    use crate::rules::{PERMISSION_OVERREACH, REDUNDANT_CALL};
    use std::sync::Arc;

    fn finding(rule: &'static crate::finding::Rule, tool: &str) -> Finding {
        Finding {
            level: Level::Warning,
            tool: Some(Arc::new(ToolName::of(tool))),
            ..Finding::new(rule, Fingerprint::new(rule, &[tool.as_bytes()], 1))
        }
    }

    /// Whatever a suppression is found by, it fits as if it were the only one.
    #[test]
    fn many_suppressions_fit_as_each_alone_does() {
        let print = finding(&REDUNDANT_CALL, "a").fingerprint.to_string();
        let mut all = Vec::new();
        for rule in [None, Some("redundant-call"), Some("permission-overreach")] {
            for tool in [None, Some("a"), Some("b")] {
                for fingerprint in [None, Some(print.as_str())] {
                    for path in [
                        "",
                        "runs/x.jsonl",
                        "./runs/*.jsonl",
                        "**/x.jsonl",
                        "runs/**",
                        "**",
                        "?uns/[xy].jsonl",
                        "x.jsonl",
                    ] {
                        let text = |text: &str| Some(text.to_owned());
                        let path = Some(path).filter(|path| !path.is_empty());
                        all.push(Suppression {
                            rule: rule.and_then(text),
                            tool: tool.and_then(text),
                            fingerprint: fingerprint.and_then(text),
                            path: path.and_then(text),
                            ..Suppression::default()
                        });
                    }
                }
            }
        }
        // the first selects nothing, which no configuration may
        all.remove(0);
        let twice: Vec<Suppression> = all.iter().chain(&all).cloned().collect();
        let mut together = Suppressions::new(&twice, None);
        let mut alone: Vec<Suppressions<'_>> = all.chunks(1).map(|one| Suppressions::new(one, None)).collect();
        let mut counted = vec![0; all.len()];
        for path in ["runs/x.jsonl", "x.jsonl", "runs/deep/x.jsonl", "other/y.jsonl"] {
            for rule in [&REDUNDANT_CALL, &PERMISSION_OVERREACH] {
                for tool in ["a", "b", "c"] {
                    let mut any = false;
                    for (suppressions, count) in alone.iter_mut().zip(&mut counted) {
                        *count += suppressions.apply(path, &mut vec![finding(rule, tool)]);
                        any |= suppressions.all[0].matches > 0;
                        suppressions.all[0].matches = 0;
                    }
                    assert_eq!(
                        together.apply(path, &mut vec![finding(rule, tool)]) == 1,
                        any,
                        "{path} {} {tool}",
                        rule.id
                    );
                }
            }
        }
        let of = |place: usize| together.all[together.all[place].same_as].matches;
        let found: Vec<u64> = (0..all.len()).map(of).collect();
        assert_eq!(found, counted);
        assert_eq!((0..all.len()).map(|place| of(place + all.len())).collect::<Vec<_>>(), counted);
        assert!(counted.contains(&0) && counted.iter().any(|count| *count > 5));
    }
}
