//! Which rules a run judges by.
//!
//! What a project may not suppress it may not turn off either: those rules say that evidence is broken, or that what it is
//! judged by was changed.

use crate::finding::{Finding, Rule};
use std::collections::BTreeSet;

/// The rules, and the patterns of rules that have several, that are turned off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    off: BTreeSet<&'static str>,
}

/// What names rules and their patterns: the tables that this module stands below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'r> {
    pub(super) rules: &'r [&'static Rule],
    pub(super) patterns: &'r [&'static str],
}

impl Selection {
    /// All rules, or those that are selected, less those that are ignored. Both name rules, or patterns such as
    /// `dangerous-call/force-push`.
    pub(super) fn new(select: &[String], ignore: &[String], known: Known<'_>) -> Result<Selection, String> {
        let selected = known.all(select)?;
        let ignored = known.all(ignore)?;
        for (id, rule) in &ignored {
            if !rule.suppressible {
                return Err(format!(
                    "'{id}' cannot be turned off: it says that evidence, or what it is judged by, is not what it was"
                ));
            }
        }
        let named = |list: &[(&'static str, &'static Rule)], id: &str| list.iter().any(|(own, _)| *own == id);
        // a rule is on by its own name, or by that of one of its patterns
        let wanted = |rule: &Rule| selected.is_empty() || selected.iter().any(|(_, own)| own.id == rule.id);
        let mut off = BTreeSet::new();
        for rule in known.rules.iter().filter(|rule| rule.suppressible) {
            if !wanted(rule) || named(&ignored, rule.id) {
                off.insert(rule.id);
                continue;
            }
            let own = || known.patterns.iter().filter(|pattern| is_of(pattern, rule.id));
            let all = selected.is_empty() || named(&selected, rule.id);
            off.extend(own().filter(|pattern| named(&ignored, pattern) || !all && !named(&selected, pattern)));
            if own().next().is_some() && own().all(|pattern| off.contains(pattern)) {
                off.retain(|id| !is_of(id, rule.id));
                off.insert(rule.id);
            }
        }
        for (id, rule) in &selected {
            if off.contains(rule.id) || off.contains(id) {
                return Err(format!("'{id}' is selected and ignored; take it out of one of the two"));
            }
        }
        if selected.is_empty() && known.rules.iter().all(|rule| !rule.suppressible || off.contains(rule.id)) {
            return Err("no rule is left to judge by; ignore fewer".to_owned());
        }
        Ok(Selection { off })
    }

    /// Whether a rule is on.
    #[must_use]
    pub fn has(&self, rule: &Rule) -> bool {
        !self.off.contains(rule.id)
    }

    /// Whether a finding is of a rule and a pattern that are on.
    #[must_use]
    pub fn keeps(&self, finding: &Finding) -> bool {
        self.has(finding.rule) && finding.pattern.is_none_or(|pattern| !self.off.contains(pattern))
    }

    /// Whether all of a rule's patterns are on, by the rule's id.
    #[must_use]
    pub fn has_all_of(&self, rule: &str) -> bool {
        !self.off.iter().any(|off| *off == rule || is_of(off, rule))
    }

    /// The ids of what is off, sorted: rules, and patterns of rules that are on.
    pub fn off(&self) -> impl Iterator<Item = &'static str> {
        self.off.iter().copied()
    }
}

fn is_of(pattern: &str, rule: &str) -> bool {
    pattern.split_once('/').is_some_and(|(own, _)| own == rule)
}

impl Known<'_> {
    /// The rules that ids belong to.
    fn all(self, ids: &[String]) -> Result<Vec<(&'static str, &'static Rule)>, String> {
        ids.iter().map(|id| self.one(id)).collect()
    }

    fn one(self, id: &str) -> Result<(&'static str, &'static Rule), String> {
        let rule = |id: &str| self.rules.iter().copied().find(|rule| rule.id == id);
        let pattern = || {
            let pattern = self.patterns.iter().copied().find(|pattern| *pattern == id)?;
            Some((pattern, rule(pattern.split_once('/')?.0)?))
        };
        rule(id).map(|rule| (rule.id, rule)).or_else(pattern).ok_or_else(|| {
            let known: Vec<&str> = self.rules.iter().map(|rule| rule.id).collect();
            format!("no rule is called '{id}'; there are {}", known.join(", "))
        })
    }
}
