//! `name=value` lines for other programs: a GitHub step's outputs, a GitLab dotenv report, a shell.
//!
//! Nothing from a transcript is in them, only numbers, digests and words of our own; so no value can hold a line end
//! and forge another line.

use crate::audit::Report;
use crate::finding::Level;
use std::io::{self, Write};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let divergence = report.files.iter().find_map(|file| file.divergence);
    // a digest as it stands in a file may be anything; one that is none is left out
    let is_digest = |head: &&str| head.len() == 64 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    let heads = report.files.iter().filter_map(|file| file.chain.as_ref()).map(|chain| chain.head.as_str());
    let digests: Vec<&str> = heads.filter(is_digest).collect();
    writeln!(out, "verdict={}", report.verdict.name())?;
    writeln!(out, "exit_code={}", report.verdict.exit_code())?;
    writeln!(out, "findings={}", report.findings().count())?;
    for (level, name) in [(Level::Error, "errors"), (Level::Warning, "warnings"), (Level::Note, "notes")] {
        writeln!(out, "{name}={}", report.count(level))?;
    }
    writeln!(out, "files={}", report.coverage.files)?;
    writeln!(out, "calls={}", report.coverage.calls)?;
    writeln!(out, "divergence={}", divergence.map_or("none".to_owned(), |index| index.to_string()))?;
    writeln!(out, "seal_digest={}", digests.join(" "))
}
