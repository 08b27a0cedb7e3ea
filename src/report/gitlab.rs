//! GitLab Code Quality: an array of issues that GitLab shows in merge requests.
//!
//! Issues with one fingerprint are shown once, and a path must be relative and without `./`; the name of the check is
//! not shown, so it stands in the description too. A widget of thousands helps nobody, and an artefact that is too large is
//! refused whole: the gravest are shown then, and the last issue says how many there are besides.

use crate::audit::{Report, Reported};
use crate::finding::{Fingerprint, Level};
use crate::sanitize::{InertJson, clip, visible};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::HashMap;
use std::io::{self, Write};

/// Issues of a report.
const ISSUES: usize = 5_000;
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
    let mut findings: Vec<Reported<'_>> = report.findings().collect();
    let all = findings.len();
    if all > ISSUES {
        findings = report.gravest_first();
        findings.truncate(ISSUES - 1);
    }
    let mut issues: Vec<Issue<'_>> = findings.iter().map(|reported| issue(*reported, &mut occurrences)).collect();
    if let Some(last) = findings.last().filter(|_| all > ISSUES) {
        issues.push(left_out(*last, all - issues.len()));
    }
    let formatter = InertJson(PrettyFormatter::new());
    issues.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// The issue that counts the rest, where the last of the others stands.
fn left_out(last: Reported<'_>, count: usize) -> Issue<'_> {
    let (description, subject) = (format!("{count} more findings are in the full report"), "findings-left-out");
    Issue {
        description,
        check_name: subject,
        fingerprint: Fingerprint::new(last.finding.rule, &[subject.as_bytes()], 1).to_string(),
        severity: severity(last.finding.level),
        location: Location {
            path: last.file.from_root.trim_start_matches('/'),
            lines: Lines { begin: last.finding.line.max(1) },
        },
    }
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "major",
        Level::Warning => "minor",
        Level::Note => "info",
    }
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
        severity: severity(finding.level),
        location: Location {
            path: file.from_root.trim_start_matches('/'),
            lines: Lines { begin: finding.line.max(1) },
        },
    }
}
