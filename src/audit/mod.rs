//! Transcripts × rules: what is run over many files, and the one report that comes of it.
//!
//! Filtering, levels and order are settled here, once, before any renderer sees a report.

mod baseline;
mod chains;
mod changes;
mod recordings;
mod report;
mod run;
mod sessions;
mod signatures;
mod suppress;

pub use baseline::{Baseline, MAX_BASELINE};
pub use chains::goes_on_from;
pub use changes::{
    Change, Policy, Review, Visibility, detect_layout, mismatch_finding, mismatches, policy_changed, seal_deleted,
    seal_kept, unread,
};
pub use recordings::{is_recording, recording_gone, recording_kept, seal_went};
pub use report::{Command, Coverage, Digested, FileReport, Report, Reported, Settings, ShortRemark, Verdict};
pub use run::{Failure, Import, Input, Outcome, Plan, Progress, run, run_source};
pub use sessions::sessions;
pub use signatures::{Signing, beside, signature_lost, signatures, stands_beside};
