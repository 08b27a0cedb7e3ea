//! Tables: the sessions of a run, the worst first, and the findings by rule, tool and file.

use crate::audit::{FileReport, Report};
use crate::finding::{Finding, Level};
use crate::report::style::Style;
use crate::sanitize::visible;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a table, where nobody asked for all.
const ROWS: usize = 20;

/// The counts of some findings by level, in words.
pub(super) fn counts(findings: &[Finding]) -> String {
    let words: Vec<String> = Level::ALL
        .into_iter()
        .map(|level| (findings.iter().filter(|finding| finding.level == level).count(), level.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if words.is_empty() { "no findings".to_owned() } else { words.join(", ") }
}

/// The files of a run that have findings, the worst first.
pub(super) fn sessions(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let count = |file: &FileReport, level| file.findings.iter().filter(|finding| finding.level == level).count();
    let judged: Vec<&FileReport> = report.files.iter().filter(|file| file.is_judged() && !file.aside).collect();
    let mut found: Vec<(&FileReport, [usize; 3])> = judged
        .iter()
        .filter(|file| !file.findings.is_empty())
        .map(|file| (*file, Level::ALL.map(|level| count(file, level))))
        .collect();
    found.sort_by_key(|(_, counts)| counts.map(std::cmp::Reverse));
    writeln!(out, "sessions, the worst first:")?;
    writeln!(out, "  errors  warnings  notes    calls  failed  file")?;
    let rows = if style.verbose { found.len() } else { ROWS };
    for (file, [errors, warnings, notes]) in found.iter().take(rows) {
        let path = visible(&file.path);
        writeln!(out, "  {errors:>6}  {warnings:>8}  {notes:>5}  {:>7}  {:>6}  {path}", file.calls, file.failed)?;
    }
    if found.len() > rows {
        writeln!(out, "  and {} more with findings; --verbose shows them all", found.len() - rows)?;
    }
    match judged.len() - found.len() {
        0 => {}
        1 => writeln!(out, "  and 1 without findings")?,
        clean => writeln!(out, "  and {clean} without findings")?,
    }
    writeln!(out)
}

/// How many findings there are by rule, tool and file.
pub(super) fn statistics(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let (mut rules, mut tools, mut files) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for reported in report.findings() {
        *rules.entry(reported.finding.rule.id).or_insert(0_u64) += 1;
        if reported.finding.tool.is_some() {
            let finding: &Finding = reported.finding;
            *tools.entry(finding.tool_text()).or_insert(0) += 1;
        }
        *files.entry(reported.path()).or_insert(0) += 1;
    }
    for (title, counted) in [("rule", rules), ("tool", tools), ("file", files)] {
        if counted.is_empty() {
            continue;
        }
        let mut rows: Vec<(&str, u64)> = counted.into_iter().collect();
        rows.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        writeln!(out, "findings by {title}:")?;
        let most = if style.verbose { rows.len() } else { ROWS };
        for (name, count) in rows.iter().take(most) {
            writeln!(out, "  {count:>7}  {}", visible(name))?;
        }
        if rows.len() > most {
            writeln!(out, "  and {} more; --verbose shows them all", rows.len() - most)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
