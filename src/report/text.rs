//! Text for people. That of `replay`, `scope` and `verify` is fixed byte for byte (`docs/format.md`, section 4).
//!
//! Every line starts with words of our own: a name or path from outside must not be able to start one.

use crate::audit::{Command, FileReport, Report};
use crate::finding::Level;
use crate::sanitize::visible;
use crate::seal::Break;
use crate::signature::{Checked, Standing};
use std::fmt;
use std::io::{self, Write};

pub(super) fn write(report: &Report, color: bool, out: &mut dyn Write) -> io::Result<()> {
    match report.command {
        Command::Audit | Command::Seals | Command::SealAll => audit(report, Palette { color }, out),
        Command::Replay | Command::Scope | Command::Verify => blocks(report, out),
    }
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

fn audit(report: &Report, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    // where nothing at all could be judged there is nothing to report but the errors, which stand on standard error
    if !report.files.is_empty() && report.files.iter().all(|file| !file.is_judged()) {
        return Ok(());
    }
    for reported in report.findings() {
        let finding = reported.finding;
        let head =
            format!("{}[{}]", finding.level, finding.pattern.filter(|id| id.contains('/')).unwrap_or(finding.rule.id));
        writeln!(out, "{}: {}", palette.level(finding.level, &head), visible(&finding.message()))?;
        let mut place = format!("  {} {}", palette.dim("-->"), visible(reported.path()));
        if finding.line > 0 {
            place.push_str(&format!(":{}", finding.line));
        }
        if let Some(column) = reported.column() {
            place.push_str(&format!(":{column}"));
        }
        if let Some(index) = finding.index {
            place.push_str(&format!(" (index {index}"));
            if let (Some(related), Some(line)) = (finding.related, reported.related_line()) {
                place.push_str(&format!("; the earlier call is index {} on {}", related.index, visible(&line)));
            }
            place.push(')');
        }
        writeln!(out, "{place}\n")?;
    }
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
    writeln!(out, "{}: {shown}{}", report.command.name(), report.left_out())?;
    for remark in &report.short_remarks {
        writeln!(out, "remark: {}", visible(&remark.text))?;
    }
    writeln!(out, "coverage: {}", report.coverage)?;
    if report.findings().next().is_some() {
        writeln!(out, "{}", palette.dim("help: 'toolreplay explain RULE' says what a rule means and what to do"))?;
    }
    Ok(())
}

/// Colours, or none.
#[derive(Clone, Copy)]
struct Palette {
    color: bool,
}

impl Palette {
    fn paint(self, code: &str, text: impl fmt::Display) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn level(self, level: Level, text: &str) -> String {
        let code = match level {
            Level::Error => "1;31",
            Level::Warning => "1;33",
            Level::Note => "1;36",
        };
        self.paint(code, text)
    }

    fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}
