//! One file of a report, with its findings.

use super::changes::Review;
use super::outcome::{Failure, Import};
use crate::finding::Finding;
use crate::seal::Chain;
use crate::signature::Checked;

/// A finding and the file it stands in.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'r> {
    /// The file.
    pub file: &'r FileReport,
    /// The finding.
    pub finding: &'r Finding,
}

/// One file of a report.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// Its path as the user knows it.
    pub path: String,
    /// Its path from the root of the repository, with `/` between segments.
    pub from_root: String,
    /// Records.
    pub calls: u64,
    /// Calls that failed or never ran.
    pub failed: u64,
    /// Calls that were made before.
    pub repeated: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pub pairs: u64,
    /// The first index with a `non-determinism` finding, whatever its level.
    pub divergence: Option<u64>,
    /// The chain, in a sealed transcript.
    pub chain: Option<Chain>,
    /// What its signatures say, where that was asked.
    pub signature: Option<Checked>,
    /// Why nothing was judged; of an imported recording, why not all of it was.
    pub failure: Option<Failure>,
    /// How it was imported, if it is no transcript.
    pub import: Option<Import>,
    /// A sealed transcript whose calls are those of a transcript in the same run: its place. The calls' findings are
    /// reported there and not twice.
    pub repeats: Option<usize>,
    /// Not audited itself: a policy, or a file that is gone. It is here for its findings.
    pub aside: bool,
    /// Where a reviewer sees the findings.
    pub review: Review,
    /// The findings, by index, then kind.
    pub findings: Vec<Finding>,
}

impl FileReport {
    /// Whether its calls were judged, at least those that could be read.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.failure.is_none() || self.import.is_some()
    }
}

impl<'r> Reported<'r> {
    /// The path of the file that the finding's line stands in, as the user knows it.
    #[must_use]
    pub fn path(&self) -> &'r str {
        self.finding.file.as_ref().map_or(&self.file.path, |file| &file.shown)
    }

    /// The same from the root of the repository.
    #[must_use]
    pub fn from_root(&self) -> &str {
        self.finding.file.as_ref().map_or(&self.file.from_root, |file| &file.from_root)
    }

    /// The column of the finding's call, in characters from 1, where its line holds more than that.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        self.finding.index.map(|_| self.finding.column).filter(|column| *column > 0)
    }

    /// Where the other record stands: its line, and its file if that is another one than the finding's.
    #[must_use]
    pub fn related_line(&self) -> Option<String> {
        let line = self.finding.related?.line;
        Some(self.related_path().map_or_else(|| format!("line {line}"), |other| format!("line {line} of {other}")))
    }

    /// The file that the other record stands in, as given, if that is another one than the finding's.
    #[must_use]
    pub fn related_path(&self) -> Option<&str> {
        self.finding.related?;
        let other = self.finding.related_file.as_ref().map_or(&self.file.path, |file| &file.shown);
        Some(other.as_str()).filter(|other| *other != self.path())
    }

    /// The path of the file that the other record stands in, from the root of the repository.
    #[must_use]
    pub fn related_from_root(&self) -> &str {
        self.finding.related_file.as_ref().map_or(&self.file.from_root, |file| &file.from_root)
    }
}
