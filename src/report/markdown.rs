//! Markdown for a job summary: it must stand alone where a diff is too large to show.
//!
//! GitHub drops a summary of more than 1 MiB whole, so rows stop well before that and the rest is counted.

use crate::audit::{Report, Reported, Verdict, Visibility};
use crate::sanitize::{clip, markdown, uri};
use std::io::{self, Write};

/// Bytes of the table of findings.
const TABLE: usize = 800_000;
/// Bytes of the table of files.
const FILES: usize = 100_000;
/// Findings that are shown with their calls.
const WORST: usize = 5;
/// Characters of one cell.
const CELL: usize = 400;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let headline = match report.verdict {
        Verdict::Clean => "passed",
        Verdict::Findings => "failed",
        Verdict::Inconclusive => "is inconclusive: there was no call to audit",
        Verdict::Failed => "could not judge every file",
    };
    writeln!(out, "## toolreplay {}: {headline}\n", report.command.name())?;
    writeln!(
        out,
        "{}{}. Coverage: {}.",
        capitalised(&report.counts()),
        report.left_out(),
        markdown(&report.coverage.to_string())
    )?;
    let findings = report.gravest_first();
    worst(report, &findings, out)?;
    if !findings.is_empty() {
        writeln!(out, "\n| level | kind | place | index | tool | message |\n| --- | --- | --- | ---: | --- | --- |")?;
        let rows = findings.iter().map(|reported| row(report, *reported));
        bounded(rows, TABLE, findings.len(), "findings", out)?;
    }
    let chains = report.files.iter().filter_map(|file| file.chain.as_ref().map(|chain| (file, chain)));
    let rows: Vec<String> = chains
        .map(|(file, chain)| {
            let state = if chain.broken.is_none() { "intact" } else { "broken" };
            format!("| {} | {state} | {} | `{}` |\n", cell(&file.path), chain.links, digest(&chain.head))
        })
        .collect();
    if !rows.is_empty() {
        writeln!(out, "\n| sealed transcript | chain | links | last digest |\n| --- | --- | ---: | --- |")?;
        let count = rows.len();
        bounded(rows.into_iter(), FILES, count, "sealed transcripts", out)?;
    }
    if let Some(digest) = &report.scope {
        writeln!(out, "\nScope file: SHA-256 `{digest}`.")?;
    }
    for remark in report.short_remarks.iter().take(100) {
        writeln!(out, "\nRemark: {}", cell(&remark.text))?;
    }
    Ok(())
}

/// The gravest findings about a call, each with what was called.
fn worst(report: &Report, findings: &[Reported<'_>], out: &mut dyn Write) -> io::Result<()> {
    let shown = findings.iter().filter_map(|reported| Some((reported, reported.finding.excerpt.as_ref()?)));
    for (number, (reported, excerpt)) in shown.take(WORST).enumerate() {
        if number == 0 {
            writeln!(out, "\nThe gravest calls:\n")?;
        }
        let finding = reported.finding;
        let (tool, call) = (cell(finding.tool_text()), cell(&excerpt.call.text));
        write!(out, "- {} {}, {}: {tool} {call}", finding.level, finding.rule.id, place(report, *reported))?;
        if let Some(difference) = &excerpt.difference {
            let (before, now) = (cell(&difference.before.text), cell(&difference.now.text));
            write!(out, "; the answer was {before}, and is {now}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Where a finding is, as a link if its file can be looked at.
fn place(report: &Report, reported: Reported<'_>) -> String {
    let line = reported.finding.line;
    let mut place = cell(reported.path());
    if line > 0 {
        place.push_str(&format!(":{line}"));
    }
    let Some(address) = report.source_url.as_ref().filter(|_| reported.file.review.visibility == Visibility::Shown)
    else {
        return place;
    };
    // brackets would end the link
    let path = uri(reported.from_root()).replace('(', "%28").replace(')', "%29");
    let at = if line > 0 { format!("?plain=1#L{line}") } else { String::new() };
    format!("[{place}]({address}/{path}{at})")
}

fn row(report: &Report, reported: Reported<'_>) -> String {
    let finding = reported.finding;
    let index = finding.index.map_or(String::new(), |index| index.to_string());
    let place = place(report, reported);
    let mut message = cell(&finding.message());
    if let Some(line) = reported.related_line() {
        message.push_str(&format!(" ({})", cell(&line)));
    }
    let tool = cell(finding.tool_text());
    format!("| {} | {} | {place} | {index} | {tool} | {message} |\n", finding.level, finding.rule.id)
}

/// Writes rows while they fit, and how many did not.
fn bounded(
    rows: impl Iterator<Item = String>,
    limit: usize,
    count: usize,
    what: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (mut bytes, mut written) = (0, 0);
    for row in rows {
        bytes += row.len();
        if bytes > limit {
            break;
        }
        out.write_all(row.as_bytes())?;
        written += 1;
    }
    if written < count { writeln!(out, "\n{} more {what} are in the full report.", count - written) } else { Ok(()) }
}

fn cell(text: &str) -> String {
    markdown(&clip(text, CELL))
}

/// A digest in a code span: only what a digest is made of.
fn digest(head: &str) -> String {
    head.chars().filter(char::is_ascii_hexdigit).take(64).collect()
}

fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
