//! Reports in every format: plain functions from a finished [`Report`] to bytes.
//!
//! A renderer filters nothing, sorts nothing by itself and decides no exit code. What comes from a transcript goes
//! through `sanitize` on its way out. The same report gives the same bytes.

mod style;
mod attestation;
mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod outputs;
mod page;
mod sarif;
mod subjects;
mod text;
mod runs;
mod stats;
mod diff;

pub use diff::{DiffFormat, DiffReport, JsonDiff, write_diff};
pub use json::JsonReport;
pub use page::{PageOptions, Sessions, write_page};
pub use stats::{JsonStats, Unreadable, write_stats, write_stats_json};
pub use style::Style;

use crate::audit::Report;
use std::io::{self, Write};

/// A report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people, on a terminal.
    Text,
    /// The same on one line a finding, as editors read it: `path:line:column: level[rule] message`.
    Concise,
    /// For programs; `schemas/report.json` describes it.
    Json,
    /// For test reports: Jenkins, GitLab, Azure.
    Junit,
    /// For code scanning, SARIF 2.1.0.
    Sarif,
    /// Workflow commands that annotate lines on GitHub.
    Github,
    /// For a job summary.
    Markdown,
    /// GitLab Code Quality.
    Gitlab,
    /// `name=value` lines, for the outputs of a CI step.
    Outputs,
    /// The verdict as an in-toto predicate, for an attestation.
    Attestation,
    /// The digests of the files it is about.
    Subjects,
    /// One page to be looked at; [`write_page`] gives it its calls.
    Html,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 12] = [
        Format::Text,
        Format::Concise,
        Format::Json,
        Format::Junit,
        Format::Sarif,
        Format::Github,
        Format::Markdown,
        Format::Gitlab,
        Format::Outputs,
        Format::Attestation,
        Format::Subjects,
        Format::Html,
    ];

    /// The name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Concise => "concise",
            Format::Json => "json",
            Format::Junit => "junit",
            Format::Sarif => "sarif",
            Format::Github => "github",
            Format::Markdown => "markdown",
            Format::Gitlab => "gitlab",
            Format::Outputs => "outputs",
            Format::Attestation => "attestation",
            Format::Subjects => "subjects",
            Format::Html => "html",
        }
    }

    /// The format with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Writes a report.
///
/// # Errors
/// What `out` says.
pub fn write(report: &Report, format: Format, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(report, style, out),
        Format::Concise => text::concise(report, style, out),
        Format::Json => json::write(report, out),
        Format::Junit => junit::write(report, out),
        Format::Sarif => sarif::write(report, out),
        Format::Github => github::write(report, out),
        Format::Markdown => markdown::write(report, out),
        Format::Gitlab => gitlab::write(report, out),
        Format::Outputs => outputs::write(report, out),
        Format::Attestation => attestation::write(report, out),
        Format::Subjects => subjects::write(report, out),
        Format::Html => page::write(report, out),
    }
}

/// Whether a file is a report of an audit, in whatever format, by its first and its last bytes. What a configuration asks
/// for may replace nothing else.
#[must_use]
pub fn is_one(start: &[u8], end: &[u8]) -> bool {
    let holds = |text: &[u8], words: &str| memchr::memmem::find(text, words.as_bytes()).is_some();
    let starts = |words: &str| start.starts_with(words.as_bytes());
    let last_lines = || {
        let end = String::from_utf8_lossy(end);
        let lines: Vec<&str> = end.lines().collect();
        let summary = |line: &str| line.strip_prefix("toolreplay ").unwrap_or(line).starts_with("audit");
        lines.windows(2).any(|pair| summary(pair[0]) && pair[1].starts_with("coverage: "))
    };
    starts("## toolreplay ")
        || starts("verdict=")
        || is_page(start)
        || starts("{\n  \"result\": ") && holds(start, "\"uri\": \"pkg:cargo/toolreplay@")
        || start.split(|byte| *byte == b'\n').next() == Some(subjects::HEADER.as_bytes())
        || start.trim_ascii() == b"[]"
        || starts("[\n  {\n    \"description\": ") && holds(start, "\"check_name\"")
        || starts("{\n  \"schema_version\": ") && holds(start, "\"name\": \"toolreplay\"")
        || starts("{\"$schema\":\"https://json.schemastore.org/sarif-") && holds(start, "\"name\":\"toolreplay\"")
        || starts("<?xml ") && holds(start, "<testsuites") && (holds(start, "malformed-transcript") || end.len() < 200)
        || last_lines()
}

/// Whether a file is a page of [`write_page`], by its first bytes.
#[must_use]
pub fn is_page(start: &[u8]) -> bool {
    start.starts_with(page::START.as_bytes())
}
