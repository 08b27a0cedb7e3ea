//! Text for people. That of `replay`, `scope` and `verify` is fixed byte for byte (`docs/format.md`, section 4).
//!
//! Every line starts with words of our own: a name or path from outside must not be able to start one.

mod palette;
mod tables;
mod findings;
mod coverage;

use super::style::Style;
use crate::audit::{Command, FileReport, Report};
use crate::finding::Level;
use crate::sanitize::visible;
use crate::seal::Break;
use crate::signature::{Checked, Standing};
use palette::Palette;
use std::io::{self, Write};

pub(super) fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    match report.command {
        Command::Audit | Command::Seals | Command::SealAll => audit(report, style, false, out),
        Command::Replay | Command::Scope | Command::Verify => blocks(report, out),
    }
}

/// One line a finding.
pub(super) fn concise(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    audit(report, style, true, out)
}

/// One block a file, headed by its path where there are several. Files that failed are not in the text: the error
/// stands on standard error.
fn blocks(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let several = report.files.len() > 1;
    let mut first = true;
    for file in report.files.iter().filter(|file| file.is_judged()) {
        if several {
            let gap = if first { "" } else { "\n" };
            writeln!(out, "{gap}==> {} <==", visible(&file.path))?;
            first = false;
        }
        match report.command {
            Command::Verify => {
                chain(file, out)?;
                file.signature.as_ref().map_or(Ok(()), |checked| signed(checked, out))?;
            }
            _ => findings(report, file, out)?,
        }
    }
    Ok(())
}

fn findings(report: &Report, file: &FileReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "calls: {}", file.calls)?;
    if report.command == Command::Replay {
        match file.divergence {
            Some(index) => writeln!(out, "divergence: index {index}")?,
            None => writeln!(out, "divergence: none")?,
        }
    }
    writeln!(out, "findings: {}", file.findings.len())?;
    for finding in &file.findings {
        let (kind, message) = (finding.rule.id, finding.message());
        match finding.index {
            Some(index) => writeln!(out, "index {index}: {kind}: {}", visible(&message))?,
            // what could not be imported of a recording
            None => writeln!(out, "file: {kind}: {}", visible(&message))?,
        }
    }
    Ok(())
}

fn chain(file: &FileReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(broken) = file.chain.as_ref().and_then(|chain| chain.broken.as_ref()) else {
        return writeln!(out, "chain: intact");
    };
    writeln!(out, "chain: broken")?;
    match broken.kind {
        Break::Link | Break::Extends | Break::Fork => writeln!(out, "first broken link: index {}", broken.index)?,
        Break::Head if broken.line == 0 => writeln!(out, "last link: none")?,
        Break::Head => writeln!(out, "last link: index {}", broken.index)?,
    }
    writeln!(out, "expected: {}\nfound: {}", visible(&broken.expected), visible(&broken.found))
}

/// Whose signatures a sealed transcript has. Where nobody asked and there are none, nothing is said.
fn signed(checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    if let Some(statement) = &checked.statement {
        writeln!(out, "signed: {} links, {}", statement.links, statement.state.name())?;
    }
    for signature in &checked.signatures {
        let (known, signer, key) = (signature.known.name(), visible(&signature.signer), &signature.key);
        writeln!(out, "signature: {known}, '{signer}' ({key})")?;
    }
    for fault in &checked.faults {
        writeln!(out, "fault: {}", visible(&fault.what))?;
    }
    match checked.standing {
        Standing::Signed => {
            let signers: Vec<String> = checked.signers().iter().map(|name| format!("'{}'", visible(name))).collect();
            writeln!(out, "seal: signed by {}", signers.join(", "))
        }
        standing => writeln!(out, "seal: {}", standing.name()),
    }
}

fn audit(report: &Report, style: &Style, concise: bool, out: &mut dyn Write) -> io::Result<()> {
    // where nothing at all could be judged there is nothing to report but the errors, which stand on standard error
    if !report.files.is_empty() && report.files.iter().all(|file| !file.is_judged()) {
        return Ok(());
    }
    let palette = Palette { color: style.color };
    if style.statistics {
        tables::statistics(report, style, out)?;
    } else if concise {
        report.findings().try_for_each(|reported| findings::line(reported, palette, out))?;
    } else {
        findings::write(report, style, palette, out)?;
    }
    if style.quiet {
        return Ok(());
    }
    let several = report.files.iter().filter(|file| file.is_judged() && !file.aside).nth(1).is_some();
    if several && !concise && !style.statistics && report.findings().next().is_some() {
        tables::sessions(report, style, out)?;
    }
    summary(report, style, palette, out)?;
    if report.findings().next().is_some() {
        writeln!(out, "{}", palette.dim("help: 'toolreplay explain RULE' says what a rule means and what to do"))?;
    }
    Ok(())
}

/// What came of it and what was looked at.
fn summary(report: &Report, style: &Style, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    if report.command != Command::Audit {
        for file in &report.files {
            if let Some(chain) = &file.chain {
                let state = if chain.broken.is_none() { "intact" } else { "broken" };
                let (path, head) = (visible(&file.path), visible(&chain.head));
                writeln!(out, "chain: {path}: {state}, {} links, last digest {head}", chain.links)?;
            }
        }
    }
    let counts = report.counts();
    let gravest = Level::ALL.into_iter().find(|level| report.count(*level) > 0);
    let shown = gravest.map_or_else(|| palette.good(&counts), |level| palette.level(level, &counts));
    // a run without a scope must not look like one that found no overreach
    let permissions = if report.coverage.permissions { "" } else { "; permissions not judged" };
    writeln!(out, "{}: {shown}{}{permissions}", report.command.name(), report.left_out())?;
    for remark in &report.short_remarks {
        writeln!(out, "remark: {}", visible(&remark.text))?;
    }
    coverage::write(&report.coverage, style, palette, out)
}
