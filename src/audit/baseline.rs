//! A baseline: the findings that were known when it was written, which count but do not fail, and what was covered then.
//! It only shrinks: findings that are gone are said, and new ones are never taken in.

use super::coverage::Coverage;
use super::file_report::FileReport;
use crate::finding::{Finding, Fingerprint};
use crate::rules::{COVERAGE_DROPPED, Selection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the file's shape.
const VERSION: u32 = 1;

/// The largest baseline that is read, in bytes.
pub const MAX_BASELINE: u64 = 64 << 20;

/// A baseline as it stands in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "toolreplay baseline")]
pub struct Baseline {
    /// The version of this shape: 1.
    version: u32,
    /// What the run covered that wrote it.
    coverage: Covered,
    /// The findings that were known, sorted.
    findings: BTreeSet<Known>,
}

/// What a run covered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Covered {
    /// Files that were read.
    files: u64,
    /// Calls.
    calls: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pairs: u64,
    /// Files that could not be read.
    unread: u64,
}

/// One known finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The file's path from the root of the repository.
    path: String,
    /// The rule's id.
    rule: String,
    /// The finding's fingerprint.
    fingerprint: String,
}

impl Known {
    fn of(path: &str, finding: &Finding) -> Known {
        Known { path: path.to_owned(), rule: finding.rule.id.to_owned(), fingerprint: finding.fingerprint.to_string() }
    }
}

impl Covered {
    fn of(coverage: &Coverage, files: &[FileReport]) -> Covered {
        let unread = files.iter().filter(|file| file.failure.is_some()).count() as u64;
        Covered { files: coverage.files, calls: coverage.calls, pairs: coverage.pairs, unread }
    }
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(text: &[u8]) -> Result<Baseline, String> {
        let baseline: Baseline = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if baseline.version != VERSION {
            return Err(format!("version {} is not known; expected {VERSION}", baseline.version));
        }
        Ok(baseline)
    }

    /// Whether a finding of a file was known.
    pub(super) fn knows(&self, path: &str, finding: &Finding) -> bool {
        finding.rule.suppressible && self.findings.contains(&Known::of(path, finding))
    }

    /// How many findings are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The baseline of a run; of a run that had one, what of it still stands.
    pub(super) fn of(
        coverage: &Coverage,
        files: &[FileReport],
        before: Option<&Baseline>,
        rules: &Selection,
    ) -> Baseline {
        let now = files.iter().flat_map(|file| {
            file.findings
                .iter()
                .filter(|finding| finding.rule.suppressible)
                .map(|finding| Known::of(&file.from_root, finding))
        });
        // what was not looked for is not gone
        let unasked =
            before.into_iter().flat_map(|before| &before.findings).filter(|known| !rules.has_all_of(&known.rule));
        let still = now.filter(|known| before.is_none_or(|before| before.findings.contains(known)));
        let findings = still.chain(unasked.cloned()).collect();
        Baseline { version: VERSION, coverage: Covered::of(coverage, files), findings }
    }

    /// The finding for a run that covers less than the one that wrote the baseline.
    pub(super) fn dropped(&self, coverage: &Coverage, files: &[FileReport]) -> Option<Finding> {
        let (then, now) = (self.coverage, Covered::of(coverage, files));
        let mut less = Vec::new();
        for (what, then, now) in [
            ("files", then.files, now.files),
            ("calls", then.calls, now.calls),
            ("compared pairs", then.pairs, now.pairs),
        ] {
            if now < then {
                less.push(format!("{now} {what} where there were {then}"));
            }
        }
        if now.unread > then.unread {
            less.push(format!("{} files that cannot be read where there were {}", now.unread, then.unread));
        }
        let detail = (!less.is_empty()).then(|| less.join(", "))?;
        let fingerprint = Fingerprint::new(&COVERAGE_DROPPED, &[b"coverage"], 1);
        Some(Finding { detail: Some(detail.into()), ..Finding::new(&COVERAGE_DROPPED, fingerprint) })
    }

    /// The file, as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
