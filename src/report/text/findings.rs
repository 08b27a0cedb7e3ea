//! Findings: what, where, and what was called, with a mark under the part that matters.

use super::palette::Palette;
use super::tables::counts;
use crate::audit::{FileReport, Report, Reported};
use crate::excerpt::{self, Difference, Excerpt, Line};
use crate::finding::Finding;
use crate::report::style::Style;
use crate::sanitize::{clip, visible};
use std::io::{self, Write};

/// What stands before a line of an excerpt.
const BAR: &str = "   | ";

/// Columns of a tool's name.
const TOOL: usize = 40;

/// How many calls of a finding are named.
const PLACES: usize = 12;

pub(super) fn write(report: &Report, style: &Style, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let several = report.files.iter().filter(|file| !file.aside).nth(1).is_some();
    for file in &report.files {
        let head = several && !style.quiet && !file.aside && file.is_judged();
        if head && (style.verbose || !file.findings.is_empty()) {
            header(file, palette, out)?;
        }
        for finding in &file.findings {
            one(Reported { file, finding }, style, palette, out)?;
        }
        if file.findings.len() > excerpt::MOST && !style.quiet {
            writeln!(out, "remark: what was called is shown for the first {} findings of a file\n", excerpt::MOST)?;
        }
    }
    Ok(())
}

/// The head of one file of several: what is in it and what came of it.
fn header(file: &FileReport, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let failed = if file.failed > 0 { format!(", {} failed", file.failed) } else { String::new() };
    let calls = if file.calls == 1 { "1 call".to_owned() } else { format!("{} calls", file.calls) };
    let path = palette.strong(&visible(&file.path));
    writeln!(out, "file {path}: {calls}{failed}; {}\n", counts(&file.findings))
}

/// The level and the rule, or the pattern of a rule that has several.
fn head(finding: &Finding) -> String {
    format!("{}[{}]", finding.level, finding.pattern.filter(|id| id.contains('/')).unwrap_or(finding.rule.id))
}

/// Where it is: path, line and column, as editors read it.
fn place(reported: Reported<'_>) -> String {
    let finding = reported.finding;
    let mut place = visible(reported.path()).into_owned();
    if finding.line > 0 {
        place.push_str(&format!(":{}", finding.line));
        let argument = finding.argument.as_ref().filter(|argument| argument.line == finding.line);
        let column = argument.map_or(0, |argument| argument.column).max(finding.column);
        if column > 0 {
            place.push_str(&format!(":{column}"));
        }
    }
    place
}

/// A finding on one line.
pub(super) fn line(reported: Reported<'_>, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let finding = reported.finding;
    let head = palette.level(finding.level, &head(finding));
    writeln!(out, "{}: {head} {}", place(reported), visible(&finding.message()))
}

fn one(reported: Reported<'_>, style: &Style, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let finding = reported.finding;
    writeln!(out, "{}: {}", palette.level(finding.level, &head(finding)), visible(&finding.message()))?;
    write!(out, "  {} {}", palette.dim("-->"), place(reported))?;
    if let Some(index) = finding.index {
        write!(out, " (index {index}")?;
        if let (Some(related), Some(line)) = (finding.related, reported.related_line()) {
            write!(out, "; the earlier call is index {} on {}", related.index, visible(&line))?;
        }
        write!(out, ")")?;
    }
    writeln!(out)?;
    if let Some(excerpt) = &finding.excerpt {
        called(finding, excerpt, style, palette, out)?;
    }
    if let (true, Some(related), Some(index)) = (finding.count > 1, finding.related, finding.index) {
        let mut places = vec![related.index];
        places.extend(finding.others.iter().map(|place| place.index));
        places.push(index);
        places.sort_unstable();
        places.dedup();
        let shown: Vec<String> = places.iter().take(PLACES).map(u64::to_string).collect();
        let more = if finding.count > shown.len() as u64 { ", …" } else { "" };
        writeln!(out, "   {} calls at index {}{more}", palette.dim("="), shown.join(", "))?;
    }
    writeln!(out)
}

/// What was called, and what changed in the answer.
fn called(
    finding: &Finding,
    excerpt: &Excerpt,
    style: &Style,
    palette: Palette,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bar = palette.dim(BAR.trim_end());
    let tool = clip(finding.tool_text(), TOOL).into_owned();
    let label = format!("{}  ", visible(&tool));
    marked(&label, &excerpt.call, style, (&bar, finding, palette), out)?;
    let Some(Difference { pointer, line, before, now }) = &excerpt.difference else { return Ok(()) };
    let mut place = String::new();
    if !pointer.is_empty() {
        place.push_str(&format!(" at {}", visible(&clip(pointer, TOOL))));
    }
    if *line > 0 {
        place.push_str(&format!("{} line {line}", if place.is_empty() { " on" } else { "," }));
    }
    writeln!(out, "{bar} {}", palette.dim(&format!("the answers differ{place}:")))?;
    let (earlier, index) = (finding.related.map_or(0, |related| related.index), finding.index.unwrap_or(0));
    let digits = earlier.max(index).to_string().len();
    let label = |index: u64| format!("index {index:>digits$}  ");
    // the mark stands once, under the newer answer
    let before = Line { mark: None, ..fitted(&label(earlier), before, style) };
    writeln!(out, "{bar} {}{}", palette.dim(&label(earlier)), before.text)?;
    marked(&label(index), now, style, (&bar, finding, palette), out)
}

/// A line behind its label, on the columns that there are.
fn fitted(label: &str, line: &Line, style: &Style) -> Line {
    use unicode_width::UnicodeWidthStr as _;
    line.fit(style.columns.saturating_sub(BAR.len() + label.width()).max(20))
}

/// A line and the mark under it.
fn marked(
    label: &str,
    line: &Line,
    style: &Style,
    (bar, finding, palette): (&str, &Finding, Palette),
    out: &mut dyn Write,
) -> io::Result<()> {
    use unicode_width::UnicodeWidthStr as _;
    let line = fitted(label, line, style);
    writeln!(out, "{bar} {}{}", palette.dim(label), line.text)?;
    if let Some((before, width)) = line.columns() {
        let mark = palette.level(finding.level, &"^".repeat(width));
        writeln!(out, "{bar} {}{mark}", " ".repeat(label.width() + before))?;
    }
    Ok(())
}
