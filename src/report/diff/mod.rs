//! Two sessions beside each other, as text, JSON and a page: what is shown of them is settled once for all three.

mod shown;
mod html;
mod json;
mod text;

pub use json::JsonDiff;
pub use shown::DiffReport;

use std::io::{self, Write};

/// A format of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffFormat {
    /// For people, on a terminal.
    Text,
    /// For programs; `schemas/diff.json` describes it.
    Json,
    /// One page, with nothing outside of it.
    Html,
}

/// Writes a comparison. `color` is for text alone.
///
/// # Errors
/// What `out` says.
pub fn write_diff(report: &DiffReport, format: DiffFormat, color: bool, out: &mut dyn Write) -> io::Result<()> {
    match format {
        DiffFormat::Text => text::write(report, color, out),
        DiffFormat::Json => json::write(report, out),
        DiffFormat::Html => html::write(report, out),
    }
}
