//! What counts in a run, and what is let pass.

use super::baseline::Baseline;
use crate::config::{AllowLoss, Date, Suppression};
use crate::finding::Level;
use crate::rules::Selection;

/// What counts, and what is let pass.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The lowest level that fails a run.
    pub fail_on: Level,
    /// The lowest level that is reported.
    pub min_level: Level,
    /// The rules that are on.
    pub rules: Selection,
    /// Known and accepted findings.
    pub suppressions: Vec<Suppression>,
    /// Recordings of which something may be missing. Whether they are is settled where they are read; what is said of it,
    /// in the report.
    pub allow_loss: Vec<AllowLoss>,
    /// Today, for suppressions that expire.
    pub today: Option<Date>,
    /// A run without a single call may pass.
    pub allow_empty: bool,
    /// What was known before.
    pub baseline: Option<Baseline>,
    /// The baseline's path as the user knows it.
    pub baseline_path: String,
}

impl Settings {
    /// Every finding is shown and counts: the settings of `replay`, `scope` and `verify`.
    #[must_use]
    pub fn everything() -> Settings {
        Settings {
            fail_on: Level::Note,
            min_level: Level::Note,
            rules: Selection::default(),
            suppressions: Vec::new(),
            allow_loss: Vec::new(),
            today: None,
            allow_empty: true,
            baseline: None,
            baseline_path: String::new(),
        }
    }
}
