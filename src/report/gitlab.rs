//! GitLab Code Quality: an array of issues that GitLab shows in merge requests.
//!
//! Issues with one fingerprint are shown once, and a path must be relative and without `./`; the name of the check is
//! not shown, so it stands in the description too.

use crate::audit::{Report, Reported};
use crate::finding::{Fingerprint, Level};
use crate::sanitize::{InertJson, clip, visible};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::HashMap;
use std::io::{self, Write};

/// Characters of a description.
const DESCRIPTION: usize = 2_000;

#[derive(Serialize)]
struct Issue<'r> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'r>,
}

#[derive(Serialize)]
struct Location<'r> {
    path: &'r str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u64,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut occurrences = HashMap::new();
    let issues: Vec<Issue<'_>> = report.findings().map(|reported| issue(reported, &mut occurrences)).collect();
    let formatter = InertJson(PrettyFormatter::new());
    issues.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn issue<'r>(
    reported: Reported<'r>,
    occurrences: &mut HashMap<(&'r str, &'static str, Fingerprint), u32>,
) -> Issue<'r> {
    let Reported { file, finding } = reported;
    let mut message = finding.message();
    if let Some(index) = finding.index {
        message = format!("index {index}: {message}");
    }
    // the same call in two files has one fingerprint by itself
    let occurrence = occurrences.entry((&file.from_root, finding.rule.id, finding.fingerprint)).or_insert(0);
    *occurrence += 1;
    let subject = [file.from_root.as_bytes(), b"\n", &finding.fingerprint.0];
    Issue {
        description: clip(&visible(&format!("{}: {message}", finding.rule.id)), DESCRIPTION).into_owned(),
        check_name: finding.rule.id,
        fingerprint: Fingerprint::new(finding.rule, &subject, *occurrence).to_string(),
        severity: match finding.level {
            Level::Error => "major",
            Level::Warning => "minor",
            Level::Note => "info",
        },
        location: Location {
            path: file.from_root.trim_start_matches('/'),
            lines: Lines { begin: finding.line.max(1) },
        },
    }
}
