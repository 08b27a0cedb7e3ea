//! The SHA-256 of every file that was audited, one a line, as `sha256sum` writes them: what an attestation is about.
//!
//! The first line says whose list it is. It has no blank in it, by which readers of such lists pass it over.

use crate::audit::Report;
use crate::sanitize::visible;
use std::io::{self, Write};

/// The first line.
pub(super) const HEADER: &str = "toolreplay-subjects";

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for subject in &report.subjects {
        writeln!(out, "{}  {}", subject.digest, visible(&subject.name))?;
    }
    Ok(())
}
