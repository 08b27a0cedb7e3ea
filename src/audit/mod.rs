//! Transcripts × rules: what is run over many files, and the one report that comes of it.
//!
//! Filtering, levels and order are settled here, once, before any renderer sees a report.

mod words;
mod command;
mod outcome;
mod answers;
mod chains;
mod run;
mod sessions;
mod changes;
mod recordings;
mod signatures;
mod file_report;
mod coverage;
mod baseline;
mod settings;
mod suppress;
mod report;

pub use baseline::{Baseline, MAX_BASELINE};
pub use chains::goes_on_from;
pub use changes::{
    Change, Policy, Review, Visibility, detect_layout, mismatch_finding, mismatches, policy_changed, seal_deleted,
    seal_kept, unread,
};
pub use command::Command;
pub use coverage::Coverage;
pub use file_report::{FileReport, Reported};
pub use outcome::{Failure, Import, Input, Outcome};
pub(crate) use outcome::{Source, detect_layout as layout_of};
pub use recordings::{changed_in_checkout, is_recording, recording_gone, recording_kept, seal_went};
pub use report::{Digested, Report, ShortRemark, Verdict};
pub use run::{Plan, Progress, run, run_source};
pub(crate) use run::{lost, no_recording, open, opened, read_all};
pub use sessions::sessions;
pub use settings::Settings;
pub use signatures::{Signing, beside, signature_lost, signatures, stands_beside};
