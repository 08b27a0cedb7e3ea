//! Workflow commands that annotate the lines of a transcript on GitHub.
//!
//! A step shows ten annotations a level and drops the rest without a word: nine are written, and a tenth says how many
//! more there are. So those on lines that the reviewed change touches come first, then the gravest. A finding on a file
//! that the repository does not have is a line of the log.

use crate::audit::{Report, Reported, Visibility};
use crate::finding::Level;
use crate::sanitize::{clip, command_data, command_property, visible};
use std::io::{self, Write};

/// Annotations of one level, but the one that counts the rest.
const SHOWN: usize = 9;
/// Characters of a message; the runner cuts at 4,096.
const MESSAGE: usize = 2_000;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let place = |level: Level| Level::ALL.iter().position(|one| *one == level).unwrap_or(0);
    let (mut written, mut of_levels) = ([0; Level::ALL.len()], [0; Level::ALL.len()]);
    for reported in report.findings().filter(is_annotated) {
        of_levels[place(reported.finding.level)] += 1;
    }
    for reported in report.for_review() {
        let level = reported.finding.level;
        if reported.file.review.visibility == Visibility::Outside {
            // nobody can look at a line of a file that the repository does not have
            writeln!(out, "{}", plain(reported))?;
            continue;
        }
        let of_level = of_levels[place(level)];
        let shown = if of_level > SHOWN + 1 { SHOWN } else { of_level };
        let written = &mut written[place(level)];
        *written += 1;
        if *written <= shown {
            annotation(reported, command(level), out)?;
        } else if *written == of_level {
            let (name, rest) = (command(level), of_level - shown);
            writeln!(out, "::{name} title=toolreplay::{rest} more findings of level {level} are in the full report")?;
        }
    }
    writeln!(out, "toolreplay {}: {}{}", report.command.name(), report.counts(), report.left_out())?;
    for remark in &report.short_remarks {
        writeln!(out, "remark: {}", visible(&remark.text))?;
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

fn is_annotated(reported: &Reported<'_>) -> bool {
    reported.file.review.visibility != Visibility::Outside
}

fn message(reported: Reported<'_>) -> String {
    let finding = reported.finding;
    let mut message = match finding.index {
        Some(index) => format!("index {index}: {}", finding.message()),
        None => finding.message(),
    };
    if let Some(line) = reported.related_line() {
        message.push_str(&format!(" ({line})"));
    }
    message
}

/// A finding as a line of the log.
fn plain(reported: Reported<'_>) -> String {
    let finding = reported.finding;
    let mut place = reported.path().to_owned();
    if finding.line > 0 {
        place.push_str(&format!(":{}", finding.line));
    }
    let text = format!("toolreplay: {}[{}]: {place}: {}", finding.level, finding.rule.id, message(reported));
    visible(&clip(&text, MESSAGE)).into_owned()
}

fn annotation(reported: Reported<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let Reported { file, finding } = reported;
    let (title, message) = (finding.rule.id, message(reported));
    if file.review.visibility == Visibility::Deleted {
        let message = command_data(&clip(&format!("{}: {message}", file.path), MESSAGE));
        return writeln!(out, "::{name} title=toolreplay {title}::{message}");
    }
    let path = command_property(reported.from_root());
    // a file as a whole is annotated on its first line
    let (line, column, width) = finding.place();
    let columns = match (line, column.max(1), width) {
        (0, ..) => String::new(),
        (_, start, 1..) => format!(",col={start},endColumn={}", start + u64::from(width)),
        (_, start @ 2.., 0) => format!(",col={start}"),
        _ => String::new(),
    };
    let line = line.max(1);
    let message = command_data(&clip(&message, MESSAGE));
    writeln!(out, "::{name} file={path},line={line},endLine={line}{columns},title=toolreplay {title}::{message}")
}
