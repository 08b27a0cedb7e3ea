//! Workflow commands that annotate the lines of a transcript on GitHub.
//!
//! A step shows ten annotations a level and drops the rest without a word: nine are written, and a tenth says how many
//! more there are.

use crate::audit::{Report, Reported};
use crate::finding::Level;
use crate::sanitize::{clip, command_data, command_property};
use std::io::{self, Write};

/// Annotations of one level, but the one that counts the rest.
const SHOWN: usize = 9;
/// Characters of a message; the runner cuts at 4,096.
const MESSAGE: usize = 2_000;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let findings = report.gravest_first();
    for level in Level::ALL {
        let name = command(level);
        let of_level: Vec<Reported<'_>> =
            findings.iter().copied().filter(|reported| reported.finding.level == level).collect();
        let shown = if of_level.len() > SHOWN + 1 { SHOWN } else { of_level.len() };
        for reported in &of_level[..shown] {
            annotation(*reported, name, out)?;
        }
        if of_level.len() > shown {
            let rest = of_level.len() - shown;
            writeln!(out, "::{name} title=toolreplay::{rest} more findings of level {level} are in the full report")?;
        }
    }
    writeln!(out, "toolreplay {}: {}", report.command.name(), report.counts())?;
    for remark in &report.remarks {
        writeln!(out, "remark: {}", command_data(remark))?;
    }
    writeln!(out, "coverage: {}", report.coverage)
}

fn command(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    }
}

fn annotation(reported: Reported<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let finding = reported.finding;
    let file = command_property(reported.from_root());
    // a file as a whole is annotated on its first line
    let line = finding.line.max(1);
    let mut message = match finding.index {
        Some(index) => format!("index {index}: {}", finding.message()),
        None => finding.message(),
    };
    if let Some(line) = reported.related_line() {
        message.push_str(&format!(" ({line})"));
    }
    let message = command_data(&clip(&message, MESSAGE));
    writeln!(out, "::{name} file={file},line={line},endLine={line},title=toolreplay {}::{message}", finding.rule.id)
}
